"""Who answered in a way worth a look, why, and what leaving them out would change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from markupsafe import Markup

from heartfelt.analysis.raters import parallel_words
from heartfelt.report.blocks import absent, figure_block, folded, joined
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.copies import SideBySide, side_by_side
from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis, inside, rows
from heartfelt.report.tables import Chance, table
from heartfelt.report.words import coefficient, measure, number, plural

LEAD = (
    "Screening points at answers worth a look; it does not say why they are so. A logging fault can look like a copied"
    " answer, and a rater who reads a scale upside down like one who does not listen. Nobody is left out unless the"
    " policy says so."
)
MOST_GROUPS = 12


def raters(analysis: Analysis, charts: Mapping[str, Chart | Absent]) -> Section:
    """Screening, parallel answers and sensitivity."""
    parts = [
        _count(analysis),
        figure_block("raters", charts),
        _flagged(analysis),
        _rules(analysis),
        _copies(analysis),
        figure_block("sensitivity", charts, look="flow"),
        _sides(analysis),
        _sensitivity(analysis),
        _held_out(analysis),
        _changed_pairs(analysis),
    ]
    return Section("raters", "The raters", LEAD, html=joined(*parts), short="Raters")


def _count(analysis: Analysis) -> Markup:
    flagged = inside(analysis, "screening", "flagged") or {}
    groups = inside(analysis, "screening", "collusion") or []
    left_out = inside(analysis, "screening", "dropped_by_default") or []
    total = int(inside(analysis, "counts", "raters") or 0)
    verb = "is" if len(flagged) == 1 else "are"
    words = f"{number(len(flagged))} of {plural(total, 'rater')} {verb} flagged by at least one rule with error control."
    others = set(inside(analysis, "screening", "flagged_by_standards") or {}) - set(flagged)
    if others:
        words += f" {number(len(others))} more stand out by an ITU standard, a limit of the study or bias only, which says"
        words += " nothing about care."
    if groups:
        together = sum(map(len, groups))
        words += f" {plural(len(groups), 'group')} of raters ({number(together)} raters) answered in parallel about"
        words += " different stimuli"
        figures = parallel_words(analysis.summary.screening.parallel)
        words += f": {figures}." if figures else "."
    words += f" The default policy would leave out {len(left_out) or 'nobody'}"
    words += f": {', '.join(map(str, left_out))}." if 0 < len(left_out) <= 40 else "."
    return Markup("<p>{}</p>").format(words)


def _flagged(analysis: Analysis) -> Markup:
    found = analysis.panel.flags.filter(pl.col("flagged") & pl.col("rater").is_not_null())
    if not found.height:
        return absent("No rule flags a rater.")
    order = {name: place for place, name in enumerate(analysis.panel.ranking["rater"].to_list())}
    lines = [
        [
            row["rater"],
            row["rule"],
            row["question"],
            row["statistic"],
            row["value"],
            row["threshold"],
            None if row["p"] is None else Chance(row["p"]),
            row["words"],
        ]
        for row in sorted(
            found.iter_rows(named=True), key=lambda row: (order.get(row["rater"], len(order)), row["rule"])
        )
    ]
    columns = ["rater", "rule", "question", "statistic", "value", "limit", "p", "in words"]
    content = table(
        "Flags, the rater with the most evidence first", columns, lines, more="all are in ledger.csv"
    )
    return folded(f"All {number(len(lines))} flags: who, why, by which statistic", content)


def _rules(analysis: Analysis) -> Markup:
    lines: list[list[Any]] = [
        [
            row["rule"],
            row["about"],
            row["judged"],
            row["flagged"],
            row["action"],
            row["not_judged"] or None,
            "; ".join(f"{why} ({number(raters)})" for why, raters in [*row["why_not_judged"].items()][:3])
            or None,
        ]
        for row in (inside(analysis, "screening", "rules") or {}).values()
    ]
    if not lines:
        return Markup("")
    content = table(
        f"Rules of the policy '{analysis.panel.policy.name}'",
        ["rule", "looks at", "raters judged", "flagged", "then", "not judged", "not judged because (raters)"],
        lines,
    )
    return folded("The rules that were applied", content, printed=False)


def _copies(analysis: Analysis) -> Markup:
    groups = inside(analysis, "screening", "collusion") or []
    if not groups:
        return Markup("")
    parts = [
        Markup(
            "<h3>Answers that run in parallel</h3>\n<p>Each line is one rater's answers in the order given; a shade stands"
            " for a value, and a bar below it for the same answer as the first rater's. The stimuli were different ones."
            " Where a trial has no partner, there is a gap.</p>"
        )
    ]
    for place, group in enumerate(groups[:MOST_GROUPS], 1):
        made = side_by_side(analysis.all_ratings, [str(name) for name in group])
        if made.raters:
            parts.append(_strips(analysis, place, made))
    if len(groups) > MOST_GROUPS:
        parts.append(absent(f"The first {MOST_GROUPS} of {len(groups)} groups; all are in summary.json."))
    return Markup("\n").join(parts)


def _strips(analysis: Analysis, place: int, made: SideBySide) -> Markup:
    label = f"Group {place}: {', '.join(made.raters)}" + (
        f" and {made.left_out} more" if made.left_out else ""
    )
    blocks = []
    for question in made.questions:
        values = [
            t.answers[question]
            for line in made.lines
            for t in line
            if t is not None and question in t.answers
        ]
        low, high = analysis.all_ratings.study.scale_of(question).bounds() or (min(values), max(values))
        lines = Markup("\n").join(
            _strip(name, question, line, made.lines[0], (low, (high - low) or 1.0))
            for name, line in zip(made.raters, made.lines, strict=True)
        )
        blocks.append(
            Markup(
                '<div class="wide" role="region" tabindex="0" aria-label="{0}, {1}"><table class="sequences">'
                "<caption>{1}</caption><tbody>\n{2}\n</tbody></table></div>"
            ).format(label, question, lines)
        )
    return folded(label, Markup("\n").join(blocks), printed=False)


def _strip(rater: str, question: str, line: Any, first: Any, span: tuple[float, float]) -> Markup:
    cells = []
    for trial, other in zip(line, first, strict=True):
        if trial is None or question not in trial.answers:
            cells.append(Markup('<td class="gap"></td>'))
            continue
        value = trial.answers[question]
        shade = (value - span[0]) / span[1]
        same = line is not first and other is not None and other.answers.get(question) == value
        classes = " ".join(name for name, holds in (("dark", shade > 0.6), ("same", same)) if holds)
        cells.append(
            Markup('<td{}style="--s:{}" title="{}: {}">{}</td>').format(
                Markup(' class="{}" ').format(classes) if classes else Markup(" "),
                f"{0.06 + 0.94 * shade:.2f}",
                trial.place,
                trial.stimulus,
                f"{value:g}",
            )
        )
    return Markup('<tr><th scope="row">{}</th>{}</tr>').format(rater, Markup("").join(cells))


def _sensitivity(analysis: Analysis) -> Markup:
    found = rows(analysis, "sensitivity")
    if not found or not inside(analysis, "screening", "dropped_by_default"):
        return Markup("")
    lines = [
        [coefficient(str(row.get("figure"))), row.get("question"), row.get("with_all"), row.get("without")]
        for row in found
    ]
    return folded(
        "With and without, as a table",
        table("Headline figures", ["figure", "question", "all raters", "without them"], lines),
    )


def _sides(analysis: Analysis) -> Markup:
    """How much stands behind each side."""
    found = inside(analysis, "sensitivity_counts")
    if not isinstance(found, Mapping) or not inside(analysis, "screening", "dropped_by_default"):
        return Markup("")
    a, b = (found.get(side) or {} for side in ("with_all", "without"))
    words = "; ".join(
        f"{number(b.get(key))} of {number(a.get(key))} {key}"
        for key in ("raters", "answers", "stimuli", "labels")
        if key in a
    )
    return Markup("<p>Without them: {}.</p>").format(words)


def _held_out(analysis: Analysis) -> Markup:
    """Alpha with and without, on stimuli the raters were not chosen on."""
    found = inside(analysis, "crossfit", "questions") or []
    if not found:
        return Markup("")
    here = {(row.get("question"), row.get("figure")): row for row in rows(analysis, "sensitivity")}
    lines = []
    for row in found:
        same = here.get((row["question"], row["figure"])) or {}
        lines.append(
            [
                row["question"],
                coefficient(row["figure"]),
                same.get("with_all"),
                same.get("without"),
                row["with_all"],
                row["without"],
            ]
        )
    columns = ["question", "figure", "all raters", "without", "all raters, held out", "without, held out"]
    left_out = " and ".join(map(str, inside(analysis, "crossfit", "left_out") or []))
    caption = (
        "Agreement rises in part because raters are chosen by how they agree. Held out: raters were chosen on one half of the"
        f" stimuli (leaving out {left_out}) and alpha was measured on the other; means of both halves"
    )
    return table(caption, columns, lines)


def _changed_pairs(analysis: Analysis) -> Markup:
    """Pairs that differ on one side only."""
    lines = [
        [
            row.get("question"),
            measure(row.get("deviation")),
            row.get("factor"),
            row.get("method"),
            row.get("model"),
            row.get("pairs"),
            row.get("with_all"),
            row.get("without"),
            "; ".join(
                " and ".join(map(str, pair))
                for key in ("only_with_all", "only_without")
                for pair in row.get(key) or []
            )
            or None,
        ]
        for row in rows(analysis, "sensitivity_pairs")
    ]
    if not lines or not inside(analysis, "screening", "dropped_by_default"):
        return Markup("")
    columns = [
        "question",
        "of",
        "factor",
        "method",
        "model",
        "pairs",
        "differ, all raters",
        "differ, without",
        "pairs that change",
    ]
    return folded(
        "Pairs that differ, with and without", table("Significant pairs", columns, lines), printed=False
    )
