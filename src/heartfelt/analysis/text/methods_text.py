"""A methods and a results paragraph with the numbers filled in, to paste into a paper and edit."""

from __future__ import annotations

from collections.abc import Iterator

from heartfelt.analysis.findings.parts import ALL, AnovaEffect
from heartfelt.analysis.summary import HeldOutAlpha, SensitivityFigure, Summary
from heartfelt.analysis.text import categories as category_text
from heartfelt.analysis.text import verdict_comparisons
from heartfelt.analysis.text.highlights import cell_words, covered, held_constant, main_questions
from heartfelt.analysis.text.sentences import template_lines
from heartfelt.analysis.text.verdict_comparisons import noun
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Study
from heartfelt.study.parts.instrument import question_id, score_column
from heartfelt.wording import sentence

MOST_SHOWN = 3
MOST_EFFECTS = 12
MOST_NAMED = 8
CLAUSES = ("reliability", "tests", "comparisons", "categories")
"""The macros of ``methods.txt.j2`` that make one sentence; all others make a paragraph."""


def methods(summary: Summary, study: Study) -> str:
    """How the figures were made."""
    parts = (
        collected(summary, study),
        *instrument_words(summary, study),
        *(method_words(block, summary) for block in ("verified", "screened", *CLAUSES)),
        f"Analyses were run with heartfelt {summary.heartfelt} (seed {summary.seed}, data {summary.hash[:12]}).",
    )
    return " ".join(filter(None, parts))


def method_words(macro: str, summary: Summary, **values: object) -> str:
    """What a macro of ``methods.txt.j2`` says; nothing where it does not apply."""
    lines = template_lines("analysis/methods", macro, summary=summary, **values)
    return sentence(lines) if macro in CLAUSES else " ".join(lines)


def collected(summary: Summary, study: Study) -> str:
    """How many ratings of what there are."""
    per = {int(n): items for n, items in summary.counts.ratings_per_item.items()}
    per_item = None
    if per:
        mean = sum(n * items for n, items in per.items()) / sum(per.values())
        per_item = {"low": min(per), "high": max(per), "mean": mean}
    return method_words("collected", summary, study=study, noun=noun(summary), per_item=per_item, most_named=MOST_NAMED)


def instrument_words(summary: Summary, study: Study) -> Iterator[str]:
    """Which published questionnaires raters filled in, when, how they were scored, and how consistent the scores are."""
    for key, instrument in study.instruments.items():
        first = question_id(key, instrument.items[0].id)
        columns = {score_column(key, name) for name in instrument.subscales}
        alphas = [score.alpha.value for score in summary.instruments or () if score.column in columns]
        yield from template_lines(
            "analysis/methods",
            "instrument",
            instrument=instrument,
            before=any(question.id == first for question in study.asked_in("before")),
            alphas=sorted(value for value in alphas if value is not None),
        )


def results(summary: Summary) -> str:
    """What the analysis found."""
    parts = (
        _reliability(summary),
        _effects(summary),
        _slopes(summary),
        _rankings(summary),
        verdict_comparisons.sentences(summary),
        *(category_text.sentences(result, reasons=False) for result in summary.categories or ()),
        _screening(summary),
    )
    return " ".join(text for part in parts for text in part)


def _reliability(summary: Summary) -> Iterator[str]:
    levels = {row.question: row.level for row in summary.questions or ()}
    cell = cell_words(summary)
    for name, trust in main_questions(summary).items():
        alphas = {"interval": trust.alpha_interval, "ordinal": trust.alpha_ordinal, "nominal": trust.alpha_nominal}
        order = dict.fromkeys((levels.get(name, "interval"), *alphas))
        level = next((level for level in order if not alphas[level].is_missing), None)
        if level is not None:
            values = {"name": name, "level": level, "alpha": alphas[level], "trust": trust, "cell": cell}
            yield from template_lines("analysis/results", "reliability", **values)


def _effects(summary: Summary) -> list[str]:
    chosen = covered(summary)[0]
    rows = [
        row
        for row in summary.anova or ()
        if row.outcome in chosen and row.f is not None and _is_main(row) and not held_constant(row, summary)
    ]
    return [line for row in rows[:MOST_EFFECTS] for line in template_lines("analysis/results", "effect", row=row)]


def _is_main(row: AnovaEffect) -> bool:
    """Whether a paper reports it: the first effect of a model without interactions, and every interaction."""
    first = row.effect in ("system", "quadrant") and row.effect == row.model.split(" + ")[0]
    return ":" in row.effect or ("*" not in row.model and first)


def _slopes(summary: Summary) -> Iterator[str]:
    slopes = [row for row in summary.slopes or () if row.system == ALL and not row.slope.is_missing]
    for line in slopes[:MOST_SHOWN]:
        yield from template_lines("analysis/results", "slope", line=line)


def _rankings(summary: Summary) -> Iterator[str]:
    """For studies of opinion, the ranking of systems by mean rating."""
    for name in covered(summary)[0] if summary.kind != "conveyance" else ():
        rows = [row for row in summary.systems or () if row.question == name and row.rank is not None]
        rows.sort(key=lambda row: row.rank or 0)
        if len(rows) > 1:
            yield from template_lines("analysis/results", "ranking", name=name, best=rows[0], last=rows[-1])


def _screening(summary: Summary) -> list[str]:
    screening, raters = summary.screening, summary.counts.raters
    if not raters or not screening.flagged:
        return []
    moved, by_default = _moved_alphas(summary)[:MOST_SHOWN], len(screening.dropped_by_default)
    values = {"flagged": len(screening.flagged), "raters": raters, "by_default": by_default}
    return template_lines("analysis/results", "screening", moved=moved, **values)


def _moved_alphas(summary: Summary) -> list[tuple[SensitivityFigure, HeldOutAlpha | None]]:
    """The alphas with and without the raters in question, each with its value on held-out stimuli."""
    held_out = {row.question: row for row in (summary.crossfit.questions if summary.crossfit else ())}
    return [
        (row, held_out.get(row.question or ""))
        for row in summary.sensitivity or ()
        if row.figure == "alpha_interval" and row.question and _is_known(row.without)
    ]


def _is_known(estimate: Estimate | float | None) -> bool:
    return isinstance(estimate, Estimate) and not estimate.is_missing
