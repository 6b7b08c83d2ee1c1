"""Labels of questions answered by comparing: the strength of each stimulus and each system, with its rank.

A choice gives Bradley and Terry's strengths, or Davidson's where there are ties; a preference strengths on the scale of its
grades; a ranking Plackett and Luce's; best-worst answers those of the best-worst logit. Strengths of pairs allow for the order of
presentation where it was recorded and pairs came in both orders. Every answer of a rater counts, also a second one to the same
pair, unless the study repeats pairs to test raters. Intervals are over raters, and for systems over what they were compared on as
well: the prompt where the members of every pair share it, the two stimuli otherwise. Stimuli and systems that no chain of
comparisons links, or that won or lost throughout, have no strength, and ``why_missing`` says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from heartfelt import stats
from heartfelt.labels.columns import count, estimate_columns, number, text
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import TRIAL, choices, contests, in_both_orders, members
from heartfelt.stats.comparison.pairs import code_together
from heartfelt.stats.comparison.strengths.models import Strengths, no_strengths
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Scale
from heartfelt.study.scales.set_scale import BestWorst, Choice, Preference, Ranking
from heartfelt.tables import Contract

Of: TypeAlias = Literal["system", "stimulus"]
COMPARED = (Choice, Preference, Ranking, BestWorst)
"""The scales whose answers give strengths."""
RANK_DRAWS = 10_000
DRAWN_AT_MOST = 2_000_000
"""Numbers drawn for the probabilities of ranks: with many contestants fewer draws are enough."""
UNKNOWN = "\x00unknown rater "
NO_MODEL = "no strengths"
"""The method of contestants that were compared in groups apart from each other."""

STRENGTHS = Contract(
    "strengths",
    "one row per contestant of a question answered by comparing",
    (
        text("question", "the question id"),
        text("of", "system or stimulus"),
        text("name", "the system or stimulus"),
        *estimate_columns("strength", "its strength, mean zero over all that have one"),
        count("n", "answers it took part in"),
        text("method", "the model"),
        count("rank", "1 for the strongest", nullable=True),
        count("rank_low", "best rank it may plausibly have", nullable=True),
        count("rank_high", "worst rank it may plausibly have", nullable=True),
        number("best", "probability of being the strongest", nullable=True),
        text("why_missing", "why there is no strength or no interval", nullable=True),
    ),
    key=("question", "of", "name"),
)
MANY_ADAPTIVE = 30
"""Contestants above which intervals after adaptive pairing come with a note."""
ADAPTIVE_NOTE = (
    "Pairs were chosen adaptively. With about 100 contestants the 95% intervals of strengths then covered 89 to 92% in simulations;"
    " with 10 they covered 94 to 96%."
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contest:
    """The answers to one question as comparisons of systems or stimuli, and the strengths they give.

    ``pairs`` has rater, first, second, value, grade and unit (what the two were compared on); for rankings and best-worst
    answers the pairs follow from the sets in ``rows``.
    """

    question: str
    of: Of
    scale: Scale
    pairs: pl.DataFrame
    rows: pl.DataFrame
    result: Strengths
    notes: tuple[str, ...] = ()

    @property
    def answers(self) -> dict[str, int]:
        """How many answers each contestant took part in."""
        if self.rows.height:
            return dict(self.rows.group_by("name").len().rows())
        both = pl.concat([self.pairs["first"], self.pairs["second"].alias("first")])
        return {} if not both.len() else dict(both.value_counts().rows())


def contest(snapshot: Snapshot, question: str, of: Of, confidence: float = 0.95) -> Contest | None:
    """The comparisons of a question and their strengths; None where nothing can be compared."""
    scale = snapshot.study.scale_of(question)
    stimuli = snapshot.stimuli
    if not isinstance(scale, COMPARED) or (of == "system" and "system" not in stimuli.columns):
        return None
    ratings = first_presentations(snapshot)
    names = stimuli.select("stimulus", pl.col(of).cast(pl.String).alias("name"))
    pairs = contests(choices(ratings, question, scale), stimuli, of)
    rows = _sets(members(ratings, question), names) if isinstance(scale, Ranking | BestWorst) else pl.DataFrame()
    if not pairs.height:
        return None
    unconnected = _groups(pairs) if of == "stimulus" else None
    if unconnected is not None:
        return Contest(question=question, of=of, scale=scale, pairs=pairs, rows=rows, result=unconnected)
    result, notes = _fitted(scale, pairs, rows, of, confidence)
    if of == "system":
        result = _with_all(result, names["name"].drop_nulls().unique().sort().to_list())
    else:
        result = _if_most_connect(result)
    if snapshot.study.design.adaptive and len(result.core) > MANY_ADAPTIVE:
        notes = (*notes, ADAPTIVE_NOTE)
    return Contest(question=question, of=of, scale=scale, pairs=pairs, rows=rows, result=result, notes=notes)


def _with_all(result: Strengths, names: Sequence[str]) -> Strengths:
    """The strengths with those contestants added that were never compared."""
    new = [name for name in names if name not in result.names]
    never = Estimate.missing("it was never compared", result.model)
    return replace(result, names=(*result.names, *new), strengths=(*result.strengths, *[never] * len(new)))


def _if_most_connect(result: Strengths) -> Strengths:
    """The strengths, or none where wins and losses connect fewer than half of the contestants both ways."""
    reasons = {strength.why_missing for strength in result.strengths}
    if 2 * len(result.core) >= len(result.names) or len(reasons) == 1:
        return result
    linked = f"at most {len(result.core)}" if result.core else "none"
    reason = f"wins and losses connect {linked} of the {len(result.names):,} stimuli both ways"
    return no_strengths(result.model, result.names, result.counts, reason)


def _groups(pairs: pl.DataFrame) -> Strengths | None:
    """No strengths, where the largest group of stimuli linked by comparisons holds fewer than half: its strengths would stand
    for stimuli that were never compared with it.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    names, first, second = code_together(pairs["first"], pairs["second"])
    size = len(names)
    graph = csr_array((np.ones(first.size), (first, second)), shape=(size, size))
    groups, group = connected_components(graph, directed=False)
    if 2 * int(np.bincount(group).max()) >= size:
        return None
    reason = (
        f"the {size:,} stimuli form {groups:,} groups with no comparison between them; strengths of different groups cannot be"
        " compared"
    )
    counts = {"comparisons": pairs.height, "contestants": size}
    return no_strengths(NO_MODEL, names, counts, reason)


