"""The tables of a release's papers: reliability, ceilings, systems, labels, splits, raters, screening and anonymisation.

Every table is made once, as a :class:`Grid`; the card shows it in Markdown, and ``tables/`` holds it in Markdown and LaTeX.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.parts import Agreement, Ceilings, Level, SystemMeans
from heartfelt.files import write_text
from heartfelt.publishing.papers.facts import counts_words, left_out, method_words, rater_facts
from heartfelt.publishing.release.release import Release
from heartfelt.publishing.release.splits import assignment_hash, parts_of, placement, split_of
from heartfelt.report.layout.markup import Grid, grid_latex, grid_markdown
from heartfelt.report.layout.naming import MANY_QUESTIONS, coefficient, reliability_parts, system_names, why_missing
from heartfelt.report.layout.tables import CellValue
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import listed, number, percent, plural, spaced

NO_ANALYSIS = "the published ratings could not be analysed"
TRUST: Mapping[Level, tuple[str, ...]] = {
    "interval": ("alpha_interval", "icc1", "icc1k", "icc2", "icc2k", "split_half"),
    "ordinal": ("alpha_ordinal", "icc1", "icc1k", "icc2k", "split_half"),
    "nominal": ("alpha_nominal",),
}
"""The coefficients of reliability by level of measurement."""
MAIN = frozenset({"alpha_interval", "alpha_ordinal", "alpha_nominal", "icc1k", "icc2k"})
"""Those that a card shows."""
AGREED = ("alpha_ordinal", "fleiss_kappa", "gwet_ac1", "gwet_ac2", "exact_agreement", "leave_one_out")
CEILINGS = ("correlation", "within_cells", "rmse", "accuracy", "accuracy_smooth", "human", "cell_means")
FROM = ("from", "method")


def grids(release: Release) -> tuple[Grid, ...]:
    """Every table of the papers, in the order of the card."""
    return (
        raters_grid(release),
        screening_grid(release),
        ledger_grid(release),
        reliability_grid(release),
        ceiling_grid(release),
        systems_grid(release),
        labels_grid(release),
        splits_grid(release),
        anonymisation_grid(release),
    )


def write_tables(release: Release, folder: Path) -> None:
    """Write every table as Markdown and LaTeX into ``tables/``."""
    target = folder / "tables"
    target.mkdir(exist_ok=True)
    for grid in grids(release):
        write_text(target / f"{grid.name}.md", grid_markdown(grid))
        write_text(target / f"{grid.name}.tex", grid_latex(grid))


def _estimate_rows(subject: str, estimates: Mapping[str, Estimate]) -> Iterator[tuple[CellValue, ...]]:
    """A row per estimate: what it is of, its name, the value with its interval, what it was computed from, and how."""
    for name, estimate in estimates.items():
        yield subject, name, estimate, counts_words(estimate), method_words(estimate)


def _levels(analysis: Analysis) -> dict[str, Level]:
    return {row.question: row.level for row in analysis.summary.questions or ()}


def _named(part: object, names: tuple[str, ...]) -> dict[str, Estimate]:
    """The estimates that a part has, by the usual names of the coefficients."""
    values = {coefficient(name): getattr(part, name, None) for name in names}
    return {name: value for name, value in values.items() if isinstance(value, Estimate)}


def reliability_grid(release: Release, *, brief: bool = False) -> Grid:
    """Reliability of every question, agreement on categories, on pairs and of traces; ``brief`` for the main coefficients."""
    rows: list[tuple[CellValue, ...]] = []
    analysis, reason = release.analysis, NO_ANALYSIS
    if analysis is not None:
        reason = why_missing(analysis, "reliability", "there are no ratings of single stimuli")
        for name, estimates in _reliability(analysis, brief=brief):
            rows += _estimate_rows(spaced(name), estimates)
    return Grid(
        name="reliability",
        caption="Reliability and agreement of the ratings, with 95% intervals",
        columns=("question", "coefficient", "value", *FROM),
        rows=_unique(rows),
        why_empty=reason,
    )


def _reliability(analysis: Analysis, *, brief: bool) -> Iterator[tuple[str, Mapping[str, Estimate]]]:
    """The coefficients of every question: of single ratings, of categories, of comparisons, of traces."""
    levels, summary = _levels(analysis), analysis.summary
    for name, part in reliability_parts(analysis).items():
        names = TRUST[levels.get(name, "interval")]
        if not levels.get(name) and part.alpha_interval.is_missing:
            names = TRUST["nominal" if part.alpha_ordinal.is_missing else "ordinal"]
        yield name, _named(part, tuple(name for name in names if name in MAIN) if brief else names)
    for name, agreed in _agreement(analysis).items():
        estimates = _named(agreed, AGREED[1:2] if brief else AGREED)
        yield name, {key: estimate for key, estimate in estimates.items() if not estimate.is_missing}
    for comparison in summary.comparisons or ():
        if comparison.agreement is not None:
            alpha, two_answers = comparison.agreement.alpha, comparison.agreement.two_answers
            yield comparison.question, {"Krippendorff's alpha of choices": alpha, "two answers agree": two_answers}
    for trace in summary.traces or ():
        yield trace.question, {"concordance (CCC) of two raters": trace.pairwise}


def _unique(rows: list[tuple[CellValue, ...]]) -> tuple[tuple[CellValue, ...], ...]:
    """The rows question by question, without a coefficient that an earlier row gave for the same question."""
    first: dict[tuple[CellValue, ...], tuple[CellValue, ...]] = {}
    for row in rows:
        first.setdefault(row[:2], row)
    order = list(dict.fromkeys(row[0] for row in rows))
    return tuple(sorted(first.values(), key=lambda row: order.index(row[0])))


def _agreement(analysis: Analysis) -> Mapping[str, Agreement]:
    single, pooled = analysis.summary.agreement or {}, analysis.summary.agreement_pooled or {}
    return pooled if pooled and len(single) > MANY_QUESTIONS else single


def ceiling_grid(release: Release) -> Grid:
    rows: list[tuple[CellValue, ...]] = []
    analysis, reason = release.analysis, NO_ANALYSIS
    if analysis is not None:
        reason = why_missing(analysis, "reliability", "there are no ratings of single stimuli")
        for name, part in reliability_parts(analysis).items():
            rows += _estimate_rows(spaced(name), _ceilings(part.ceiling))
        for comparison in analysis.summary.comparisons or ():
            limits = {f"best {spaced(name)} to expect": limit for name, limit in comparison.ceilings.items()}
            rows += _estimate_rows(spaced(comparison.question), limits)
        for trace in analysis.summary.traces or ():
            courses = {"ceiling of concordance (CCC)": trace.ceiling, "what one rater reaches": trace.one_rater}
            rows += _estimate_rows(spaced(trace.question), courses)
    return Grid(
        name="ceiling",
        caption="The human ceiling: what a predictor that knew every stimulus's true value can expect, with 95% intervals",
        columns=("question", "limit", "value", *FROM),
        rows=tuple(rows),
        why_empty=reason,
    )


def _ceilings(part: Ceilings) -> Mapping[str, Estimate]:
    """The limits that could be estimated; where none could, why not."""
    ceilings = {name: estimate for name, estimate in _named(part, CEILINGS).items() if not estimate.is_missing}
    return ceilings or {coefficient("correlation"): part.correlation}


def systems_grid(release: Release) -> Grid:
    """Systems under every question: mean, deviation from what was intended, rank or strength."""
    analysis, why_empty = release.analysis, NO_ANALYSIS
    rows: list[tuple[CellValue, ...]] = []
    notes: list[str] = []
    if analysis is not None:
        why_empty = why_missing(analysis, "systems", "the stimuli are not of several systems")
        rows, notes = _system_rows(analysis), _system_notes(analysis)
    columns = (
        *("question", "system", "stimuli", "ratings", "mean", "strength", "deviation", "absolute deviation", "rank"),
    )
    used = [column for column in range(len(columns)) if not rows or any(row[column] is not None for row in rows)]
    return Grid(
        name="systems",
        caption="Systems, with 95% intervals",
        columns=tuple(columns[column] for column in used),
        rows=tuple(tuple(row[column] for column in used) for row in rows),
        notes=tuple(notes) if rows else (),
        why_empty=why_empty,
        decimals=2,
    )


def _system_rows(analysis: Analysis) -> list[tuple[CellValue, ...]]:
    """A row for every system with a mean, and for every one that was compared with others."""
    names = system_names(analysis.snapshot)
    rows = [_system_row(row, names) for row in analysis.summary.systems or () if not row.means.mean.is_missing]
    compared = [comparison for comparison in analysis.summary.comparisons or () if comparison.of == "system"]
    for comparison in compared:
        for contestant in comparison.contestants:
            strength = (None, contestant.answers, None, contestant.strength, None, None, contestant.rank)
            rows.append((spaced(comparison.question), names[contestant.name], *strength))
    return rows


def _system_notes(analysis: Analysis) -> list[str]:
    """How intervals are to be read, why means are missing, and what systems are ranked by."""
    systems = analysis.summary.systems or ()
    missing = [f"{spaced(row.question)}: {row.means.mean.why_missing}." for row in systems if row.means.mean.is_missing]
    ranked = [spaced(name) for name in dict.fromkeys(row.ranked_by for row in systems if row.rank is not None)]
    notes = ["Intervals take raters and stimuli as samples.", *dict.fromkeys(missing)]
    return [*notes, f"Ranked by {listed(ranked)}."] if ranked else notes


def _system_row(row: SystemMeans, names: Mapping[str, str]) -> tuple[CellValue, ...]:
    means = row.means
    deviation, absolute = (None if part.is_missing else part for part in (means.deviation, means.absolute_deviation))
    mean = (means.n_stimuli, means.n_ratings, means.mean, None, deviation, absolute, row.rank)
    return (spaced(row.question), names[row.system], *mean)


def labels_grid(release: Release) -> Grid:
    """The labels of every question: how many, how they were made, and how many ratings are behind each."""
    frozen = release.benchmark
    rows: list[tuple[CellValue, ...]] = []
    if frozen is not None:
        table = frozen.items.group_by("question", maintain_order=True).agg(
            pl.len().alias("labels"),
            pl.col("method").unique().sort().str.join(", ").alias("method"),
            pl.col("n").min().alias("low"),
            pl.col("n").median().alias("middle"),
            pl.col("n").max().alias("high"),
            pl.col("standard_error").median().alias("error"),
        )
        for row in table.iter_rows(named=True):
            spread = None
            if row["low"] is not None:
                spread = f"{number(row['low'])} to {number(row['high'])}, median {number(row['middle'], 0)}"
                spread = number(row["low"]) if row["low"] == row["high"] else spread
            error = None if row["error"] is None else round(row["error"], 3)
            rows.append((spaced(row["question"]), row["labels"], row["method"], spread, error))
        compared = frozen.choices.group_by("question", maintain_order=True).len("n")
        rows += [(spaced(name), count, "comparison of two stimuli", "1", None) for name, count in compared.iter_rows()]
    return Grid(
        name="labels",
        caption="Labels: one per stimulus and question, or per comparison",
        columns=("question", "labels", "method", "ratings per label", "median standard error"),
        rows=tuple(rows),
        why_empty=release.why_no_benchmark or "no label could be made",
    )


def splits_grid(release: Release) -> Grid:
    """The parts of the release, with what decided them and the hash of the assignment."""
    split, placed, frozen = split_of(release), placement(release), release.benchmark
    split_column = (
        pl.concat([frozen.items["split"], frozen.choices["split"]]) if frozen is not None else pl.Series("split", [""])
    )
    labelled = dict(split_column.drop_nulls().value_counts(name="n").iter_rows())
    rows: list[tuple[CellValue, ...]] = []
    for part in parts_of(placed, split):
        part_stimuli = placed.filter(pl.col("split") == part)
        labels: CellValue = "held out" if part == release.hold_out else labelled.get(part, 0)
        rows.append((part, part_stimuli["group"].n_unique(), part_stimuli.height, labels))
    together = "" if split.by == "stimulus" else f" (stimuli of one {split.by} stay together)"
    chosen = (
        "as published by the source" if split.by == SPLIT else f"divided by {split.by}{together}, seed {split.seed}"
    )
    hashes = f"Hash of the assignment: {assignment_hash(placed)}."
    benchmark = "" if frozen is None else f" Hash of the benchmark: {frozen.hash}."
    notes = (f"Stimuli are {chosen}. {hashes}{benchmark}", *(frozen.notes if frozen is not None else ()))
    return Grid(
        name="splits", caption="Splits", columns=("part", "groups", "stimuli", "labels"), rows=tuple(rows), notes=notes
    )


def raters_grid(release: Release) -> Grid:
    """What is published about the raters: how many gave each answer."""
    rows: list[tuple[CellValue, ...]] = []
    for fact in rater_facts(release):
        if fact.summary is not None:
            rows.append((fact.column, fact.about, fact.summary, None))
        rows += [(fact.column, fact.about, answer, count) for answer, count in fact.answers]
        if fact.missing:
            rows.append((fact.column, fact.about, "not given, or removed", fact.missing))
    return Grid(
        name="raters",
        caption="Raters as published",
        columns=("column", "about", "answer", "raters"),
        rows=tuple(rows),
        why_empty="nothing but an identifier is published about the raters",
    )


def screening_grid(release: Release) -> Grid:
    panel = release.panel
    rows: tuple[tuple[CellValue, ...], ...] = ()
    notes: tuple[str, ...] = ()
    if panel is not None:
        rules = panel.rules()
        rows = tuple(
            (rule.rule, rule.about, rule.action, rule.judged, rule.flagged, rule.not_judged)
            for rule in rules
            if rule.judged
        )
        idle = [rule.rule for rule in rules if not rule.judged]
        counts = panel.counts
        notes = (
            f"Policy '{panel.policy.name}': {plural(counts.flagged, 'rater')} of {number(counts.raters)} flagged by rules with"
            f" error control, {number(counts.dropped)} left out.",
            *([f"Rules that could judge nobody: {listed(idle, 20)}."] if idle else []),
        )
    return Grid(
        name="screening",
        caption="Screening of raters",
        columns=("rule", "what it looks for", "action", "raters judged", "flagged", "not judged"),
        rows=rows,
        notes=notes,
        why_empty="the raters were not screened, or are not known",
    )


def ledger_grid(release: Release) -> Grid:
    """Who and what was left out, and why."""
    rows = tuple((stage, subject, reason, count) for stage, subject, reason, count in left_out(release))
    return Grid(
        name="left-out",
        caption="Left out, and why",
        columns=("stage", "what", "why", "count"),
        rows=rows,
        why_empty="nothing was left out",
    )


def anonymisation_grid(release: Release) -> Grid:
    """What was done to the data before publishing, and what that cost."""
    rows: list[tuple[CellValue, ...]] = []
    for step in release.record.steps:
        where = f"{step.table}.{step.column}" if step.column else step.table
        lost = None if step.lost is None else percent(step.lost, 1)
        rows.append((step.about, where, step.rows or None, step.settings.get("emptied"), lost))
    return Grid(
        name="anonymisation",
        caption="Steps before publishing",
        columns=("step", "where", "rows changed", "cells emptied", "information lost"),
        rows=tuple(rows),
        notes=(f"k = {release.record.k}, l = {release.record.l}.",),
        why_empty="no step is recorded",
    )
