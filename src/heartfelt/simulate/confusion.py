"""Simulated votes: categories with a planted true category, seen through each rater's confusion matrix.

``confusion[r, t, a]`` is the chance that rater ``r`` answers category ``a`` where ``t`` is true; every row
sums to one. This is the model Dawid and Skene (1979) estimate. With the two categories absent and present,
``confusion[r, 1, 1]`` is the rater's sensitivity and ``confusion[r, 0, 0]`` their specificity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from heartfelt.errors import InputError, require
from heartfelt.simulate.answers import Floats, cells, rating_rows, under_question
from heartfelt.simulate.design import DesignOptions, schedule
from heartfelt.simulate.people import check_shares, kinds_of, names_of
from heartfelt.streams import stream

PRESENCE = ("absent", "present")
VOTER_KINDS: Mapping[str, str] = {
    "honest": "right with their own accuracy in each category, wrong in their own way",
    "random": "picks any category, all equally likely",
    "constant": "always answers the same category",
    "swapped": "mistakes every category for the next one as surely as an honest rater is right",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterMix:
    """Who the voters are. ``shares`` give the kinds other than honest.

    ``accuracy`` is the mean chance of being right, ``accuracy_sd`` its spread over raters and categories;
    ``hazard`` and ``seconds`` are as for raters of scales.
    """

    accuracy: float = 0.75
    accuracy_sd: float = 0.1
    shares: Mapping[str, float] = field(default_factory=dict)
    hazard: float = 0.0
    seconds: float = 4.0
    seconds_spread: float = 0.3

    def __post_init__(self) -> None:
        check_shares(self.shares, VOTER_KINDS)
        require(
            0.0 < self.accuracy < 1.0 and 0.0 <= self.accuracy_sd < np.sqrt(self.accuracy * (1 - self.accuracy)),
            f"An accuracy of {self.accuracy} +- {self.accuracy_sd} is impossible.",
            "Give an accuracy inside (0, 1) and a spread that fits there.",
        )
        require(
            0.0 <= self.hazard < 1.0 and self.seconds > 0 and self.seconds_spread >= 0,
            "The hazard or the time of an answer is impossible.",
            "Give 0 <= hazard < 1 and seconds > 0.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Voters:
    """Raters of categories: ``table`` (rater, kind, hazard, pace) and their confusion matrices, in order."""

    table: pl.DataFrame
    categories: tuple[str, ...]
    confusion: Floats


def category_truth(
    stimuli: pl.DataFrame,
    categories: Sequence[str] = PRESENCE,
    *,
    questions: Sequence[str] = ("category",),
    prior: Sequence[float] | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Plant a true category for every stimulus and question, drawn by ``prior`` (all alike unless given).

    ``stimuli`` needs a column stimulus; its other columns are kept. Adds question, true (the category) and
    code.
    """
    names = _categories(categories)
    weights = np.full(len(names), 1.0 / len(names)) if prior is None else np.asarray(prior, dtype=np.float64)
    require(
        weights.shape == (len(names),) and weights.min() >= 0 and bool(np.isclose(weights.sum(), 1.0)),
        f"The prior {list(weights)} does not fit {len(names)} categories.",
        "Give one share per category, summing to 1.",
    )
    ids = stimuli["stimulus"] if "stimulus" in stimuli.columns else pl.Series([])
    require(
        0 < ids.n_unique() == stimuli.height,
        "The stimuli need a column 'stimulus' with one row each.",
        "Pass a table of distinct stimuli.",
    )
    order = ids.rank("ordinal").cast(pl.Int64).to_numpy() - 1
    parts = []
    for question in questions:
        rng = stream(seed, "simulate", "category", question)
        code = pl.Series(rng.choice(len(names), stimuli.height, p=weights)[order], dtype=pl.Int64)
        true = pl.Series(names, dtype=pl.String).gather(code)
        parts.append(stimuli.with_columns(question=pl.lit(question), true=true, code=code))
    return pl.concat(parts)


