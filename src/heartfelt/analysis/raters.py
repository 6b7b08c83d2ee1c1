"""One row per rater: how much they rated, how they use the scale, how they go with the others, and what was flagged.

``bias`` and ``inconsistency`` are those of ITU-T P.910 (points above the others; standard deviation about what was rated).
``agreement`` is the correlation with the mean of the others' ratings of the same items, or for categories without an
order the share of the others' votes that are the same. ``flags`` are the rules with error control, ``flags_by_standards`` the
others; ``not_judged`` says which rules could not judge the rater, and why. Over several questions each figure is the mean
of the questions', by ratings.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from heartfelt.analysis.material import Material, QuestionData
from heartfelt.screening.panel import Panel
from heartfelt.stats.aggregate import p910

FIGURES = ("mean", "sd", "bias", "inconsistency", "agreement")
MOST_COLUMNS = 6


def raters_table(material: Material, panel: Panel) -> pl.DataFrame:
    """One row per rater of the whole snapshot; figures from the material analysed, empty for raters left out."""
    everyone = panel.source.raters.select("rater")
    parts = [_figures(one) for one in material.blocks if one.ratings.height and one.ratings["known"].any()]
    table = everyone.join(_overall(parts), on="rater", how="left", maintain_order="left")
    if 1 < len(material.questions) <= MOST_COLUMNS:
        for one, part in zip([b for b in material.blocks if b.ratings.height], parts, strict=False):
            named = {name: f"{name}_{one.id}" for name in ("n", *FIGURES)}
            table = table.join(part.rename(named), on="rater", how="left", maintain_order="left")
    flags = panel.flags.filter(pl.col("flagged") & pl.col("rater").is_not_null())
    controlled = pl.col("error_controlled")
    words = flags.group_by("rater", maintain_order=True).agg(
        pl.col("rule").filter(controlled).unique(maintain_order=True).str.join("; ").alias("flags"),
        pl.col("rule")
        .filter(~controlled)
        .unique(maintain_order=True)
        .str.join("; ")
        .alias("flags_by_standards"),
        pl.col("words").str.join(" ").alias("words"),
    )
    groups = {rater: place for place, group in enumerate(panel.groups, 1) for rater in group}
    ranked = panel.ranking.select(
        "rater", pl.col("rank").alias("carelessness_rank"), pl.col("score").alias("carelessness_score")
    )
    missing = panel.not_judged().filter(pl.col("rater").is_not_null())
    reasons = missing.group_by("rater", maintain_order=True).agg(
        pl.format("{}: {}", "rule", "why_missing").str.join("; ").alias("not_judged")
    )
    table = table.join(words, on="rater", how="left", maintain_order="left")
    table = table.join(reasons, on="rater", how="left", maintain_order="left")
    table = table.join(ranked, on="rater", how="left", maintain_order="left")
    return table.with_columns(
        pl.col("n").fill_null(0),
        pl.col("flags", "flags_by_standards").fill_null(""),
        pl.col("words").fill_null(""),
        pl.col("not_judged").fill_null(""),
        pl.col("rater").replace_strict(groups, default=None, return_dtype=pl.Int64).alias("parallel_group"),
        (~pl.col("rater").is_in(list(panel.dropped))).alias("kept"),
    )


def _overall(parts: list[pl.DataFrame]) -> pl.DataFrame:
    schema = {"rater": pl.String, "n": pl.Int64} | dict.fromkeys(FIGURES, pl.Float64)
    if not parts:
        return pl.DataFrame(schema=schema)
    together = pl.concat(parts)
    weighted = [
        ((pl.col(name) * pl.col("n")).sum() / pl.col("n").filter(pl.col(name).is_not_null()).sum()).alias(
            name
        )
        for name in FIGURES
    ]
    found = together.group_by("rater", maintain_order=True).agg(pl.sum("n"), *weighted)
    return found.with_columns(pl.col(FIGURES).fill_nan(None)).cast(schema)  # type: ignore[arg-type]  # alias


def _figures(one: QuestionData) -> pl.DataFrame:
    ratings = one.ratings.filter("known").select("rater", "item", "value")
    out = ratings.group_by("rater", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"),
        (pl.mean("value") if one.numbers else pl.lit(None, pl.Float64)).alias("mean"),
        (pl.std("value") if one.numbers else pl.lit(None, pl.Float64)).alias("sd"),
    )
    if one.numbers:
        found = p910(ratings["rater"], ratings["item"], ratings["value"], leverage=True)
        none = np.full(len(found.raters), np.nan)
        own = pl.DataFrame(
            {
                "rater": list(found.raters),
                "bias": none if found.bias is None else found.bias,
                "inconsistency": none if found.inconsistency is None else found.inconsistency,
            },
            schema={"rater": pl.String, "bias": pl.Float64, "inconsistency": pl.Float64},
        ).with_columns(pl.col("bias", "inconsistency").fill_nan(None))
        out = out.join(own, on="rater", how="left", maintain_order="left")
    else:
        gone = pl.lit(None, pl.Float64)
        out = out.with_columns(gone.alias("bias"), gone.alias("inconsistency"))
    out = out.join(_agreement(one, ratings), on="rater", how="left", maintain_order="left")
    return out.select("rater", "n", *FIGURES)


def _agreement(one: QuestionData, ratings: pl.DataFrame) -> pl.DataFrame:
    if not one.numbers:
        same = ratings.with_columns(
            (pl.len().over("item", "value") - 1).alias("same"), (pl.len().over("item") - 1).alias("others")
        ).filter(pl.col("others") > 0)
        return same.group_by("rater").agg((pl.col("same") / pl.col("others")).mean().alias("agreement"))
    others = ratings.with_columns(
        ((pl.sum("value").over("item") - pl.col("value")) / (pl.len().over("item") - 1)).alias("others")
    ).filter(pl.col("others").is_finite())
    apart = others.with_columns(
        (pl.col("value") - pl.mean("value").over("rater")).alias("a"),
        (pl.col("others") - pl.mean("others").over("rater")).alias("b"),
    )
    sums = apart.group_by("rater").agg(
        (pl.col("a") * pl.col("b")).sum().alias("ab"),
        (pl.col("a") ** 2).sum().alias("aa"),
        (pl.col("b") ** 2).sum().alias("bb"),
        pl.len().alias("n"),
    )
    enough = (pl.col("n") >= 3) & (pl.col("aa") > 1e-12) & (pl.col("bb") > 1e-12)
    return sums.select(
        "rater",
        pl.when(enough).then(pl.col("ab") / (pl.col("aa") * pl.col("bb")).sqrt()).alias("agreement"),
    )
