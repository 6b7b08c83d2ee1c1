"""Honest raters with natural response styles, and raters who stop paying attention, for measuring screening rules.

A rater's latent answer is ``gain * stimulus + noise`` around the scale's midpoint. Styles change how it is given, not
whether the rater listens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study

STYLES = ("plain", "extreme", "midpoint", "coarse", "halo", "drift", "mixed")
CARELESS = ("random", "own", "constant")
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Design:
    """How many raters give how many ratings, ``per_stimulus`` of each stimulus, on how many points and questions."""

    raters: int = 24
    trials: int = 60
    per_stimulus: float = 6.0
    points: int = 9
    questions: int = 2
    noise: float = 1.0

    @property
    def stimuli(self) -> int:
        """How many stimuli there are; everybody rates each at most once."""
        return max(self.trials, round(self.raters * self.trials / self.per_stimulus))


def latent_answers(design: Design, rng: np.random.Generator) -> tuple[list[npt.NDArray[np.int64]], list[Floats]]:
    """Each rater's stimuli in presentation order, and latent answers (trials x questions) in units of the signal."""
    truth = rng.standard_normal((design.stimuli, design.questions))
    truth = truth + 0.4 * rng.standard_normal((design.stimuli, 1))
    # A deck that deals every stimulus equally often; a rater never gets one twice.
    counts = np.zeros(design.stimuli)
    shown, answers = [], []
    for _ in range(design.raters):
        mine = np.argsort(counts + rng.random(design.stimuli))[: design.trials]
        counts[mine] += 1
        mine = rng.permutation(mine)
        noise = design.noise * np.exp(0.25 * rng.standard_normal())
        gain = np.exp(0.2 * rng.standard_normal())
        bias = 0.4 * rng.standard_normal()
        shown.append(mine)
        answers.append(bias + gain * truth[mine] + noise * rng.standard_normal((design.trials, design.questions)))
    return shown, answers


def styled(latent: Floats, style: str, rng: np.random.Generator) -> Floats:
    """The latent answer as a rater of a style would give it."""
    trials = latent.shape[0]
    if style == "mixed":
        style = str(rng.choice(STYLES[:-1]))
    if style == "extreme":
        return 2.5 * latent
    if style == "midpoint":
        return rng.uniform(0.25, 0.45) * latent
    if style == "halo":
        share = rng.uniform(0.5, 0.8)
        joined: Floats = (1 - share) * latent + share * latent.mean(axis=1, keepdims=True)
        return joined
    if style == "drift":
        time = np.linspace(-1, 1, trials)[:, None]
        mood = np.zeros(trials)
        for t in range(1, trials):
            mood[t] = 0.9 * mood[t - 1] + 0.25 * rng.standard_normal()
        return latent + rng.uniform(-1.2, 1.2) * time + mood[:, None]
    return latent


def on_scale(latent: Floats, points: int, coarse: bool = False) -> Floats:
    """Latent answers on the points of a scale; ``coarse`` raters use the two ends and the middle."""
    middle, unit = (points + 1) / 2, (points - 1) / 5
    if coarse:
        return np.round(np.clip(np.round(latent / 1.2), -1, 1) * (points - 1) / 2 + middle)
    return np.clip(np.round(middle + unit * latent), 1, points)


def careless(size: tuple[int, int], how: str, own: Floats, points: int, rng: np.random.Generator) -> Floats:
    """Answers given without looking: any point, one's own answers in any order, or one answer throughout."""
    if how == "random":
        return rng.integers(1, points + 1, size).astype(np.float64)
    if how == "constant":
        return np.repeat(rng.integers(1, points + 1, (1, size[1])), size[0], axis=0).astype(np.float64)
    return own[rng.integers(0, own.shape[0], size[0])]


def honest_study(design: Design, style: str, seed: int, share: float = 0.4) -> Snapshot:
    """A study of honest raters, a ``share`` of whom answer in a style."""
    rng = np.random.default_rng([seed, 1])
    shown, latent = latent_answers(design, rng)
    given = []
    for own in latent:
        mine = style if rng.random() < share else "plain"
        if mine == "mixed":
            mine = str(rng.choice(STYLES[:-1]))
        given.append(on_scale(styled(own, mine, rng), design.points, coarse=mine == "coarse"))
    return as_snapshot(design, shown, given)


