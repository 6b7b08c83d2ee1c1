"""What all experiments share: options, folds, clean training parts, and scores of conditions.

A condition is tested on stimuli that its fits never saw: outer folds keep whole groups (``heartfelt.scoring.grouping``), and
training stimuli of other parts that are in the group of a test stimulus, or nearly the same, are removed from that training part,
with a row in the ledger. Test parts decide nothing. A condition's score is the mean over seeds of the correlation of its
out-of-fold predictions with the labels, or the share of categories that are right; intervals resample clusters of stimuli, the
same in every condition, so that differences are paired.

Correlations are of predictions less the mean of the labels they were trained on. Folds with high labels leave a low mean to train
on, so that the predictions of a model that knows nothing would correlate negatively with the labels of all folds together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.repeated import Repeats, bootstrap_repeats, bootstrap_repeats_difference
from heartfelt.training.experiments.cells import CellResult, ExperimentCell
from heartfelt.training.experiments.options import ExperimentOptions
from heartfelt.training.experiments.pool import StimulusPool
from heartfelt.training.experiments.results import MEAN, MODE, SHUFFLED, ScoreRow
from heartfelt.training.heads.fitting import Floats, Ints, enough_folds
from heartfelt.training.heads.label_checks import LedgerRow, ledger_of
from heartfelt.wording import plural

STAGE = "experiment"
_OVER_SEEDS = "standard deviation over seeds"
_SECOND = {"pearson": "rmse", "accuracy": "macro_f1"}
_CATEGORIES = "the question is answered with categories"
Cells: TypeAlias = Mapping[int, tuple[ExperimentCell, ...]]
"""By seed."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExperimentCondition:
    """What one row of the table compares: for every seed, cells whose test parts together are the condition's test stimuli."""

    name: str
    cells: Cells
    trained_on: str
    tested_on: str
    level: float | None = None
    reference: str = ""
    baseline: bool = False
    questions: tuple[str, ...] = ()
    """Those it concerns; all if empty."""

    @property
    def training_stimuli(self) -> float:
        """Stimuli in a training part, on average."""
        return float(np.mean([cell.train.size for cells in self.cells.values() for cell in cells]))


class Removed:
    """Training stimuli that were removed because they are nearly the same as a test stimulus, or of its group."""

    def __init__(self, pool: StimulusPool) -> None:
        self._pool = pool
        self._reasons: dict[tuple[int, int], int] = {}

    def clean(self, train: Ints, test: Ints) -> Ints:
        """The training rows without those in the group of a test row; near-duplicates are of one group."""
        pool = self._pool
        matched = np.isin(pool.groups[train], pool.groups[test])
        same_group, same_content = _first(pool.groups, test), _first(pool.alike, test)
        for row in train[matched]:
            test_row = same_content.get(int(pool.alike[row]), same_group[int(pool.groups[row])])
            # A copy is told as one, also where it is in the same group as well.
            self._reasons[int(row), test_row] = self._reasons.get((int(row), test_row), 0) + 1
        return train[~matched]

    @property
    def ledger(self) -> pl.DataFrame:
        """A row for each removed stimulus and what it resembles."""
        pool = self._pool
        rows: list[LedgerRow] = []
        for (row, test_row), times in sorted(self._reasons.items()):
            alike = pool.alike[row] == pool.alike[test_row]
            relation = "is a near-duplicate of" if alike else "is in the group of"
            about = f"{pool.name_of(row)} {relation} the test stimulus {pool.name_of(test_row)}"
            reason = f"{about}: removed from {times} training parts"
            rows.append(("stimulus", None, pool.stimuli[row], None, reason, STAGE))
        return ledger_of(rows)

    @property
    def notes(self) -> list[str]:
        alike = self._pool.alike
        copies = sum(alike[row] == alike[test_row] for row, test_row in self._reasons)
        grouped = {row for row, test_row in self._reasons if alike[row] != alike[test_row]}
        out = []
        if copies:
            out.append(
                f"{plural(int(copies), 'pair')} of near-duplicates: the training stimulus was removed wherever the other was"
                " tested (ledger.csv)."
            )
        if grouped:
            out.append(
                f"{plural(len(grouped), 'stimulus', 'stimuli')} of other parts did not train models that were tested on their"
                " group (ledger.csv)."
            )
        return out


def _first(numbers: Ints, rows: Ints) -> dict[int, int]:
    """By number, the first of the rows that has it."""
    return {int(number): int(row) for row, number in zip(rows[::-1], numbers[rows][::-1], strict=True)}


