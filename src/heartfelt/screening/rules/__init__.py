"""The screening rules, grouped by what they examine; ``RULES`` holds them all, and those of installed plugins."""

from heartfelt.registry import Registry
from heartfelt.screening.rule import ScreeningRule
from heartfelt.screening.rules.against_norm import AGREEMENT, BIAS, RESPONSE_TIME, SPREAD
from heartfelt.screening.rules.browsers import SHARED_BROWSER
from heartfelt.screening.rules.change import CHANGE
from heartfelt.screening.rules.collusion import COLLUSION
from heartfelt.screening.rules.comparisons import ALWAYS_TIE, CHOICE_AGREEMENT, CIRCULAR_TRIADS, MUSHRA, SIDE_BIAS
from heartfelt.screening.rules.given_answers import PARALLEL_SETS, PATTERN
from heartfelt.screening.rules.informativeness import INFORMATIVENESS
from heartfelt.screening.rules.listening import HEARD, IMPOSSIBLE_LISTENING
from heartfelt.screening.rules.probes import ANCHOR, REPEAT_DIFFERENCE
from heartfelt.screening.rules.repetition import IDENTICAL_ANSWERS, LONGEST_RUN, STRAIGHT_LINING
from heartfelt.screening.rules.standards import BT500, P913
from heartfelt.screening.rules.traces import AWAY, FLAT_TRACE
from heartfelt.screening.rules.verification import HASTY_VERIFICATION, RUBBER_STAMPING

__all__ = ["RULES"]

RULES: Registry[ScreeningRule] = Registry("rule")
for _rule in (
    AGREEMENT,
    ANCHOR,
    BIAS,
    BT500,
    INFORMATIVENESS,
    CHANGE,
    COLLUSION,
    HEARD,
    IDENTICAL_ANSWERS,
    IMPOSSIBLE_LISTENING,
    LONGEST_RUN,
    P913,
    PATTERN,
    REPEAT_DIFFERENCE,
    RESPONSE_TIME,
    STRAIGHT_LINING,
    SPREAD,
    ALWAYS_TIE,
    CHOICE_AGREEMENT,
    CIRCULAR_TRIADS,
    MUSHRA,
    PARALLEL_SETS,
    SIDE_BIAS,
    AWAY,
    FLAT_TRACE,
    RUBBER_STAMPING,
    HASTY_VERIFICATION,
    SHARED_BROWSER,
):
    RULES.add(_rule.name, _rule)
