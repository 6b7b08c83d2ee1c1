"""Sets judged next to a reference: MUSHRA (ITU-R BS.1534) and tests against a named reference (DMOS)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from heartfelt import stats
from heartfelt.analysis.findings.comparisons import (
    AgainstReference,
    ItemGrades,
    MushraCondition,
    MushraListener,
    MushraResult,
)
from heartfelt.stats._bounds import with_t
from heartfelt.stats.comparison.mushra import crossed_mean
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Scale

HUNDRED = 100.0
MIDDLE = ("mid", "7k", "7.0", "7000", "70")
"""What the name of a mid-range anchor holds (a 7 kHz low-pass filter in BS.1534-3)."""


def mushra_grades(rows: pl.DataFrame, stimuli: pl.DataFrame, bounds: tuple[float, float]) -> pl.DataFrame:
    """``rater, item, condition, role, grade``: grades brought to 0 to 100, one per listener, item and condition."""
    low, high = bounds
    grade = pl.col("value") if (low, high) == (0.0, HUNDRED) else (pl.col("value") - low) / (high - low) * HUNDRED
    system = stimuli.select("stimulus", pl.col("system").cast(pl.String)) if "system" in stimuli.columns else None
    if system is not None:
        rows = rows.join(system, on="stimulus", how="left", maintain_order="left")
    else:
        rows = rows.with_columns(pl.lit(None, pl.String).alias("system"))
    item = pl.coalesce("set", "trial") if "set" in rows.columns else pl.col("trial")
    condition = pl.coalesce(
        "system",
        pl.when(pl.col("role") == "hidden-reference").then(pl.lit("hidden reference")).otherwise(pl.col("stimulus")),
    )
    rater = pl.coalesce("rater", pl.concat_str(pl.lit("unknown, trial "), "trial"))
    table = rows.select(
        rater.alias("rater"), item.alias("item"), condition.alias("condition"), "role", grade.alias("grade")
    )
    together = table.group_by("rater", "item", "condition", "role", maintain_order=True)
    return together.agg(pl.mean("grade"))


def mid_anchor(conditions: Sequence[str]) -> str | None:
    """The anchor that post-screening looks at: the one whose name says that it is the mid-range one."""
    named = [name for name in conditions if any(part in name.lower() for part in MIDDLE)]
    return named[0] if named else None


def mushra_result(rows: pl.DataFrame, stimuli: pl.DataFrame, bounds: tuple[float, float]) -> MushraResult:
    """Conditions after post-screening, and the listeners."""
    table = mushra_grades(rows, stimuli, bounds)
    roles = dict(table.select("condition", "role").unique(maintain_order=True).iter_rows())
    reference = next(name for name, role in roles.items() if role == "hidden-reference")
    anchors = [name for name, role in roles.items() if role == "anchor"]
    middle = mid_anchor(anchors)
    mushra = stats.mushra(
        table["rater"], table["item"], table["condition"], table["grade"], reference=reference, mid_anchor=middle
    )
    below = _below_anchor(table, reference, anchors)
    listeners = tuple(
        MushraListener(
            rater=str(listener.name),
            items=listener.items,
            reference_below=listener.reference_below,
            reference_below_anchor=below.get(str(listener.name), 0),
            anchor_above=listener.anchor_above,
            excluded=listener.excluded,
            reason=listener.reason,
        )
        for listener in mushra.listeners
    )
    left_out = [listener.rater for listener in listeners if listener.excluded]
    used = table.filter(~pl.col("rater").is_in(left_out))
    conditions = tuple(
        MushraCondition(
            name=str(condition.name),
            role=roles[str(condition.name)],
            mean=condition.mean,
            median=condition.median,
            quartiles=condition.quartiles,
            lowest=condition.lowest,
            highest=condition.highest,
            below_reference=condition.below_reference,
            items=_items(used.filter(pl.col("condition") == condition.name)),
        )
        for condition in mushra.conditions
    )
    missing = tuple(str(item) for item in mushra.without_reference)
    return MushraResult(
        reference=reference,
        mid_anchor=middle,
        conditions=conditions,
        listeners=listeners,
        reference_below_anchor=sum(below.values()),
        without_reference=missing,
    )


def _below_anchor(table: pl.DataFrame, reference: str, anchors: Sequence[str]) -> dict[str, int]:
    """For each listener, the items in which the hidden reference was graded below an anchor."""
    if not anchors:
        return {}
    highest = (
        table.filter(pl.col("condition").is_in(list(anchors)))
        .group_by("rater", "item")
        .agg(pl.max("grade").alias("top"))
    )
    reference_grades = table.filter(pl.col("condition") == reference).join(
        highest, on=["rater", "item"], maintain_order="left"
    )
    return dict(
        reference_grades.filter(pl.col("grade") < pl.col("top")).group_by("rater").len().sort("rater").iter_rows()
    )


def _items(rows: pl.DataFrame) -> tuple[ItemGrades, ...]:
    out = []
    for key, part in sorted(rows.partition_by("item", as_dict=True).items()):
        grades = part["grade"]
        quarter, middle, three = (float(grades.quantile(q, "linear") or 0.0) for q in (0.25, 0.5, 0.75))
        out.append(ItemGrades(str(key[0]), _mean_grade(grades), middle, (quarter, three)))
    return tuple(out)


def _mean_grade(grades: pl.Series) -> Estimate:
    """The mean of the listeners' grades, its interval within the scale."""
    n, mean, sd = grades.len(), float(grades.mean() or 0.0), grades.std()  # type: ignore[arg-type]  # a number
    estimate = Estimate(value=mean, method="mean grade", counts={"raters": n})
    if n < 2 or not isinstance(sd, float) or sd <= 0:
        return estimate.without_interval("one listener" if n < 2 else "nothing varies")
    wide = with_t(estimate, sd / math.sqrt(n), n - 1, "Student's t over listeners", 0.95)
    low, high = max(wide.low or 0.0, 0.0), min(wide.high or HUNDRED, HUNDRED)
    return wide.with_interval(low, high, wide.interval)


def against_reference(rows: pl.DataFrame, stimuli: pl.DataFrame, scale: Scale) -> tuple[AgainstReference, ...]:
    """The mean of each system judged next to the reference, with raters and stimuli as samples."""
    bounds = scale.bounds()
    if not scale.has_values or bounds is None:
        return ()
    if "system" in stimuli.columns:
        rows = rows.join(stimuli.select("stimulus", "system"), on="stimulus", how="left", maintain_order="left")
    else:
        rows = rows.with_columns(pl.lit("all").alias("system"))
    rater = pl.coalesce("rater", pl.concat_str(pl.lit("unknown, trial "), "trial")).alias("rater")
    rows = rows.with_columns(rater).drop_nulls("system")
    out = []
    for key, part in sorted(rows.partition_by("system", as_dict=True).items()):
        columns = part["rater"], part["stimulus"]
        mean = crossed_mean(*columns, part["value"], "mean", scale=bounds)
        top = bounds[1]
        below = crossed_mean(
            *columns, part["value"] - top, "mean less the top of the scale", scale=(bounds[0] - top, 0.0)
        )
        out.append(AgainstReference(str(key[0]), mean, below))
    return tuple(out)
