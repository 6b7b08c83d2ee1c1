"""A left-out rater: what one person said of each item, held against the label of the others.

Which of an item's raters is left out is drawn by name from the seed, so the same seed gives the same people in any order.
Where the others are tied between ordered categories, but most of them say present, or most absent, the smaller of that side's
most frequent categories stands for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, LabelOptions, first_answers
from heartfelt.labels import labels as make_labels
from heartfelt.predictors.left_out import NOTHING_LEARNT
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.snapshot import Snapshot
from heartfelt.streams import derived_seed

_PAIR = ["stimulus", "question"]


class Human(Predictor):
    """What a person reaches."""

    name: ClassVar[str] = "human"
    about: ClassVar[str] = "one rater's answer to each item, held against the label of the others"
    argument: ClassVar[str] = "a rater's id; one drawn for each item if left out"
    options: ClassVar[Mapping[str, str]] = {"seed": "the seed of the draw, 0 if left out"}
    needs_media = False
    batch = 64

    def __init__(self, rater: str = "", seed: int = 0) -> None:
        self._rater = rater
        self._seed = seed
        self._content = ""
        self._left_out: dict[tuple[str, str], tuple[float | None, float | None, int]] | None = None

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Human:
        """From a rater's id, or from nothing; and a seed."""
        seed = (options or {}).get("seed", "0")
        try:
            return cls(argument, int(seed))
        except ValueError as error:
            raise InputError(f"The seed '{seed}' is no whole number.", "Give a seed such as 0.") from error

    @property
    def identity(self) -> str:
        """Who, the seed, and the ratings."""
        return f"human {self._rater or 'any'} seed {self._seed} of {self._content or 'unseen'}"

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
        """Take one rater out of every item, and make the label of the others the way it was made of all."""
        del labels
        if isinstance(source, Benchmark):
            raise InputError(
                "A benchmark holds labels, but no single ratings to leave a rater out of.",
                "Give the snapshot the benchmark was frozen from, or leave out 'human'.",
            )
        answers = first_answers(source)
        if self._rater and self._rater not in set(answers["rater"]):
            raise InputError(f"There is no rater '{self._rater}' in the ratings.", "Check the rater's id.")
        self._content = source.hash[:16]
        grouped = answers.sort(*_PAIR, "rater").group_by(_PAIR, maintain_order=True)
        chosen = grouped.agg(pl.col("rater"), pl.col("value")).rows()
        taken = [self._taken(*row) for row in chosen]
        one = pl.DataFrame(
            [row for row in taken if row is not None],
            schema={"stimulus": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64},
            orient="row",
        )
        rest = answers.join(
            one.select(*_PAIR, "rater"), on=[*_PAIR, "rater"], how="anti", maintain_order="left"
        )
        others = make_labels(source, LabelOptions(minimum_ratings=1), answers=rest).table
        others = _with_sides(others, rest, source)
        both = one.join(others.select(*_PAIR, pl.col("value").alias("against"), "n"), on=_PAIR, how="left")
        self._left_out = {
            (stimulus, question): (value, against, int(n or 0))
            for stimulus, question, value, against, n in both.select(
                *_PAIR, "value", "against", "n"
            ).iter_rows()
        }

    def _taken(
        self, stimulus: str, question: str, raters: list[str], values: list[float]
    ) -> tuple[str, str, str, float] | None:
        if self._rater:
            at = raters.index(self._rater) if self._rater in raters else None
        else:
            at = derived_seed(self._seed, "left-out rater", stimulus, question) % len(raters)
        return None if at is None else (stimulus, question, raters[at], values[at])

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """The left-out answer to every question."""
        return [[self._one(case, ask) for ask in case.asks] for case in cases]

    def _one(self, case: Case, ask: Ask) -> Prediction:
        if self._left_out is None:
            return Prediction.failed(NOTHING_LEARNT)
        if ask.scale.level == "text":
            return Prediction.failed("a left-out rater answers no questions in words")
        found = self._left_out.get((case.stimulus, ask.question))
        if found is None:
            who = (
                f"the rater '{self._rater}' did not rate this item"
                if self._rater
                else "nobody rated this item"
            )
            return Prediction.failed(who)
        value, against, n = found
        if against is None:
            return Prediction.failed("the other raters are tied" if n else "only one person rated this item")
        return Prediction(value=value, against=against, note=f"one rater against {n} others")


def _with_sides(others: pl.DataFrame, rest: pl.DataFrame, source: Snapshot) -> pl.DataFrame:
    """Labels of ordered categories that are tied, but not between absent and present: the smaller of the side's most frequent."""
    study = source.study
    lowest = {
        one.id: min(study.scale_of(one.id).labels())
        for one in study.asked
        if study.scale_of(one.id).level == "ordinal"
    }
    tied = others.filter(pl.col("value").is_null() & pl.col("question").is_in(list(lowest))).select(_PAIR)
    if not tied.height:
        return others
    bottom = pl.col("question").replace_strict(lowest, return_dtype=pl.Float64)
    votes = rest.join(tied, on=_PAIR, how="semi").with_columns((pl.col("value") > bottom).alias("present"))
    sides = votes.group_by(_PAIR).agg(
        (2 * pl.col("present").sum().cast(pl.Int64) - pl.len().cast(pl.Int64)).alias("lead")
    )
    kept = votes.join(sides.filter(pl.col("lead") != 0), on=_PAIR).filter(
        pl.col("present") == (pl.col("lead") > 0)
    )
    decided = kept.group_by(_PAIR).agg(pl.col("value").mode().min().alias("decided"))
    joined = others.join(decided, on=_PAIR, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("value", "decided").alias("value")).drop("decided")


PREDICTORS.add(Human.name, Human)
