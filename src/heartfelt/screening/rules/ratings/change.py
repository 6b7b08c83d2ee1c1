"""Change: answers that follow the stimuli in one part of the session and not in the other.

*Evidence.* For every place at which the session could be cut, the likelihood of "the answers follow what others' answers
predict up to here, and nothing after" (and of the reverse) is compared with one relation throughout: a regression of the
answers on the predictions of ``heartfelt.screening.view.consensus``, with slope and variance of its own where they follow, and a
variance of its own where they do not. Raters whom ``informativeness`` or ``straight-lining`` flags count for nothing in the
predictions of the others. Slow drift (a quadratic in time) is removed from the answers and each part has its own
mean, so moving along the scale is no evidence. The evidence is the mean likelihood ratio over places and both
directions, summed over questions on the log scale.

*Test.* ``p`` of the timing: the trials, with answers and predictions together, are shuffled in time. That is exact
whatever the rater's style, and says nothing about how well the rater agrees with the others on the whole. A rater who
stopped half-way also agrees less on the whole, so the chance of so low an agreement on this panel (its robust norm, at
least ``LEAST_CHANCE``) is combined with it by Fisher's method; the two are independent for a rater who did not
change. The limit is Bonferroni over the raters judged.

*Decision.* A rater is flagged if the combined p passes, the better part clearly follows the stimuli and the other shows
no sign of it; where the parts are not so unlike, p is 1. The value is the difference between the parts' mean correlations
with the predictions, 0 to 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.screening.norm import LEAST_RATERS, TOO_FEW, standing
from heartfelt.screening.rule import Reasons, RuleOptions, RuleVerdicts, evidence_of, is_judged
from heartfelt.screening.rules.ratings.informativeness import Effects, effects, no_information, shows_no_information
from heartfelt.screening.rules.ratings.repetition import straight_lines
from heartfelt.screening.view.ratings import RaterBlock, RatingsView
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.streams import derived_seed
from heartfelt.wording import number, p_value

LEAST_TRIALS = 20
LEAST_PART = 8.0
MOST_UNITS = 120
MOST_SPLITS = 32
MOST_CHANNELS = 12
ENOUGH = 10
LEAST_DRAWS, MOST_DRAWS = 1_999, 19_999
LEAST_CHANCE = 0.02
FOLLOWS, NO_SIGN = 2.33, 1.64
"""A part follows the stimuli above the first, and shows no sign of it below the second, in standard errors."""


@dataclass(frozen=True, slots=True)
class SessionParts:
    """The two parts of a session: trials before the cut, the mean correlation of each part, and in standard errors."""

    cut: int
    trials: int
    correlation: tuple[float, float]
    z: tuple[float, float]

    @property
    def changes(self) -> bool:
        """Whether one part clearly follows the stimuli and the other shows no sign of it."""
        return max(self.z) > FOLLOWS and min(self.z) < NO_SIGN

    @property
    def difference(self) -> float:
        """The distance between the parts' correlations."""
        return abs(self.correlation[0] - self.correlation[1])


@dataclass(frozen=True, slots=True)
class Session:
    """One rater's trials as units of sums (units x channels x 6), with the variance that rounding alone gives."""

    units: Floats
    floor: Floats
    at: Ints
    trials: int


@dataclass(frozen=True, slots=True, eq=False)
class SessionChanges:
    """By rater: the session, or why there is none, and the chance of agreeing so little with the others on the whole."""

    by_rater: dict[int, Session]
    why: Reasons
    low: Floats


def sessions_of(view: RatingsView, seed: int, *, by_rows: bool) -> SessionChanges:
    """Everybody's session with predictions from all the others of the view."""
    _, reasons = no_information(view, seed)
    low = low_agreement(effects(view, seed), reasons)
    sessions: dict[int, Session] = {}
    for block in view.blocks():
        if not by_rows and not view.ordered[block.rater]:
            reasons[block.rater] = "the order of presentation is not known"
        elif reasons[block.rater] is None:
            session = session_of(block)
            if isinstance(session, str):
                reasons[block.rater] = session
            else:
                sessions[block.rater] = session
    if sessions and low is None:
        reasons, sessions = [reason or TOO_FEW for reason in reasons], {}
    return SessionChanges(sessions, reasons, np.ones(len(view.raters)) if low is None else low)


def _without_careless(view: RatingsView, options: RuleOptions) -> SessionChanges:
    """Everybody's session; predictions come from raters who are not flagged for answers without information."""
    by_rows = options.settings["order"] == "rows"
    every = sessions_of(view, options.seed, by_rows=by_rows)
    careless = shows_no_information(view, options.seed)
    careless |= straight_lines(view, options.alpha, options.seed).flagged
    if not every.by_rater or not careless.any():
        return every
    careful = sessions_of(view.without(careless), options.seed, by_rows=by_rows)
    if not careful.by_rater:
        return every
    return SessionChanges(
        {rater: every.by_rater[rater] for rater in every.by_rater if careless[rater]} | careful.by_rater,
        [every.why[rater] if careless[rater] else careful.why[rater] for rater in range(careless.size)],
        np.where(careless, every.low, careful.low),
    )


