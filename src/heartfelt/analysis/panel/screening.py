"""What screening found, and one row per rater: how much they rated, how they use the scale, and how they agree with the others.

``bias`` and ``inconsistency`` are those of ITU-T P.910 (points above the others; standard deviation about what was rated).
``agreement`` is the correlation with the mean of the others' ratings of the same items, or for categories without an order the
share of the others' votes that are the same. ``flags`` are the rules with error control, ``flags_by_standards`` the others;
``not_judged`` says which rules could not judge the rater, and why. Over several questions each figure is the mean of the
questions', weighted by ratings.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.summary import DroppedRater, ParallelPair, RankedRater, Screening
from heartfelt.screening.panel import Panel
from heartfelt.snapshot.comparisons import has_sets
from heartfelt.snapshot.verified import verified_rows
from heartfelt.stats.aggregate import p910
from heartfelt.wording import percent

FIGURES = ("mean", "sd", "bias", "inconsistency", "agreement")
MOST_COLUMNS = 6
MOST_RANKED = 25


def screening(panel: Panel, default: Panel, why_missing: str | None) -> Screening:
    """Who was flagged and why, whose answers run in parallel, and who would be left out by default."""
    ranked = panel.ranking.filter(pl.col("score") > 0).head(MOST_RANKED)
    left_out = default.ledger.select("rater", "rule", "reason", "statistic", "value", "threshold")
    return Screening(
        policy=panel.policy,
        flagged={rater: tuple(reasons) for rater, reasons in panel.flagged().items()},
        flagged_by_standards={rater: tuple(reasons) for rater, reasons in panel.flagged_by_standards().items()},
        collusion=tuple(tuple(group) for group in panel.groups),
        parallel=_parallel(panel),
        not_judged=_not_judged(panel),
        dropped=tuple(panel.dropped),
        dropped_by_default=tuple(default.dropped),
        ledger_by_default=tuple(DroppedRater(**row) for row in left_out.iter_rows(named=True)),
        rules={rule.rule: rule for rule in panel.rules()},
        ranking=tuple(
            RankedRater(row["rank"], row["rater"], row["score"], tuple(row["flagged_by"]))
            for row in ranked.iter_rows(named=True)
        ),
        notes=(*panel.notes, *(note for note in default.notes if note not in panel.notes)),
        why_missing=why_missing,
    )


def _not_judged(panel: Panel) -> tuple[str, ...]:
    """The raters whom no rule could judge; nobody where no rule was applied."""
    judged = panel.flags.filter(pl.col("rater").is_not_null() & pl.col("why_missing").is_null())
    judged_raters = set(judged["rater"].to_list())
    return tuple(name for name in panel.view.raters if name not in judged_raters) if panel.flags.height else ()


def _parallel(panel: Panel) -> tuple[ParallelPair, ...]:
    """The pairs of raters whose answers run in parallel, the most alike first."""
    copies = panel.pairs.filter("copies").sort("equal", "rater", "other", descending=[True, False, False])
    return tuple(
        ParallelPair(
            raters=(row["rater"], row["other"]),
            positions=row["trials"],
            correlation=row["correlation"],
            share=row["equal"],
            expected_share=row["expected_equal"],
            p=row["p_adjusted"],
        )
        for row in copies.iter_rows(named=True)
    )


def parallel_words(pairs: Sequence[ParallelPair]) -> str:
    """How alike parallel answers are: the range of equal answers over the pairs, and what chance gives."""
    if not pairs:
        return ""
    equal, chance = (
        " to ".join(dict.fromkeys(percent(limit) for limit in (min(shares), max(shares))))
        for shares in ([pair.share for pair in pairs], [pair.expected_share for pair in pairs])
    )
    return f"{equal} of the answers at the same position are equal, where {chance} are expected by chance"


def raters_table(material: AnalysisData, panel: Panel) -> pl.DataFrame:
    """One row per rater of the whole snapshot; figures from the material analysed, empty for raters left out."""
    overall, *by_question = _rater_figures(material)
    if not material.questions:
        overall = _trials(material).join(overall.drop("n"), on="rater", how="left", maintain_order="left")
    out = panel.source.raters.select("rater")
    for table in (overall, *by_question, *_screened(panel), *_verified(panel)):
        out = out.join(table, on="rater", how="left", maintain_order="left")
    groups = {rater: number for number, group in enumerate(panel.groups, 1) for rater in group}
    return out.with_columns(
        pl.col("n").fill_null(0),
        pl.col("flags", "flags_by_standards", "words", "not_judged").fill_null(""),
        pl.col("rater").replace_strict(groups, default=None, return_dtype=pl.Int64).alias("parallel_group"),
        (~pl.col("rater").is_in(list(panel.dropped))).alias("kept"),
    )


def _rater_figures(material: AnalysisData) -> list[pl.DataFrame]:
    """The figures of each rater over all questions, weighted by answers; then by question where these are few."""
    parts = {q.id: _figures(q) for q in material.blocks if q.ratings.height and q.ratings["known"].any()}
    schema = {"rater": pl.String, "n": pl.Int64} | dict.fromkeys(FIGURES, pl.Float64)
    n = pl.col("n")
    weighted = [((pl.col(name) * n).sum() / n.filter(pl.col(name).is_not_null()).sum()).alias(name) for name in FIGURES]
    together = pl.concat([pl.DataFrame(schema=schema), *parts.values()])
    overall = together.group_by("rater", maintain_order=True).agg(pl.sum("n"), *weighted)
    tables = [overall.with_columns(pl.col(FIGURES).fill_nan(None), n.cast(pl.Int64))]
    if 1 < len(material.questions) <= MOST_COLUMNS:
        for question, part in parts.items():
            tables.append(part.rename({name: f"{name}_{question}" for name in ("n", *FIGURES)}))
    return tables


def _screened(panel: Panel) -> list[pl.DataFrame]:
    """By which rules each rater is flagged, which could not judge them, and their place in the order of carelessness."""
    flags = panel.flags.filter(pl.col("flagged") & pl.col("rater").is_not_null())
    rule, controlled = pl.col("rule"), pl.col("error_controlled")
    missing = panel.not_judged().filter(pl.col("rater").is_not_null())
    reasons = pl.format("{}: {}", "rule", "why_missing").str.join("; ").alias("not_judged")
    return [
        flags.group_by("rater", maintain_order=True).agg(
            rule.filter(controlled).unique(maintain_order=True).str.join("; ").alias("flags"),
            rule.filter(~controlled).unique(maintain_order=True).str.join("; ").alias("flags_by_standards"),
            pl.col("words").str.join(" ").alias("words"),
        ),
        missing.group_by("rater", maintain_order=True).agg(reasons),
        panel.ranking.select("rater", carelessness_rank="rank", carelessness_score="score"),
    ]


def _verified(panel: Panel) -> list[pl.DataFrame]:
    """How many drafts each rater verified, how many planted ones came, and how many of those were accepted."""
    rows = verified_rows(panel.source.without_probes)
    if not rows.height:
        return []
    planted = pl.col("wrong").fill_null(value=False)
    counts = rows.group_by(pl.col("verified_by").alias("rater"), maintain_order=True).agg(
        (pl.col("shown") == "true").sum().cast(pl.Int64).alias("drafts_verified"),
        planted.sum().cast(pl.Int64).alias("planted_drafts"),
        (planted & (pl.col("verdict") == "accepted")).sum().cast(pl.Int64).alias("planted_accepted"),
    )
    return [counts]


def _trials(material: AnalysisData) -> pl.DataFrame:
    """How many trials each rater answered, where every question compares stimuli."""
    ratings = material.snapshot.scan_ratings().filter(pl.col("rater").is_not_null() & pl.col("value").is_not_null())
    trial = "trial" if has_sets(ratings) else "stimulus"
    counted = ratings.group_by("rater", maintain_order=True).agg(pl.n_unique(trial).cast(pl.Int64).alias("n"))
    return counted.collect()


def _figures(question: QuestionData) -> pl.DataFrame:
    ratings = question.ratings.filter("known").select("rater", "item", "value")
    none = pl.lit(None, pl.Float64)
    mean, sd = (pl.mean("value"), pl.std("value")) if question.numbers else (none, none)
    out = ratings.group_by("rater", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"), mean.alias("mean"), sd.alias("sd")
    )
    if question.numbers:
        fitted = p910(ratings["rater"], ratings["item"], ratings["value"], leverage=True)
        rater_figures = pl.DataFrame(
            {"rater": list(fitted.raters), "bias": fitted.bias, "inconsistency": fitted.inconsistency},
            schema={"rater": pl.String, "bias": pl.Float64, "inconsistency": pl.Float64},
        ).with_columns(pl.col("bias", "inconsistency").fill_nan(None))
        out = out.join(rater_figures, on="rater", how="left", maintain_order="left")
    else:
        out = out.with_columns(none.alias("bias"), none.alias("inconsistency"))
    out = out.join(_agreement(question, ratings), on="rater", how="left", maintain_order="left")
    return out.select("rater", "n", *FIGURES)


def _agreement(question: QuestionData, ratings: pl.DataFrame) -> pl.DataFrame:
    if not question.numbers:
        same = ratings.with_columns(
            (pl.len().over("item", "value") - 1).alias("same"), (pl.len().over("item") - 1).alias("others")
        ).filter(pl.col("others") > 0)
        return same.group_by("rater").agg((pl.col("same") / pl.col("others")).mean().alias("agreement"))
    with_others = ratings.with_columns(
        ((pl.sum("value").over("item") - pl.col("value")) / (pl.len().over("item") - 1)).alias("others")
    ).filter(pl.col("others").is_finite())
    squares = [pl.var(name) * (pl.len() - 1) for name in ("value", "others")]
    enough = (pl.len() >= 3) & (squares[0] > 1e-12) & (squares[1] > 1e-12)
    correlation = pl.when(enough).then(pl.corr("value", "others")).alias("agreement")
    return with_others.group_by("rater").agg(correlation)
