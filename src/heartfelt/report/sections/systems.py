"""How systems and intents differ: maps, deviations, slopes, quadrants, ranking, answers, and the tests behind them."""

from __future__ import annotations

from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.ordinal_results import OrdinalCheck
from heartfelt.analysis.results import (
    AnovaEffect,
    IntentMeans,
    Overlap,
    PairDifference,
    RatingModelEffect,
    SystemMeans,
)
from heartfelt.report.charts import Charts
from heartfelt.report.naming import effect, outcome, quadrant_look, system_names, why_missing
from heartfelt.report.page import Section, absent, figure_block, figure_blocks, folded, joined, side_by_side
from heartfelt.report.tables import MOST_ROWS, Columns, PValue, table_of
from heartfelt.wording import number


def maps(analysis: Analysis, charts: Charts) -> Section:
    """Where stimuli were perceived, and where they were meant to be."""
    stimuli = analysis.snapshot.stimuli
    playable = "found" in stimuli.columns and bool(stimuli["found"].any())
    lead = "Where raters placed each stimulus, and where it was meant to be."
    lead += " Select a dot to hear or see it." if playable else ""
    return Section(
        id="maps",
        title="Intended and perceived",
        lead=lead,
        html=figure_block("perceived-maps", charts),
        short="Maps",
    )


def deviations(analysis: Analysis, charts: Charts) -> Section:
    """How systems differ in what they convey."""
    html = joined(
        figure_blocks(charts, "deviation-maps", "deviation-by-system"),
        _anova(analysis),
        figure_block("slopes", charts),
        _systems(analysis),
        _pairwise(analysis),
        _mixed(analysis),
        _ordinal(analysis),
    )
    return Section(
        id="systems",
        title="How systems differ",
        lead="Deviation: perceived minus intended, in scale points.",
        html=html,
        short="Systems",
    )


def quadrants(analysis: Analysis, charts: Charts) -> Section:
    """Which intents come across."""
    html = joined(
        figure_blocks(charts, "absolute-deviation-by-quadrant", "absolute-deviation-by-system-and-quadrant"),
        side_by_side(figure_block("confusion", charts)),
        _overlap(analysis),
        _intents(analysis),
    )
    return Section(id="intents", title="Which intents come across", html=html, short="Intents")


def ranking(analysis: Analysis, charts: Charts) -> Section:
    """Systems in order, with the tests behind it."""
    tests = (_anova(analysis), _pairwise(analysis), _mixed(analysis), _ordinal(analysis))
    lead = "Systems in order of their mean; those that do not differ significantly (Holm) are marked."
    html = joined(figure_block("system-ranking", charts), *tests)
    return Section(id="systems", title="Which systems are ahead", lead=lead, html=html, short="Systems")


def answers(_: Analysis, charts: Charts) -> Section:
    """How often each answer was given."""
    html = figure_blocks(charts, "answers", "answers-by-system")
    return Section(id="answers", title="What raters answered", html=html, short="Answers")


def _rounded(value: float | None, decimals: int) -> float | None:
    return None if value is None else round(value, decimals)


def _degrees(row: AnovaEffect | RatingModelEffect | OrdinalCheck) -> str:
    return ", ".join(number(d, 0 if float(d).is_integer() else 1) for d in row.df or () if d is not None)


TESTED: Columns[AnovaEffect | RatingModelEffect] = {
    "question": lambda row: row.outcome,
    "of": lambda row: outcome(row.deviation),
    "model": lambda row: row.model.replace("*", "×"),
    "effect": lambda row: effect(row.effect),
    "df": _degrees,
    "F": lambda row: _rounded(row.f, 2),
    "p": lambda row: PValue(row.p),
}


def _anova(analysis: Analysis) -> Markup:
    """The analyses of variance, one row per effect."""
    columns: Columns[AnovaEffect] = {
        **TESTED,
        "η²": lambda row: _rounded(row.eta_squared, 4),
        "partial η²": lambda row: row.partial_eta_squared,
        "ω²": lambda row: _rounded(row.omega_squared, 4),
    }
    caption = "Analyses of variance of stimulus means, type II; η² is the share of all sums of squares"
    reason = why_missing(analysis, "anova", "nothing to compare")
    return table_of(caption, analysis.summary.anova, columns) or absent(f"No analysis of variance: {reason}.")


