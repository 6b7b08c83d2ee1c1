"""The raters: whose answers stand out and why, what leaving them out would change, and how groups of raters differ."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.arms import ARM, arms_text
from heartfelt.analysis.parallel_answers import ParallelAnswers, PresentedTrial, parallel_answers
from heartfelt.analysis.raters import parallel_words
from heartfelt.analysis.summary import (
    GroupDifference,
    GroupFigures,
    SensitivityFigure,
    SensitivityPairs,
)
from heartfelt.analysis.verdict_raters import judged_words
from heartfelt.report.charts import Charts
from heartfelt.report.naming import coefficient, outcome, system_names, why_missing
from heartfelt.report.page import Section, absent, figure_block, folded, joined, paragraph
from heartfelt.report.tables import CellValue, Columns, PValue, table, table_of
from heartfelt.screening.panel import RuleSummary
from heartfelt.wording import number, plural, spaced

LEAD = "Screening points to answers to look at; it does not say why they are so."
GROUPS_LEAD = (
    "Differences are over the stimuli that both groups rated (Holm over all comparisons of a question)."
)
MOST_GROUPS = 12
MAX_LISTED = 40


def raters(analysis: Analysis, charts: Charts) -> Section:
    """Screening, parallel answers and sensitivity."""
    compared = bool(analysis.summary.screening.dropped_by_default)
    html = joined(
        _count(analysis),
        figure_block("raters", charts),
        _flags(analysis),
        _rules(analysis),
        _parallel(analysis),
        figure_block("sensitivity", charts, look="flow", numbers=not compared),
        *((_sides(analysis), _sensitivity(analysis)) if compared else ()),
        _held_out(analysis),
        _changed_pairs(analysis) if compared else Markup(""),
    )
    return Section(id="raters", title="The raters", lead=LEAD, html=html, short="Raters")


def _count(analysis: Analysis) -> Markup:
    screening = analysis.summary.screening
    flagged, left_out = set(screening.flagged), screening.dropped_by_default
    verb = "is" if len(flagged) == 1 else "are"
    total = plural(analysis.summary.counts.raters, "rater")
    words = f"{number(len(flagged))} of {total} {verb} flagged by a rule with error control"
    words += "." if flagged else f": {judged_words(analysis.summary)}."
    only_by_standards = set(screening.flagged_by_standards) - flagged
    if only_by_standards:
        words += f" {number(len(only_by_standards))} more stand out only by an ITU standard, a limit of the study or bias."
    if screening.collusion:
        together = sum(map(len, screening.collusion))
        words += f" {plural(len(screening.collusion), 'group')} of raters ({number(together)} raters) answered in parallel"
        words += " about different stimuli"
        numbers = parallel_words(screening.parallel)
        words += f": {numbers}." if numbers else "."
    words += f" The default policy excludes {len(left_out) or 'nobody'}"
    words += f": {', '.join(left_out)}." if 0 < len(left_out) <= MAX_LISTED else "."
    return paragraph(words)


def _flags(analysis: Analysis) -> Markup:
    flags = analysis.panel.flags.filter(pl.col("flagged") & pl.col("rater").is_not_null())
    if not flags.height:
        return absent("No rule flags a rater.")
    order = {name: index for index, name in enumerate(analysis.panel.ranking["rater"])}
    rows = sorted(
        flags.iter_rows(named=True), key=lambda row: (order.get(row["rater"], len(order)), row["rule"])
    )
    names = ("rater", "rule", "question", "statistic", "value", "threshold")
    lines = [[*(row[name] for name in names), PValue(row["p"]), row["words"]] for row in rows]
    columns = ["rater", "rule", "question", "statistic", "value", "limit", "p", "in words"]
    content = table("Flags, the rater with the most evidence first", columns, lines)
    return folded(f"All {number(len(lines))} flags: who, why, by which statistic", content)


def _rules(analysis: Analysis) -> Markup:
    columns: Columns[RuleSummary] = {
        "rule": lambda rule: rule.rule,
        "looks at": lambda rule: rule.about,
        "raters judged": lambda rule: rule.judged,
        "flagged": lambda rule: rule.flagged,
        "chance of flagging random answers": lambda rule: rule.power,
        "then": lambda rule: rule.action,
        "not judged": lambda rule: rule.not_judged or None,
        "not judged because (raters)": lambda rule: (
            "; ".join(f"{reason} ({number(count)})" for reason, count in [*rule.why_not_judged.items()][:3])
            or None
        ),
    }
    caption = f"Rules of the policy '{analysis.panel.policy.name}'"
    content = table_of(caption, list(analysis.summary.screening.rules.values()), columns)
    return folded("The rules that were applied", content)


def _parallel(analysis: Analysis) -> Markup:
    groups = analysis.summary.screening.collusion
    aligned = [parallel_answers(analysis.all_ratings, group) for group in groups[:MOST_GROUPS]]
    strips = [_strips(analysis, index, part) for index, part in enumerate(aligned, 1) if part.raters]
    if not groups:
        return Markup("")
    about = Markup(
        "<h3>Answers that run in parallel</h3>\n<p>One rater per line, answers in the order given to different stimuli."
        " A shade is a value, a bar below it the same answer as the first rater's, a gap a trial without a partner.</p>"
    )
    note = f"The first {MOST_GROUPS} of {len(groups)} groups; all are in summary.json."
    return joined(about, *strips, absent(note) if len(groups) > MOST_GROUPS else Markup(""))


def _strips(analysis: Analysis, group_number: int, aligned: ParallelAnswers) -> Markup:
    label = f"Group {group_number}: {', '.join(aligned.raters)}"
    label += f" and {aligned.left_out} more" if aligned.left_out else ""
    blocks = []
    for question in aligned.questions:
        answers = [t.answers[question] for line in aligned.lines for t in line if t and question in t.answers]
        low, high = analysis.all_ratings.study.scale_of(question).bounds() or (min(answers), max(answers))
        lines = [
            _strip(rater, question, line, aligned.lines[0], (low, (high - low) or 1.0))
            for rater, line in zip(aligned.raters, aligned.lines, strict=True)
        ]
        blocks.append(
            Markup(
                '<div class="wide" role="region" tabindex="0" aria-label="{0}, {1}"><table class="sequences">'
                "<caption>{1}</caption><tbody>\n{2}\n</tbody></table></div>"
            ).format(label, question, joined(*lines))
        )
    return folded(label, joined(*blocks))


def _strip(
    rater: str,
    question: str,
    line: Sequence[PresentedTrial | None],
    first: Sequence[PresentedTrial | None],
    span: tuple[float, float],
) -> Markup:
    cells = []
    for trial, first_trial in zip(line, first, strict=True):
        if trial is None or question not in trial.answers:
            cells.append(Markup('<td class="gap"></td>'))
            continue
        value = trial.answers[question]
        shade = (value - span[0]) / span[1]
        same = line is not first and first_trial is not None and first_trial.answers.get(question) == value
        classes = " ".join(name for name, holds in (("dark", shade > 0.6), ("same", same)) if holds)
        cells.append(
            Markup('<td{} style="--s:{}" title="{}: {}">{}</td>').format(
                Markup(' class="{}"').format(classes) if classes else "",
                f"{0.06 + 0.94 * shade:.2f}",
                trial.place,
                trial.stimulus,
                f"{value:g}",
            )
        )
    return Markup('<tr><th scope="row">{}</th>{}</tr>').format(rater, Markup("").join(cells))


def _sides(analysis: Analysis) -> Markup:
    """How much is behind each side of the comparison."""
    before, after = analysis.summary.sensitivity_counts.with_all, analysis.summary.sensitivity_counts.without
    counts = (
        f"{number(getattr(after, name))} of {number(getattr(before, name))} {name}"
        for name in ("raters", "answers", "stimuli", "labels")
    )
    return paragraph(f"Without the raters flagged by the default policy: {'; '.join(counts)}.")


def _sensitivity(analysis: Analysis) -> Markup:
    columns: Columns[SensitivityFigure] = {
        "figure": lambda row: coefficient(row.figure),
        "question": lambda row: row.question,
        "all raters": lambda row: row.with_all,
        "without them": lambda row: row.without,
    }
    content = table_of("Headline figures", analysis.summary.sensitivity, columns)
    return folded("With and without, as a table", content)


def _held_out(analysis: Analysis) -> Markup:
    """Alpha with and without, on stimuli the raters were not chosen on."""
    crossfit = analysis.summary.crossfit
    if crossfit is None or not crossfit.questions:
        return Markup("")
    sensitivity = {(row.question, row.figure): row for row in analysis.summary.sensitivity or ()}
    lines: list[list[CellValue]] = []
    for row in crossfit.questions:
        same = sensitivity.get((row.question, row.figure))
        both = (same.with_all, same.without) if same else (None, None)
        lines.append([row.question, coefficient(row.figure), *both, row.with_all, row.without])
    columns = ["question", "figure", "all raters", "without", "all raters, held out", "without, held out"]
    left_out = " and ".join(map(str, crossfit.left_out))
    caption = (
        f"Agreement on held-out stimuli: raters chosen on one half of the stimuli ({left_out} excluded), alpha measured on the"
        " other; means of both halves"
    )
    return table(caption, columns, lines)


def _changed_pairs(analysis: Analysis) -> Markup:
    """Pairs that differ on one side only."""
    columns: Columns[SensitivityPairs] = {
        "question": lambda row: row.question,
        "of": lambda row: outcome(row.deviation),
        "factor": lambda row: row.factor,
        "method": lambda row: row.method,
        "model": lambda row: row.model,
        "pairs": lambda row: row.pairs,
        "differ, all raters": lambda row: row.with_all,
        "differ, without": lambda row: row.without,
        "pairs that change": lambda row: (
            "; ".join(" and ".join(pair) for pair in (*row.only_with_all, *row.only_without)) or None
        ),
    }
    content = table_of("Significant pairs", analysis.summary.sensitivity_pairs, columns)
    return folded("Pairs that differ, with and without", content)


def rater_groups(analysis: Analysis, charts: Charts) -> Section | None:
    """Groups of raters (``--by``), where a column of the raters was named."""
    groups = analysis.summary.by
    if groups is None:
        reason = why_missing(analysis, "by", "--by")
        html = absent(f"No groups: {reason}.")
        return (
            None
            if "--by" in reason
            else Section(id="rater-groups", title="Groups of raters", lead="", html=html, short="Groups")
        )
    counted = ", ".join(f"{row.group} ({plural(row.raters, 'rater')})" for row in groups.groups)
    words = f"By {spaced(groups.column)}: {counted}."
    if groups.column == ARM:
        words = " ".join(arms_text(analysis.all_ratings)) or words
    if groups.not_stated:
        words += f" {plural(groups.not_stated, 'rater')} did not state it."
    if groups.cut_at:
        cuts = ", ".join(number(cut, 1) for cut in groups.cut_at)
        words += f" Numbers were cut at their tertiles ({cuts})."
    columns: Columns[GroupFigures] = {
        "question": lambda row: spaced(row.question),
        "group": lambda row: row.group,
        "raters": lambda row: row.n_raters,
        "ratings": lambda row: row.n_ratings,
        "mean": lambda row: row.mean,
        "alpha": lambda row: row.alpha.estimate,
        "ICC(2,1), one rater": lambda row: row.icc2,
        "ICC(2,k)": lambda row: row.icc2k,
    }
    names = system_names(analysis.snapshot)
    compared: Columns[GroupDifference] = {
        "question": lambda row: spaced(row.question),
        "stimuli": lambda row: names[row.system],
        "a": lambda row: row.a,
        "b": lambda row: row.b,
        "a less b": lambda row: row.difference,
        "p (Holm)": lambda row: PValue(row.p),
        "significant": lambda row: row.significant if row.p is not None else None,
    }
    overall = [row for row in groups.differences if row.system == "all"]
    by_system = [row for row in groups.differences if row.system != "all"]
    html = joined(
        paragraph(words),
        figure_block("rater-groups", charts),
        table_of("Each group by itself, with 95% intervals", groups.rows, columns),
        table_of("Differences between groups on the same stimuli", overall, compared),
        folded(
            "Differences between groups, system by system",
            table_of("Differences by system", by_system, compared),
        ),
    )
    return Section(id="rater-groups", title="Groups of raters", lead=GROUPS_LEAD, html=html, short="Groups")
