"""The screening rules, grouped by what they examine; ``RULES`` holds them all, and those of installed plugins.

What each rule looks at, in words, and its settings are in ``rules.toml``; the functions that judge are in the modules.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from heartfelt.registry import Registry
from heartfelt.screening.rule import Judge, ScreeningRule
from heartfelt.screening.rules.collusion import judge_collusion
from heartfelt.screening.rules.conduct import (
    judge_away,
    judge_flat_traces,
    judge_heard,
    judge_impossible,
    judge_shared_browser,
)
from heartfelt.screening.rules.ratings.against_norm import (
    judge_agreement,
    judge_bias,
    judge_response_time,
    judge_spread,
)
from heartfelt.screening.rules.ratings.change import judge_change
from heartfelt.screening.rules.ratings.informativeness import DRAWS, POSTERIOR, RESCUE, judge_informativeness
from heartfelt.screening.rules.ratings.probes import judge_anchors, judge_repeats
from heartfelt.screening.rules.ratings.repetition import (
    judge_identical_answers,
    judge_longest_run,
    judge_straight_lining,
)
from heartfelt.screening.rules.ratings.standards import judge_bt500, judge_p913
from heartfelt.screening.rules.sets.comparisons import (
    judge_choice_agreement,
    judge_circular_triads,
    judge_mushra,
    judge_sides,
    judge_ties,
)
from heartfelt.screening.rules.sets.given_answers import judge_parallel_sets, judge_pattern
from heartfelt.screening.rules.verification import judge_hasty_verification, judge_rubber_stamping
from heartfelt.study.parts.design import HEARD_ENOUGH

__all__ = ["RULES"]

_JUDGES: Mapping[str, Judge] = {
    "agreement": judge_agreement,
    "anchor": judge_anchors,
    "bias": judge_bias,
    "bt500": judge_bt500,
    "informativeness": judge_informativeness,
    "change": judge_change,
    "collusion": judge_collusion,
    "heard": judge_heard,
    "identical-answers": judge_identical_answers,
    "impossible": judge_impossible,
    "longest-run": judge_longest_run,
    "p913": judge_p913,
    "pattern": judge_pattern,
    "repeat-difference": judge_repeats,
    "response-time": judge_response_time,
    "straight-lining": judge_straight_lining,
    "spread": judge_spread,
    "always-tie": judge_ties,
    "choice-agreement": judge_choice_agreement,
    "circular-triads": judge_circular_triads,
    "mushra": judge_mushra,
    "parallel-sets": judge_parallel_sets,
    "side-bias": judge_sides,
    "away": judge_away,
    "flat-trace": judge_flat_traces,
    "rubber-stamping": judge_rubber_stamping,
    "hasty-verification": judge_hasty_verification,
    "shared-browser": judge_shared_browser,
}
_DEFAULTS = {"posterior": POSTERIOR, "rescue": RESCUE, "draws": DRAWS, "enough": HEARD_ENOUGH}
"""The defaults of settings that code uses elsewhere, too."""

RULES: Registry[ScreeningRule] = Registry("rule")
_described = tomllib.loads(files(__name__).joinpath("rules.toml").read_text(encoding="utf-8"))
for _name, _judge in _JUDGES.items():
    _facts = _described[_name]
    _settings = {
        setting: (facts.get("default", _DEFAULTS.get(setting)), facts["about"])
        for setting, facts in _facts.pop("settings", {}).items()
    }
    RULES.add(_name, ScreeningRule(name=_name, judge=_judge, settings=_settings, **_facts))