def voters(n: int, categories: Sequence[str] = PRESENCE, mix: VoterMix | None = None, *, seed: int = 0) -> Voters:
    """``n`` raters of categories in order of arrival, each with a planted confusion matrix."""
    mix, names = mix or VoterMix(), _categories(categories)
    require(n >= 1, f"There are {n} voters.", "Ask for at least one.")
    size = len(names)
    kinds = kinds_of(n, VOTER_KINDS, mix.shares, stream(seed, "simulate", "voters", "kind"))
    confusion = _honest(n, size, mix, seed)
    confusion[kinds == "random"] = 1.0 / size
    fixed = np.flatnonzero(kinds == "constant")
    confusion[fixed] = 0.0
    confusion[fixed, :, stream(seed, "simulate", "voters", "constant").integers(0, size, fixed.size)] = 1.0
    swapped = kinds == "swapped"
    confusion[swapped] = np.roll(confusion[swapped], 1, axis=2)
    normal = stream(seed, "simulate", "voters", "pace").standard_normal(n)
    pace = mix.seconds * np.exp(mix.seconds_spread * normal)
    hazard = np.full(n, float(mix.hazard))
    table = pl.DataFrame({"rater": names_of(n), "kind": kinds.tolist(), "hazard": hazard, "pace": pace})
    return Voters(table, names, confusion)


def _honest(n: int, size: int, mix: VoterMix, seed: int) -> Floats:
    rng = stream(seed, "simulate", "voters", "confusion")
    if mix.accuracy_sd > 0:
        weight = mix.accuracy * (1 - mix.accuracy) / mix.accuracy_sd**2 - 1.0
        right = rng.beta(mix.accuracy * weight, (1 - mix.accuracy) * weight, (n, size))
    else:
        right = np.full((n, size), mix.accuracy)
    confusion = np.zeros((n, size, size))
    wrong = rng.dirichlet(np.ones(size - 1), (n, size)) * (1.0 - right[:, :, None])
    off_diagonal = ~np.eye(size, dtype=bool)
    confusion[:, off_diagonal] = wrong.reshape(n, -1)
    confusion[:, np.arange(size), np.arange(size)] = right
    return confusion


def votes(truth: pl.DataFrame, crowd: Voters, design: DesignOptions | None = None, *, seed: int = 0) -> pl.DataFrame:
    """What the ``crowd`` answers about the stimuli of a category truth: one row per vote.

    Columns as those of ratings, with ``value`` the category's code and ``answer`` its name. A voter who is
    shown a stimulus answers every question about it. Repeats are fresh draws.
    """
    design = design or DesignOptions(distinct_cells=())
    for column in ("stimulus", "question", "code"):
        if column not in truth.columns:
            raise InputError(f"The truth has no column '{column}'.", "Make it with simulate.category_truth.")
    stimuli, cell = cells(truth, design.distinct_cells)
    trials = schedule(cell, crowd.table["hazard"].to_numpy(), design, seed)
    ladder = np.cumsum(crowd.confusion, axis=2)
    questions = truth["question"].unique(maintain_order=True).to_list()
    columns = []
    for question in questions:
        true = under_question(truth, stimuli, question, "code").fill_null(-1).to_numpy()[trials.stimulus]
        uniform = stream(seed, "simulate", "votes", question).random(true.size)
        steps = ladder[trials.rater, np.maximum(true, 0), :-1]
        columns.append(np.where(true < 0, np.nan, (uniform[:, None] >= steps).sum(axis=1)))
    frame = rating_rows(np.stack(columns, axis=1), crowd.table, stimuli, questions, trials, design, seed)
    answer = pl.Series("answer", crowd.categories, dtype=pl.String).gather(frame["value"].cast(pl.Int64))
    return frame.insert_column(frame.get_column_index("value") + 1, answer)


def _categories(categories: Sequence[str]) -> tuple[str, ...]:
    names = tuple(categories)
    valid = not isinstance(categories, str) and 2 <= len(names) == len(set(names))
    require(valid, f"{categories!r} are not categories to vote on.", "Give two or more different names.")
    return names