def outer_folds(pool: StimulusPool, rows: Ints, count: int, seed: int) -> list[Ints]:
    """The test parts of cross-validation over some rows, whole groups in each."""
    plan = enough_folds(pool.groups[rows], count, seed, "outer")
    return [rows[plan == fold] for fold in np.unique(plan)]


class FoldPlanner:
    """The cells of an experiment: cross-validation within parts, training rows without what resembles a test stimulus."""

    def __init__(self, pool: StimulusPool, options: ExperimentOptions) -> None:
        self.pool, self.options, self.removed = pool, options, Removed(pool)

    def parts(
        self, part: str, seed: int, *, extra: Ints | None = None, with_own: bool = True
    ) -> list[tuple[Ints, Ints]]:
        """Training and test rows of each fold within a part.

        ``extra`` rows join every training part; without ``with_own`` they are all of it.
        """
        rows = self.pool.rows(part)
        further = rows[:0] if extra is None else extra
        out = []
        for test in outer_folds(self.pool, rows, self.options.folds, seed):
            train = np.setdiff1d(rows, test) if with_own else rows[:0]
            out.append((self.removed.clean(np.concatenate([train, further]), test), test))
        return out

    def crossed(
        self,
        part: str,
        name: str,
        *,
        settings: Mapping[str, str] | None = None,
        extra: Mapping[int, Ints] | None = None,
        with_own: bool = True,
        shuffled: bool = False,
    ) -> Cells:
        """The cells of cross-validation within a part; ``extra`` training rows are given by seed."""
        return {
            seed: tuple(
                ExperimentCell(
                    name=f"{name} · seed {seed} · fold {fold}",
                    train=train,
                    test=test,
                    seed=seed,
                    settings=dict(settings or {}),
                    shuffled=f"fold {fold}" if shuffled else "",
                )
                for fold, (train, test) in enumerate(
                    self.parts(part, seed, extra=None if extra is None else extra[seed], with_own=with_own), 1
                )
            )
            for seed in self.options.seeds
        }

    def within(self, part: str, name: str) -> ExperimentCondition:
        """The condition of cross-validation within a part."""
        return ExperimentCondition(name=name, cells=self.crossed(part, name), trained_on=part, tested_on=part)

    def shuffled(self, part: str, name: str = SHUFFLED, trained_on: str = "") -> ExperimentCondition:
        """The condition that shows what chance reaches: the same fits to labels in random order."""
        cells = self.crossed(part, name, shuffled=True)
        return ExperimentCondition(name=name, cells=cells, trained_on=trained_on or part, tested_on=part, baseline=True)