def first_presentations(snapshot: Snapshot) -> pl.DataFrame:
    """The ratings without probes: anchors, practice, and repeated presentations where they test raters."""
    ratings = snapshot.without_probes.ratings
    left_out = snapshot.study.repeats_are_probes and "repeat" in ratings.columns
    return ratings.filter(pl.col("repeat").fill_null(0) == 0) if left_out else ratings


def _sets(rows: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """The members of every set with the contestant's name; sets in which a contestant appears twice say nothing about it."""
    rows = rows.join(names, on="stimulus", how="left", maintain_order="left").drop_nulls("name")
    twice = pl.struct("name").is_duplicated().over(*TRIAL)
    rows = rows.filter(~twice.any().over(*TRIAL)).with_columns(_rater_or_row())
    presented = pl.col("set") if "set" in rows.columns else pl.col("trial")
    rows = rows.select("rater", "trial", "name", "value", "place", unit=presented.fill_null(pl.col("trial")))
    return rows.sort("rater", "trial", "place")


def _rater_or_row() -> pl.Expr:
    """The rater, or a name of its own for every trial whose rater is not known."""
    return pl.coalesce(pl.col("rater"), pl.concat_str(pl.lit(UNKNOWN), pl.col("trial"))).alias("rater")


def _fitted(
    scale: Scale, pairs: pl.DataFrame, rows: pl.DataFrame, of: Of, confidence: float
) -> tuple[Strengths, tuple[str, ...]]:
    if isinstance(scale, Ranking | BestWorst):
        model = stats.plackett_luce if isinstance(scale, Ranking) else stats.best_worst
        # Systems are compared on the sets they appear in, which are a sample; stimuli are themselves what is compared.
        sets = rows["unit"] if of == "system" and rows["unit"].n_unique() > 1 else None
        columns = (rows["rater"], rows["trial"], rows["name"], rows["value"])
        return model(*columns, stimulus=sets, confidence=confidence), ()
    graded = isinstance(scale, Preference)
    value = pairs["grade" if graded else "value"]
    paired = stats.cmos if graded else stats.davidson if (value == 0.5).any() else stats.bradley_terry
    fit = partial(
        paired,
        rater_of(pairs),
        pairs["first"],
        pairs["second"],
        value,
        confidence=confidence,
        stimulus=unit_of(pairs) if of == "system" else None,
    )
    unknown = why_no_order(pairs)
    result = fit(order_effect=unknown is None)
    if result.core or unknown is not None:
        return result, () if unknown is None else (f"No effect of the order is estimated: {unknown}.",)
    without_order = fit()
    if not without_order.core:
        return without_order, ()
    return without_order, (
        f"The strengths do not allow for the order of presentation: {result.strengths[0].why_missing}.",
    )


def why_no_order(pairs: pl.DataFrame) -> str | None:
    """Why comparisons tell nothing about an effect of the order of presentation; None where they do."""
    if not pairs["ordered"].all():
        return "the order of presentation was not recorded"
    if not in_both_orders(pairs["first"], pairs["second"]):
        return "pairs came in one order only, which does not separate it from the strengths"
    return None


def rater_of(pairs: pl.DataFrame) -> pl.Series | None:
    """The raters for an interval: None where none is known, a name of its own for every answer without one."""
    if pairs["rater"].null_count() == pairs.height:
        return None
    return (
        pairs.with_row_index("trial_")
        .select(pl.coalesce("rater", pl.concat_str(pl.lit(UNKNOWN), pl.col("trial_").cast(pl.String))))
        .to_series()
    )


def unit_of(pairs: pl.DataFrame) -> pl.Series | None:
    """What the systems were compared on, as a sample for intervals.

    None where no two systems were compared on several things, or where nothing was judged twice: a spread over what each answer was
    about is the spread over answers then, which is part of that over raters.
    """
    if pairs["unit"].n_unique() == pairs.height:
        return None
    both = pl.concat_str(pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second"), separator="\x1f")
    units = pairs.group_by(both.alias("systems")).agg(pl.n_unique("unit"))["unit"]
    return pairs["unit"] if bool((units > 1).any()) else None


def ranks(result: Strengths, confidence: float = 0.95) -> list[tuple[int | None, int | None, int | None, float | None]]:
    """For each contestant its rank, the bounds of its rank, and the probability of being the strongest."""
    values = np.array([math.nan if strength.is_missing else float(strength) for strength in result.strengths])
    out: list[tuple[int | None, int | None, int | None, float | None]] = []
    if not result.core:
        return [(None, None, None, None)] * values.size
    draws = max(200, min(RANK_DRAWS, DRAWN_AT_MOST // len(result.core)))
    row_of = {index: row for row, index in enumerate(result.core)}
    # Contestants outside the core have no strength; they must not take ranks from those inside.
    inner = replace(
        result,
        names=tuple(result.names[index] for index in result.core),
        strengths=tuple(result.strengths[index] for index in result.core),
        core=tuple(range(len(result.core))),
    )
    probabilities = inner.rank_probabilities(draws)
    tail = (1.0 - confidence) / 2.0
    for index, value in enumerate(values.tolist()):
        if math.isnan(value):
            out.append((None, None, None, None))
            continue
        rank = 1 + int((values > value).sum())
        row = probabilities[row_of[index]]
        if np.isnan(row[0]):
            out.append((rank, None, None, None))
            continue
        reached = np.cumsum(row)
        low, high = (int(np.searchsorted(reached, share, side="right")) + 1 for share in (tail, 1.0 - tail - 1e-12))
        out.append((rank, min(low, rank), max(min(high, len(row)), rank), float(row[0])))
    return out


def strengths_table(contests: Sequence[Contest], least: int = 1) -> pl.DataFrame:
    """The strengths of several contests under the contract ``STRENGTHS``; fewer than ``least`` answers give none."""
    rows: list[dict[str, object]] = []
    for contest in contests:
        result, answers = contest.result, contest.answers
        for index, (name, strength, rank) in enumerate(zip(result.names, result.strengths, ranks(result), strict=True)):
            n = answers.get(str(name), 0)
            row: dict[str, object] = {"question": contest.question, "of": contest.of, "name": str(name), "n": n}
            row |= {"method": result.model, "why_missing": strength.why_missing or strength.why_no_interval}
            if 0 < n < least:
                row["why_missing"] = f"{n} of the {least} ratings a label needs"
            elif not strength.is_missing:
                row |= {"value": strength.value, "low": strength.low, "high": strength.high}
                row["standard_error"] = _standard_error(result, index)
                row |= dict(zip(("rank", "rank_low", "rank_high", "best"), rank, strict=True))
            rows.append(row)
    return pl.DataFrame(rows, schema=STRENGTHS.empty().schema).sort("question", "of", "name")


def _standard_error(result: Strengths, index: int) -> float | None:
    if result.covariance is None:
        return None
    variance, _ = result.covariance.variance({result.core.index(index): 1.0})
    return math.sqrt(variance) if variance > 0 else None