def changing_study(design: Design, seed: int, how: str, at: float, many: int = 1, late: bool = True) -> Snapshot:
    """A study in which the first ``many`` raters stop (or, not ``late``, only start) paying attention at a share of the trials."""
    rng = np.random.default_rng([seed, 2])
    shown, latent = latent_answers(design, rng)
    given = [on_scale(own, design.points) for own in latent]
    for rater in range(many):
        place = round(at * design.trials)
        part = slice(place, None) if late else slice(None, place)
        size = given[rater][part].shape
        given[rater][part] = careless((size[0], size[1]), how, given[rater].copy(), design.points, rng)
    return as_snapshot(design, shown, given)


def as_snapshot(
    design: Design, shown: list[npt.NDArray[np.int64]], given: list[Floats], order: bool = True
) -> Snapshot:
    """The snapshot of a simulated study; without ``order`` the positions are left out."""
    names = [f"q{q}" for q in range(design.questions)]
    asked = "\n".join(f"  - {{id: {name}, text: {name}, scale: s}}" for name in names)
    study = parse_study(f"name: styles\nscales:\n  s: {{type: points, points: {design.points}}}\nquestions:\n{asked}\n")
    trials = [len(mine) for mine in shown]
    rater = np.repeat(np.arange(len(shown)), trials)
    frame = pl.DataFrame(
        {
            "rater": [f"r{r:03d}" for r in rater.tolist()],
            "stimulus": [f"s{s}" for s in np.concatenate(shown).tolist()],
            **({"position": np.concatenate([np.arange(1, n + 1) for n in trials])} if order else {}),
        }
    )
    values = np.concatenate(given)
    long = pl.concat([frame.with_columns(question=pl.lit(name), value=values[:, q]) for q, name in enumerate(names)])
    stimuli = long.select("stimulus").unique(maintain_order=True)
    return Snapshot.build(study, stimuli=stimuli, ratings=long)


def constant_study(design: Design, seed: int, constant: int, answer: float | None = None) -> Snapshot:
    """A study whose first ``constant`` raters give one answer throughout: the same for all, or each their own."""
    rng = np.random.default_rng([seed, 3])
    shown, latent = latent_answers(design, rng)
    given = [on_scale(own, design.points) for own in latent]
    for rater in range(constant):
        mine = rng.integers(1, design.points + 1, design.questions) if answer is None else answer
        given[rater][:] = mine
    return as_snapshot(design, shown, given)


def random_study(design: Design, seed: int, many: int = 1, style: str = "plain") -> Snapshot:
    """A study whose first ``many`` raters pick any point; of the others 40% answer in a style."""
    rng = np.random.default_rng([seed, 4])
    shown, latent = latent_answers(design, rng)
    given = []
    for rater, own in enumerate(latent):
        mine = style if rng.random() < 0.4 else "plain"
        if mine == "mixed":
            mine = str(rng.choice(STYLES[:-1]))
        answers = on_scale(styled(own, mine, rng), design.points, coarse=mine == "coarse")
        size = (design.trials, design.questions)
        given.append(careless(size, "random", answers, design.points, rng) if rater < many else answers)
    return as_snapshot(design, shown, given)


KINDS = ("half-way", "random", "own", "constant", "centre", "pattern", "copy")


def seven_kinds_study(design: Design, seed: int) -> Snapshot:
    """A study whose first seven raters are careless in seven ways, ``KINDS`` in this order."""
    rng = np.random.default_rng([seed, 5])
    shown, latent = latent_answers(design, rng)
    given = [on_scale(own, design.points) for own in latent]
    half, size = design.trials // 2, (design.trials, design.questions)
    given[0][half:] = careless((design.trials - half, size[1]), "random", given[0], design.points, rng)
    for rater, kind in enumerate(KINDS[1:4], 1):
        given[rater] = careless(size, kind, given[rater].copy(), design.points, rng)
    given[4] = np.clip((design.points + 1) / 2 + rng.integers(-1, 2, size), 1, design.points)
    given[5][:] = 1 + (2 * np.arange(design.trials)[:, None] + rng.integers(design.points)) % design.points
    given[6] = given[10].copy()
    return as_snapshot(design, shown, given)