class ConditionScorer:
    """Scores of conditions from the predictions of their cells."""

    def __init__(self, pool: StimulusPool, options: ExperimentOptions, results: Mapping[int, CellResult]) -> None:
        self.pool = pool
        self.options = options
        self._results = results
        """By the id of the cell's object."""

    @classmethod
    def of(
        cls,
        pool: StimulusPool,
        options: ExperimentOptions,
        cells: Sequence[ExperimentCell],
        results: Sequence[CellResult],
    ) -> ConditionScorer:
        """With the results of cells, in their order."""
        return cls(pool, options, {id(cell): result for cell, result in zip(cells, results, strict=True)})

    def predictions(self, condition: ExperimentCondition, question: str) -> list[Floats]:
        """For every seed, what was predicted of each row; NaN for rows that were not tested."""
        return self._columns(condition, lambda result: result.of(question))

    def centred(self, condition: ExperimentCondition, question: str) -> list[Floats]:
        """The same less the mean of the training labels: what is correlated with the labels. Categories as they are."""
        if self.pool.codes(question):
            return self.predictions(condition, question)
        return self._columns(condition, lambda result: result.centred(question))

    def _columns(self, condition: ExperimentCondition, values: Callable[[CellResult], Floats | float]) -> list[Floats]:
        columns = []
        for cells in condition.cells.values():
            column = np.full(len(self.pool.stimuli), np.nan)
            for cell in cells:
                column[cell.test] = values(self._results[id(cell)])
            columns.append(column)
        return columns

    def repeats(self, condition: ExperimentCondition, question: str) -> Repeats:
        """The repeats of a condition, for further statistics."""
        truth, clusters = self.pool.truth[question], self.pool.clusters
        metric = self.pool.metric(question)
        return Repeats(metric, truth, self.centred(condition, question), group=clusters)

    def rows(self, conditions: Sequence[ExperimentCondition]) -> list[ScoreRow]:
        """A row for every condition and question."""
        by_name = {condition.name: condition for condition in conditions}
        return [
            self._row(condition, question, by_name.get(condition.reference))
            for question in self.pool.questions
            for condition in conditions
            if not condition.questions or question in condition.questions
        ]

    def _row(self, condition: ExperimentCondition, question: str, reference: ExperimentCondition | None) -> ScoreRow:
        centred, metric = self.centred(condition, question), self.pool.metric(question)
        score = self._bootstrapped(metric, question, centred)
        if condition.baseline:
            score = score.without_interval("it varies with the random order: see the spread over seeds")
        if reference is None:
            difference = Estimate.missing("this is what others are compared with", f"difference of {metric}")
        else:
            difference = bootstrap_repeats_difference(
                metric,
                self.pool.truth[question],
                centred,
                self.centred(reference, question),
                group=self.pool.clusters,
                resamples=self.options.resamples,
            )
        return self._score_row(
            condition,
            question,
            self.predictions(condition, question),
            score,
            name=condition.name,
            level=condition.level,
            over_seeds=_over_seeds(self.repeats(condition, question)),
            difference=difference,
            reference="" if reference is None else reference.name,
            baseline=condition.baseline,
        )

    def mean_row(self, condition: ExperimentCondition, question: str) -> ScoreRow:
        """What the mean, or the most frequent, of the training labels reaches in place of a condition's fits."""
        metric = self.pool.metric(question)
        columns = self._columns(condition, lambda result: result.centre[question])
        if metric == "pearson":
            reason = "a constant has no correlation"
            name, score, over_seeds = MEAN, Estimate.missing(reason, metric), Estimate.missing(reason, _OVER_SEEDS)
        else:
            reason, name, score = "it is a baseline", MODE, self._bootstrapped(metric, question, columns)
            over_seeds = _over_seeds(Repeats(metric, self.pool.truth[question], columns, group=self.pool.clusters))
        difference = Estimate.missing(reason, f"difference of {metric}")
        return self._score_row(
            condition, question, columns, score, name=name, over_seeds=over_seeds, difference=difference, baseline=True
        )

    def _bootstrapped(self, metric: str, question: str, columns: Sequence[Floats]) -> Estimate:
        truth, clusters = self.pool.truth[question], self.pool.clusters
        return bootstrap_repeats(metric, truth, columns, group=clusters, resamples=self.options.resamples)

    def _score_row(
        self,
        condition: ExperimentCondition,
        question: str,
        columns: Sequence[Floats],
        score: Estimate,
        *,
        name: str,
        over_seeds: Estimate,
        difference: Estimate,
        baseline: bool,
        level: float | None = None,
        reference: str = "",
    ) -> ScoreRow:
        """A row with the score of some predictions, by seed, and their error: of categories accuracy and macro F1."""
        metric = self.pool.metric(question)
        numbers = metric == "pearson"
        second = self._bootstrapped(_SECOND[metric], question, columns)
        tested = np.isfinite(columns[0]) & np.isfinite(self.pool.truth[question])
        return ScoreRow(
            condition=name,
            question=question,
            trained_on=condition.trained_on,
            tested_on=condition.tested_on,
            level=level,
            training_stimuli=condition.training_stimuli,
            n=int(tested.sum()),
            pearson=score if numbers else Estimate.missing(_CATEGORIES, "pearson"),
            over_seeds=over_seeds,
            rmse=second if numbers else Estimate.missing(_CATEGORIES, "rmse"),
            difference=difference,
            reference=reference,
            ceiling=self.pool.ceilings[condition.tested_on, question],
            baseline=baseline,
            accuracy=None if numbers else score,
            macro_f1=None if numbers else second,
        )


def _over_seeds(repeats: Repeats) -> Estimate:
    values = () if repeats.why_undefined else repeats.values
    counts = {"seeds": len(values)}
    if len(values) < 2:
        return Estimate.missing(repeats.why_undefined or "one seed", _OVER_SEEDS, counts)
    spread = Estimate(value=float(np.std(values, ddof=1)), method=_OVER_SEEDS, counts=counts)
    return spread.without_interval("it describes the seeds that were used")


def all_cells(conditions: Iterable[ExperimentCondition]) -> list[ExperimentCell]:
    return [cell for condition in conditions for cells in condition.cells.values() for cell in cells]
