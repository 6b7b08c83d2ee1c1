"""The raters: whose answers stand out and why, what leaving them out would change, how groups differ, and their questionnaires."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from heartfelt.analysis import Analysis
from heartfelt.analysis.data.arms import ARM, arms_text
from heartfelt.analysis.panel.parallel_answers import ParallelAnswers, PresentedTrial, parallel_answers
from heartfelt.analysis.panel.screening import parallel_words
from heartfelt.analysis.summary import RaterGroups
from heartfelt.analysis.text.sentences import template_text
from heartfelt.analysis.text.verdict_raters import judged_words
from heartfelt.report.charts import Charts
from heartfelt.report.layout.naming import coefficient, system_names, why_missing
from heartfelt.report.layout.page import Section
from heartfelt.report.layout.tables import CellValue, PValue
from heartfelt.report.layout.templates import section
from heartfelt.screening.panel import RuleSummary
from heartfelt.wording import number

MOST_GROUPS = 12


def raters(analysis: Analysis, charts: Charts) -> Section:
    """Screening, parallel answers and sensitivity."""
    summary = analysis.summary
    before, after = summary.sensitivity_counts.with_all, summary.sensitivity_counts.without
    counts = (
        f"{number(getattr(after, name))} of {number(getattr(before, name))} {name}"
        for name in ("raters", "answers", "stimuli", "labels")
    )
    aligned = [parallel_answers(analysis.all_ratings, group) for group in summary.screening.collusion[:MOST_GROUPS]]
    return section(
        "sections/raters",
        "raters",
        charts,
        summary=summary,
        screening=summary.screening,
        policy=analysis.panel.policy.name,
        count=_count(analysis),
        flags=_flags(analysis),
        reasons_of=_reasons,
        strips=[_strips(analysis, index, group) for index, group in enumerate(aligned, 1) if group.raters],
        most_groups=MOST_GROUPS,
        compared=bool(summary.screening.dropped_by_default),
        sides="; ".join(counts),
        held_out=_held_out(analysis),
    )


def _count(analysis: Analysis) -> str:
    """How many raters are flagged, by which kinds of rules, and what the default policy makes of them."""
    screening = analysis.summary.screening
    return template_text(
        "report/sections/raters",
        "flagged",
        screening=screening,
        raters=analysis.summary.counts.raters,
        judged=judged_words(analysis.summary),
        standards_only=len(set(screening.flagged_by_standards) - set(screening.flagged)),
        parallel=parallel_words(screening.parallel),
    )


def _flags(analysis: Analysis) -> list[list[CellValue]]:
    """A line for each flag, the rater with the most evidence first."""
    flags = analysis.panel.flags.filter(pl.col("flagged") & pl.col("rater").is_not_null())
    order = {name: index for index, name in enumerate(analysis.panel.ranking["rater"])}
    rows = sorted(flags.iter_rows(named=True), key=lambda row: (order.get(row["rater"], len(order)), row["rule"]))
    names = ("rater", "rule", "question", "statistic", "value", "threshold")
    return [[*(row[name] for name in names), PValue(row["p"]), row["words"]] for row in rows]


def _reasons(rule: RuleSummary) -> str | None:
    reasons = [*rule.why_not_judged.items()][:3]
    return "; ".join(f"{reason} ({number(count)})" for reason, count in reasons) or None


def _strips(analysis: Analysis, group_number: int, aligned: ParallelAnswers) -> dict[str, object]:
    label = f"Group {group_number}: {', '.join(aligned.raters)}"
    label += f" and {aligned.left_out} more" if aligned.left_out else ""
    questions = {}
    for question in aligned.questions:
        answers = [t.answers[question] for line in aligned.lines for t in line if t and question in t.answers]
        low, high = analysis.all_ratings.study.scale_of(question).bounds() or (min(answers), max(answers))
        questions[question] = [
            (rater, _strip(question, line, aligned.lines[0], (low, (high - low) or 1.0)))
            for rater, line in zip(aligned.raters, aligned.lines, strict=True)
        ]
    return {"label": label, "questions": questions}


def _strip(
    question: str,
    line: Sequence[PresentedTrial | None],
    first: Sequence[PresentedTrial | None],
    span: tuple[float, float],
) -> list[dict[str, object] | None]:
    """A rater's answers in order; None for a trial without one."""
    cells: list[dict[str, object] | None] = []
    for trial, first_trial in zip(line, first, strict=True):
        if trial is None or question not in trial.answers:
            cells.append(None)
            continue
        value = trial.answers[question]
        shade = (value - span[0]) / span[1]
        same = line is not first and first_trial is not None and first_trial.answers.get(question) == value
        classes = " ".join(name for name, holds in (("dark", shade > 0.6), ("same", same)) if holds)
        look = {"classes": classes, "shade": f"{0.06 + 0.94 * shade:.2f}", "value": f"{value:g}"}
        cells.append({**look, "place": trial.place, "stimulus": trial.stimulus})
    return cells


def _held_out(analysis: Analysis) -> list[list[CellValue]]:
    """Alpha with and without, on stimuli the raters were not chosen on."""
    crossfit = analysis.summary.crossfit
    if crossfit is None:
        return []
    sensitivity = {(row.question, row.figure): row for row in analysis.summary.sensitivity or ()}
    lines: list[list[CellValue]] = []
    for row in crossfit.questions:
        same = sensitivity.get((row.question, row.figure))
        both = (same.with_all, same.without) if same else (None, None)
        lines.append([row.question, coefficient(row.figure), *both, row.with_all, row.without])
    return lines


def rater_groups(analysis: Analysis, charts: Charts) -> Section | None:
    """Groups of raters (``--by``), where a column of the raters was named."""
    groups, reason = analysis.summary.by, why_missing(analysis, "by", "--by")
    if groups is None and "--by" in reason:
        return None
    return section(
        "sections/rater_groups",
        "rater-groups",
        charts,
        groups=groups,
        reason=reason,
        words=groups and _groups_words(analysis, groups),
        names=system_names(analysis.snapshot),
    )


def _groups_words(analysis: Analysis, groups: RaterGroups) -> str:
    arms = " ".join(arms_text(analysis.all_ratings)) if groups.column == ARM else ""
    return template_text("report/sections/raters", "groups", groups=groups, arms=arms)


def instruments(analysis: Analysis, _: Charts) -> Section | None:
    """The scores of questionnaires that score themselves, where the study has any: distribution, consistency and norms."""
    scores = analysis.summary.instruments
    if not scores:
        return None
    norms = [(row, norm) for row in scores for norm in row.norms]
    cited = [f"{used.name}: {used.citation}" for used in analysis.snapshot.study.instruments.values()]
    citations = list(dict.fromkeys(cited))
    return section("sections/instruments", "instruments", scores=scores, norms=norms, citations=citations)
