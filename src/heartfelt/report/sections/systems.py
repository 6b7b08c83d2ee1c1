"""How systems and intents differ: maps, deviations, slopes, quadrants, ranking, answers, and the tests behind them."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.results import Means
from heartfelt.report.charts import Charts
from heartfelt.report.page import Section, absent, figure_block, folded, joined, side_by_side
from heartfelt.report.quadrants import quadrant_look
from heartfelt.report.reading import system_names, why_missing
from heartfelt.report.tables import CellValue, PValue, table
from heartfelt.report.terms import effect, outcome
from heartfelt.wording import number

IN_SUMMARY = "all are in summary.json"


def maps(analysis: Analysis, charts: Charts) -> Section:
    """Where stimuli were perceived, and where they were meant to be."""
    stimuli = analysis.snapshot.stimuli
    playable = "found" in stimuli.columns and bool(stimuli["found"].any())
    lead = "Where raters placed each stimulus, and where it was meant to be."
    lead += " Select a dot to hear or see it." if playable else ""
    return Section("maps", "Intended and perceived", lead, figure_block("perceived-maps", charts), "Maps")


def deviations(analysis: Analysis, charts: Charts) -> Section:
    """How systems differ in what they convey."""
    parts = [
        figure_block("deviation-maps", charts),
        figure_block("deviation-by-system", charts),
        _anova(analysis),
        figure_block("slopes", charts),
        _systems(analysis),
        _pairwise(analysis),
        _mixed(analysis),
    ]
    lead = (
        "Deviation is what raters perceived minus what was intended, in scale points; the intervals take raters and"
        " stimuli as samples."
    )
    return Section("systems", "How systems differ", lead, joined(*parts), "Systems")


def quadrants(analysis: Analysis, charts: Charts) -> Section:
    """Which intents come across."""
    parts = [
        figure_block("absolute-deviation-by-quadrant", charts),
        figure_block("absolute-deviation-by-system-and-quadrant", charts),
        side_by_side(figure_block("confusion", charts)),
        _overlap(analysis),
        _intents(analysis),
    ]
    return Section("intents", "Which intents come across", html=joined(*parts), short="Intents")


def ranking(analysis: Analysis, charts: Charts) -> Section:
    """Systems in order, with the tests behind it."""
    parts = [figure_block("system-ranking", charts), _anova(analysis), _pairwise(analysis), _mixed(analysis)]
    lead = (
        "Systems in order of their mean. The intervals take both raters and stimuli as samples; systems that cannot be"
        " told apart are marked."
    )
    return Section("systems", "Which systems are ahead", lead, joined(*parts), "Systems")


def answers(charts: Charts) -> Section:
    """How often each answer was given."""
    parts = [figure_block("answers", charts), figure_block("answers-by-system", charts)]
    return Section("answers", "What raters answered", html=joined(*parts), short="Answers")


def _anova(analysis: Analysis) -> Markup:
    """The analyses of variance, one row per effect."""
    effects = analysis.summary.anova
    if not effects:
        return absent(f"No analysis of variance: {why_missing(analysis, 'anova', 'nothing to compare')}.")
    lines = [
        [
            one.outcome,
            outcome(one.deviation),
            one.model.replace("*", "×"),
            effect(one.effect),
            _degrees(one.df),
            _rounded(one.f, 2),
            PValue(one.p),
            _rounded(one.eta_squared, 4),
            one.partial_eta_squared,
            _rounded(one.omega_squared, 4),
        ]
        for one in effects
    ]
    columns = ["question", "of", "model", "effect", "df", "F", "p", "η²", "partial η²", "ω²"]
    caption = (
        "Analyses of variance of stimulus means, type II. η² is the share of the total of the table's sums of squares,"
        " residual included."
    )
    return table(caption, columns, lines, more=IN_SUMMARY)


def _rounded(value: float | None, places: int) -> float | None:
    return None if value is None else round(value, places)


def _degrees(df: Sequence[float | None] | None) -> str:
    return ", ".join(number(d, 0 if float(d).is_integer() else 1) for d in df or () if d is not None)


def _pairwise(analysis: Analysis) -> Markup:
    """Every pair that was compared."""
    pairs = analysis.summary.pairwise
    if not pairs:
        return Markup("")
    lines = [
        [
            pair.outcome,
            outcome(pair.deviation),
            pair.factor,
            pair.method,
            pair.model,
            pair.a,
            pair.b,
            pair.difference,
            PValue(pair.p),
            pair.significant,
        ]
        for pair in pairs
    ]
    columns = ["question", "of", "factor", "method", "model", "a", "b", "a less b", "p", "significant"]
    content = table("Pairwise comparisons", columns, lines, more=IN_SUMMARY)
    return folded(f"All {number(len(lines))} pairwise comparisons", content, printed=False)


def _mixed(analysis: Analysis) -> Markup:
    """Mixed models on the single ratings."""
    effects = analysis.summary.mixed
    if not effects:
        return Markup("")
    lines = [
        [
            one.outcome,
            outcome(one.deviation),
            one.model,
            effect(one.effect),
            _degrees(one.df),
            _rounded(one.f, 2),
            PValue(one.p),
            *(one.variances.get(name) for name in ("stimulus", "rater", "residual")),
        ]
        for one in effects
    ]
    columns = [
        "question",
        "of",
        "model",
        "effect",
        "df",
        "F",
        "p",
        "variance of stimuli",
        "of raters",
        "residual",
    ]
    caption = "Mixed models on single ratings, with raters and stimuli as crossed random effects"
    content = table(caption, columns, lines, more=IN_SUMMARY)
    return folded("Mixed models on the single ratings", content, printed=False)


def _deviation_cells(means: Means) -> list[CellValue]:
    return [means.mean, means.deviation, means.absolute_deviation]


def _systems(analysis: Analysis) -> Markup:
    rows = analysis.summary.systems
    if not rows:
        return Markup("")
    names = system_names(analysis)
    lines = [
        [
            names.get(one.system, one.system),
            one.question,
            *_deviation_cells(one.means),
            one.means.absolute_deviation_corrected,
            one.means.n_stimuli,
            one.means.n_ratings,
        ]
        for one in rows
    ]
    columns = [
        "system",
        "question",
        "mean",
        "deviation",
        "absolute deviation",
        "without rating noise",
        "stimuli",
        "ratings",
    ]
    return folded(
        "Means and deviations of every system", table("Systems, with 95% intervals", columns, lines)
    )


def _intents(analysis: Analysis) -> Markup:
    rows = analysis.summary.intents
    if not rows:
        return Markup("")
    lines = [[one.intent, one.question, one.reference, *_deviation_cells(one.means)] for one in rows]
    columns = ["intent", "question", "reference", "mean", "deviation", "absolute deviation"]
    return folded("Every intent", table("Intents, with 95% intervals", columns, lines))


def _overlap(analysis: Analysis) -> Markup:
    rows = analysis.summary.overlap
    if not rows:
        return Markup("")
    names, look = system_names(analysis), quadrant_look(analysis.snapshot.study)
    lines: list[list[CellValue]] = [
        [names.get(one.system, one.system), look.short(one.a), look.short(one.b), one.overlap] for one in rows
    ]
    caption = "Overlap of the 95% ellipses of two quadrants (shared area over joint area)"
    return folded(
        "Overlap of the quadrants' ellipses", table(caption, ["system", "a", "b", "overlap"], lines)
    )