def _pairwise(analysis: Analysis) -> Markup:
    """Every pair that was compared, a table per family."""
    columns: Columns[PairDifference] = {
        "a": lambda pair: pair.a,
        "b": lambda pair: pair.b,
        "a less b": lambda pair: pair.difference,
        "p": lambda pair: PValue(pair.p),
        "significant": lambda pair: pair.significant,
    }
    pairs = analysis.summary.pairwise or ()
    families: dict[str, list[PairDifference]] = {}
    for pair in pairs:
        model = f" ({pair.model.replace('*', '×')})" if pair.model else ""
        about = f"Pairs of {pair.factor}s, {pair.outcome} {outcome(pair.deviation)}: {pair.method}{model}"
        families.setdefault(about, []).append(pair)
    most = max(MOST_ROWS // max(len(families), 1), 1)
    content = joined(*(table_of(about, family, columns, most=most) for about, family in families.items()))
    return folded(f"All {number(len(pairs))} pairwise comparisons", content)


def _mixed(analysis: Analysis) -> Markup:
    """Mixed models on the single ratings."""
    columns: Columns[RatingModelEffect] = {
        **TESTED,
        "variance of stimuli": lambda row: row.variances.get("stimulus"),
        "of raters": lambda row: row.variances.get("rater"),
        "of raters' tastes": lambda row: row.variances.get("rater x system"),
        "residual": lambda row: row.variances.get("residual"),
    }
    caption = "Mixed models of the single ratings: raters, stimuli and raters' tastes for systems are samples"
    content = table_of(caption, analysis.summary.mixed, columns)
    return folded("Mixed models on the single ratings", content)


def _ordinal(analysis: Analysis) -> Markup:
    """Whether the tests hold where scales are taken for ordered categories."""
    columns: Columns[OrdinalCheck] = {
        "question": lambda row: row.outcome,
        "df": _degrees,
        "F": lambda row: _rounded(row.f, 2),
        "p": lambda row: PValue(row.p),
        "p as numbers": lambda row: PValue(row.p_interval),
        "pairs decided alike": lambda row: f"{row.pairs_alike} of {row.pairs}" if row.pairs else "",
        "decided otherwise": lambda row: "; ".join(f"{a}, {b}" for a, b in row.changed),
        "left out because": lambda row: row.why_missing or "",
    }
    content = table_of("Cumulative logit models of the same ratings", analysis.summary.ordinal, columns)
    return folded("Ordinal check: scales as ordered categories", content)


def _systems(analysis: Analysis) -> Markup:
    names = system_names(analysis.snapshot)
    columns: Columns[SystemMeans] = {
        "system": lambda row: names[row.system],
        "question": lambda row: row.question,
        "mean": lambda row: row.means.mean,
        "deviation": lambda row: row.means.deviation,
        "absolute deviation": lambda row: row.means.absolute_deviation,
        "without rating noise": lambda row: row.means.absolute_deviation_corrected,
        "stimuli": lambda row: row.means.n_stimuli,
        "ratings": lambda row: row.means.n_ratings,
    }
    content = table_of("Systems, with 95% intervals", analysis.summary.systems, columns)
    return folded("Means and deviations of every system", content)


def _intents(analysis: Analysis) -> Markup:
    columns: Columns[IntentMeans] = {
        "intent": lambda row: row.intent,
        "question": lambda row: row.question,
        "reference": lambda row: row.reference,
        "mean": lambda row: row.means.mean,
        "deviation": lambda row: row.means.deviation,
        "absolute deviation": lambda row: row.means.absolute_deviation,
    }
    return folded("Every intent", table_of("Intents, with 95% intervals", analysis.summary.intents, columns))


def _overlap(analysis: Analysis) -> Markup:
    names, look = system_names(analysis.snapshot), quadrant_look(analysis.snapshot.study)
    columns: Columns[Overlap] = {
        "system": lambda row: names[row.system],
        "a": lambda row: look.short(row.a),
        "b": lambda row: look.short(row.b),
        "overlap": lambda row: row.overlap,
    }
    caption = "Overlap of the 95% ellipses of two quadrants (shared area over joint area)"
    return folded("Overlap of the quadrants' ellipses", table_of(caption, analysis.summary.overlap, columns))