def judge_change(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts]:
    session_changes = _without_careless(view, options)
    reasons, sessions = session_changes.why, session_changes.by_rater
    limit = options.limit(len(sessions))
    draws = int(min(MOST_DRAWS, max(LEAST_DRAWS, 5 / limit)))
    p, parts = np.ones(len(view.raters)), {}
    for rater, session in sessions.items():
        seed = derived_seed(options.seed, "panel", "change", view.raters[rater])
        p[rater], parts[rater] = timing(session, draws, seed, compiled=not view.is_small)
    p = fisher_combined(p, session_changes.low)
    changes = np.array([rater in parts and parts[rater].changes for rater in range(p.size)], dtype=bool)
    value = [parts[rater].difference if rater in parts else np.nan for rater in range(p.size)]
    return [
        RuleVerdicts(
            rater=None,
            n=view.ratings_of,
            words=lambda rater: _sentence(parts[rater], float(p[rater])),
            why=reasons,
            value=value,
            p=p,
            flagged=changes & (p < limit),
            evidence=np.where(changes, evidence_of(p), 0.0),
        )
    ]


def low_agreement(effect: Effects, reasons: Reasons) -> Floats | None:
    """The chance of agreeing so little with the others on the whole, by the panel's norm; None without a norm."""
    judged = is_judged(reasons)
    if int(judged.sum()) < LEAST_RATERS:
        return None
    error = 1 / np.sqrt(np.maximum(effect.weight, 1.0))
    stand = standing(np.where(judged, effect.fisher, np.nan), error, "low", 0.05)
    return np.where(judged, np.maximum(stand.p, LEAST_CHANCE), 1.0)


def fisher_combined(first: Floats, second: Floats) -> Floats:
    """Fisher's combination of two independent p-values: the tail of chi squared with 4 degrees of freedom."""
    product = first * second
    combined: Floats = product * (1 - np.log(product))
    return combined


def session_of(block: RaterBlock) -> Session | str:
    """The sums of a rater's trials, or why there are none."""
    trials = block.answers.shape[0]
    if trials < LEAST_TRIALS:
        return f"fewer than {LEAST_TRIALS} trials"
    time = np.linspace(-1.0, 1.0, trials)
    columns: list[tuple[Floats, Floats, Floats]] = []
    floor = []
    for c in np.argsort(-block.seen.sum(axis=0), kind="stable")[:MOST_CHANNELS].tolist():
        answered = block.seen[:, c]
        y, x = block.answers[answered, c], block.predictions[answered, c]
        if y.size < LEAST_TRIALS or np.ptp(y) <= 1e-9 or np.ptp(x) <= 1e-9:
            continue
        step = float(np.diff(np.unique(y)).min())
        # Slow drift (a quadratic) is style, not a change; it is projected out.
        basis, _ = np.linalg.qr(np.vander(time[answered], 3))
        y = y - basis @ (basis.T @ y)
        scale = float(y.std())
        if scale <= 1e-9:
            continue
        full, predicted = np.zeros(trials), np.zeros(trials)
        full[answered], predicted[answered] = y / scale, (x - x.mean()) / x.std()
        columns.append((answered.astype(np.float64), full, predicted))
        # Rounding to the scale's points leaves this variance at least, so a constant stretch has a finite likelihood.
        floor.append((step / scale) ** 2 / 12)
    if not columns:
        return "no question has enough answers that vary"
    sums = np.stack([np.stack([n, y, x, y * y, x * x, x * y], axis=-1) for n, y, x in columns], axis=1)
    stretch = -(-trials // MOST_UNITS)
    units = np.add.reduceat(sums, np.arange(0, trials, stretch), axis=0)
    least = int(np.ceil(LEAST_PART / stretch))
    at = np.unique(np.linspace(least, units.shape[0] - least, MOST_SPLITS).round().astype(np.int64))
    return Session(np.ascontiguousarray(units), np.array(floor), at, trials)


def timing(session: Session, draws: int, seed: int, *, compiled: bool) -> tuple[float, SessionParts]:
    """The p-value of the timing, and the parts at the place with the most evidence; 1 where they are not unlike enough.

    The numbers are the same whether loops are ``compiled`` or left to NumPy.
    """
    from heartfelt.screening.permutations.change import change_chance, evidence_by_place

    if compiled:
        from heartfelt.screening.permutations.change_kernels import change_chance
    how = (session.at, session.floor, LEAST_PART)
    ratios = evidence_by_place(session.units[None], *how)[0]
    cut = int(session.at[int(ratios.max(axis=0).argmax())])
    figures = [_correlation(part.sum(axis=0)) for part in (session.units[:cut], session.units[cut:])]
    stretch = -(-session.trials // session.units.shape[0])
    parts = SessionParts(
        min(cut * stretch, session.trials),
        session.trials,
        (figures[0][0], figures[1][0]),
        (figures[0][1], figures[1][1]),
    )
    if not parts.changes:
        return 1.0, parts
    return float(change_chance(session.units, *how, ENOUGH, draws, seed)), parts


def _correlation(sums: Floats) -> tuple[float, float]:
    """The mean over channels of the correlation of answers and predictions, and its size in standard errors."""
    n = np.maximum(sums[:, 0], 1.0)
    yy = np.maximum(sums[:, 3] - sums[:, 1] ** 2 / n, 0.0)
    xx = np.maximum(sums[:, 4] - sums[:, 2] ** 2 / n, 0.0)
    xy = sums[:, 5] - sums[:, 1] * sums[:, 2] / n
    scale = np.sqrt(yy * xx)
    r = np.divide(xy, scale, out=np.zeros(n.size), where=scale > 1e-9)
    return float(r.mean()), float((r * np.sqrt(np.maximum(n - 1, 0.0))).sum() / np.sqrt(n.size))


def _sentence(part: SessionParts, p: float) -> str:
    before, after = (number(value, 2) for value in part.correlation)
    if not part.changes:
        return "No part of the session stands out."
    return (
        f"Up to trial {part.cut} of {part.trials} the answers correlate {before} with what others' answers predict for the same"
        f" stimuli, after it {after} ({p_value(p)} for a rater who did not change)."
    )
