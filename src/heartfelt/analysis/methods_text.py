"""A methods and a results paragraph with the numbers filled in, to paste into a paper and edit."""

from __future__ import annotations

from collections.abc import Iterator

from heartfelt.analysis import category_text, verdict_comparisons
from heartfelt.analysis.highlights import cell_words, covered, f_test, held_constant, main_questions
from heartfelt.analysis.prose import block_lines
from heartfelt.analysis.results import ALL
from heartfelt.analysis.summary import Summary
from heartfelt.analysis.verdict_comparisons import noun
from heartfelt.stats.estimate import FOR_RATERS, Estimate
from heartfelt.study import Study
from heartfelt.study.instrument import question_id, score_column
from heartfelt.wording import interval, listed, number, plural, sentence, share

MOST_SHOWN = 3
MOST_EFFECTS = 12
MOST_NAMED = 8
CLAUSES = ("reliability", "tests", "comparisons", "categories")
"""The blocks of ``methods.txt.j2`` that make one sentence; all others make a paragraph."""


def methods(summary: Summary, study: Study) -> str:
    """How the figures were made."""
    parts = (
        collected(summary, study),
        *instrument_words(summary, study),
        *(method_words(block, summary) for block in ("verified", "screened", *CLAUSES)),
        f"Analyses were run with heartfelt {summary.heartfelt} (seed {summary.seed}, data {summary.hash[:12]}).",
    )
    return " ".join(filter(None, parts))


def method_words(block: str, summary: Summary, **values: object) -> str:
    """What a block of ``methods.txt.j2`` says; nothing where it does not apply."""
    lines = block_lines(
        "methods.txt.j2", block, summary=summary, for_raters=FOR_RATERS[summary.future_raters], **values
    )
    return sentence(lines) if block in CLAUSES else " ".join(lines)


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
        when = "Before" if any(question.id == first for question in study.asked_in("before")) else "After"
        names = [
            f"{rule.name or name} ({rule.score} of {plural(len(rule.items), 'item')})"
            for name, rule in instrument.subscales.items()
        ]
        columns = {score_column(key, name) for name in instrument.subscales}
        alphas = [score.alpha.value for score in summary.instruments or () if score.column in columns]
        computed_alphas = sorted(value for value in alphas if value is not None)
        alpha = ""
        if computed_alphas:
            ends = dict.fromkeys(number(value, 2) for value in (computed_alphas[0], computed_alphas[-1]))
            alpha = f"; Cronbach's alpha {' to '.join(ends)}"
        yield (
            f"{when} the stimuli, raters filled in the {instrument.name}"
            f" ({plural(len(instrument.items), 'item')}), scored as {listed(names, 20)}{alpha}."
        )


def _comparisons(summary: Summary) -> Iterator[str]:
    yield from verdict_comparisons.sentences(summary)


def _categories(summary: Summary) -> Iterator[str]:
    for result in summary.categories or ():
        yield from category_text.sentences(result, reasons=False)


def results(summary: Summary) -> str:
    """What the analysis found."""
    parts = (_reliability, _effects, _systems, _comparisons, _categories, _screening)
    return " ".join(text for part in parts for text in part(summary))


def _reliability(summary: Summary) -> Iterator[str]:
    levels = {row.question: row.level for row in summary.questions or ()}
    for name, trust in main_questions(summary).items():
        alphas = {"interval": trust.alpha_interval, "ordinal": trust.alpha_ordinal, "nominal": trust.alpha_nominal}
        order = dict.fromkeys((levels.get(name, "interval"), *alphas))
        level = next((level for level in order if not alphas[level].is_missing), None)
        if level is None:
            continue
        text = f"For {name}, Krippendorff's alpha ({level}) was {interval(alphas[level], bare=True)}"
        if not trust.icc1k.is_missing:
            text += f", ICC(1,k) {interval(trust.icc1k, bare=True)}"
        top, within = trust.ceiling, trust.ceiling.within_cells
        best = top.accuracy if top.correlation.is_missing else top.correlation
        if best is not None and not best.is_missing:
            text += f", and the ceiling {interval(best, bare=True)}"
        if within is not None and not within.is_missing and cell_words(summary):
            text += f" ({interval(within, bare=True)} within the same {cell_words(summary)})"
        yield f"{text}."


def _effects(summary: Summary) -> list[str]:
    out = []
    chosen = covered(summary)[0]
    for row in summary.anova or ():
        main_effect = "*" not in row.model and row.effect in ("system", "quadrant")
        wanted = (main_effect and row.effect == row.model.split(" + ")[0]) or ":" in row.effect
        if row.outcome in chosen and wanted and row.f is not None and not held_constant(row, summary):
            outcome_words = "mean rating" if row.deviation == "value" else f"{row.deviation} deviation"
            name = row.effect.replace(":", " x ")
            out.append(f"The effect of {name} on {row.outcome} ({outcome_words}) was {f_test(row)}.")
    return out[:MOST_EFFECTS]


def _systems(summary: Summary) -> Iterator[str]:
    """Slopes; and for studies of opinion the ranking of systems by mean rating."""
    slopes = [row for row in summary.slopes or () if row.system == ALL and not row.slope.is_missing]
    for line in slopes[:MOST_SHOWN]:
        yield f"The slope of perceived on intended {line.question} was {interval(line.slope, bare=True)}."
    if summary.kind == "conveyance":
        return
    for name in covered(summary)[0]:
        rows = [row for row in summary.systems or () if row.question == name and row.rank is not None]
        rows.sort(key=lambda row: row.rank or 0)
        if len(rows) > 1:
            best, last = rows[0], rows[-1]
            text = f"On {name}, {best.system} ranked first ({interval(best.means.mean, 2)})"
            text += f", not shown to differ from {listed(best.tied_with)}," if best.tied_with else ""
            yield f"{text} and {last.system} last ({interval(last.means.mean, 2)})."


def _screening(summary: Summary) -> Iterator[str]:
    screening, raters = summary.screening, summary.counts.raters
    flagged = len(screening.flagged)
    if not raters or not flagged:
        return
    text = f"{flagged} of {plural(raters, 'rater')} {'was' if flagged == 1 else 'were'} flagged"
    if screening.dropped_by_default:
        text += f"; without the {len(screening.dropped_by_default)} that the default policy would leave out"
        held_out = {row.question: row for row in (summary.crossfit.questions if summary.crossfit else ())}
        moved = []
        for row in summary.sensitivity or ():
            if row.figure != "alpha_interval" or not isinstance(row.without, Estimate) or not row.question:
                continue
            if not row.without.is_missing:
                held_out_row = held_out.get(row.question)
                words = f"alpha of {row.question} became {share(row.without.value)}"
                words += (
                    f" ({share(held_out_row.without)} on stimuli the raters were not chosen on)" if held_out_row else ""
                )
                moved.append(words)
        text += f" {listed(moved[:MOST_SHOWN])}" if moved else " nothing could be compared"
    yield f"{text}."
