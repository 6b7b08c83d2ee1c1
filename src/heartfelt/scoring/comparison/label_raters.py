"""What raters, taken as a sample, add to the uncertainty of mean labels and of lines through them.

A rater who rates high raises the labels of all the stimuli they rated, so the bias of a model is uncertain however many stimuli
there are. The variances come from leaving out every rater and every rating (:mod:`heartfelt.analysis.systems.two_way`).
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from heartfelt.analysis.systems.two_way import LEAST_RATERS, Changes, Stimuli, mean_changes, slope_changes, stimuli_of
from heartfelt.scoring.ground_truth.truth import ITEM
from heartfelt.scoring.measurement.sheet import Flags
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.prediction.calibration_line import LineRaters
from heartfelt.stats.reliability.two_way_jackknife import RaterVariance, jackknife_variance


@dataclass(frozen=True, slots=True, eq=False)
class LabelRaters:
    """The labels of some rows, and the single ratings behind them."""

    data: Stimuli

    @classmethod
    def of(cls, rows: pl.DataFrame, answers: pl.DataFrame) -> LabelRaters | None:
        """Of rows with stimulus, question, system, intent and truth; None where it is not known who rated."""
        name = pl.concat_str(ITEM, separator="\x1f").alias("item")
        items = rows.select(name, pl.col("system", "intent").cast(pl.String), pl.col("truth").cast(pl.Float64))
        scored_answers = answers.join(rows.select(ITEM), on=ITEM, how="semi", maintain_order="left")
        if not scored_answers.height or not scored_answers["known"].all():
            return None
        data = stimuli_of(items, [scored_answers.select("rater", name, "value")], ["truth"], None)
        return None if data.why_items_only else cls(data)

    def of_bias(self, chosen: Flags, predicted: Floats) -> RaterVariance | None:
        """Over raters, the variance of the mean prediction less the mean label of the chosen rows."""
        return _variance(mean_changes(self.data, chosen, lambda mean, at: predicted[at] - mean[:, 0]))

    def of_line(self, chosen: Flags, predicted: Floats) -> LineRaters:
        """The same of the line of labels on predictions, and of its bias."""
        line = slope_changes(self.data, chosen, predicted)
        slope, intercept = (None, None) if isinstance(line, str) else (_variance(part) for part in line)
        return LineRaters(slope=slope, intercept=intercept, bias=self.of_bias(chosen, predicted))


def _variance(changes: Changes | str) -> RaterVariance | None:
    if isinstance(changes, str) or changes.why_items_only:
        return None
    by_rater = changes.by_rater[changes.took_part]
    if by_rater.size < LEAST_RATERS:
        return None
    return RaterVariance(jackknife_variance(by_rater), changes.ratings.variance, by_rater.size)
