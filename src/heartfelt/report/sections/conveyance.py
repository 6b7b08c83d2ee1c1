"""Whether stimuli convey what was intended: maps, deviations, slopes, quadrants, and the tests behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from heartfelt.report.blocks import absent, figure_block, folded, joined
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.page import Section
from heartfelt.report.quadrants import quadrant_look
from heartfelt.report.reading import Analysis, rows, system_names, why
from heartfelt.report.tables import Chance, table
from heartfelt.report.words import effect, measure, number

Charts = Mapping[str, Chart | Absent]


def maps(analysis: Analysis, charts: Charts) -> Section:
    """Where stimuli were perceived, and where they should be."""
    sounds = (
        any(analysis.snapshot.stimuli["found"].fill_null(False))
        if "found" in analysis.snapshot.stimuli.columns
        else False
    )
    lead = "Where raters put each stimulus, and where it was meant to be." + (
        " Select a dot to hear or see it." if sounds else ""
    )
    return Section(
        "maps",
        "Intended and perceived",
        lead,
        html=joined(figure_block("perceived-maps", charts)),
        short="Maps",
    )


def systems(analysis: Analysis, charts: Charts) -> Section:
    """How systems differ in what they convey."""
    parts = [
        figure_block("deviation-maps", charts),
        figure_block("deviation-by-system", charts),
        anova_table(analysis),
        figure_block("slopes", charts),
        _systems_table(analysis),
        pairwise_table(analysis),
        mixed_table(analysis),
    ]
    lead = (
        "Deviation is what raters perceived less what was intended, in scale points; the intervals take raters and"
        " stimuli as samples."
    )
    return Section("systems", "How systems differ", lead, html=joined(*parts), short="Systems")


def quadrants(analysis: Analysis, charts: Charts) -> Section:
    """Which intents come across."""
    parts = [
        figure_block("absolute-deviation-by-quadrant", charts),
        figure_block("absolute-deviation-by-system-and-quadrant", charts),
        Markup('<div class="pair">\n{}\n</div>').format(figure_block("confusion", charts)),
        _overlap_table(analysis),
        _intents_table(analysis),
    ]
    return Section("intents", "Which intents come across", html=joined(*parts), short="Intents")


def anova_table(analysis: Analysis) -> Markup:
    """The analyses of variance, one row per effect."""
    found = rows(analysis, "anova")
    if not found:
        return absent(f"No analysis of variance: {why(analysis, 'anova', 'nothing to compare')}.")
    lines = []
    for row in found:
        df = row.get("df") or []
        p = row.get("p")
        lines.append(
            [
                row.get("outcome"),
                measure(row.get("deviation")),
                str(row.get("model")).replace("*", "×"),
                effect(str(row.get("effect"))),
                ", ".join(number(d, 0) for d in df if d is not None),
                _places(row.get("F"), 2),
                None if p is None else Chance(p),
                _places(row.get("eta_squared"), 4),
                row.get("partial_eta_squared"),
                _places(row.get("omega_squared"), 4),
            ]
        )
    columns = ["question", "of", "model", "effect", "df", "F", "p", "η²", "partial η²", "ω²"]
    caption = (
        "Analyses of variance of stimulus means, type II. η² is the share of the sum of the table's sums of squares,"
        " residual included."
    )
    return table(caption, columns, lines, more="all are in summary.json")


def _places(found: Any, places: int) -> float | None:
    found = found.get("value") if isinstance(found, Mapping) else found
    return None if found is None else round(float(found), places)


def pairwise_table(analysis: Analysis) -> Markup:
    """Every pair that was compared."""
    found = rows(analysis, "pairwise")
    if not found:
        return Markup("")
    lines = [
        [
            row.get("outcome"),
            measure(row.get("deviation")),
            row.get("factor"),
            row.get("method"),
            row.get("model"),
            row.get("a"),
            row.get("b"),
            {"value": row.get("difference"), "low": row.get("low"), "high": row.get("high")},
            None if row.get("p") is None else Chance(row["p"]),
            row.get("significant"),
        ]
        for row in found
    ]
    columns = ["question", "of", "factor", "method", "model", "a", "b", "a less b", "p", "significant"]
    content = table("Pairwise comparisons", columns, lines, more="all are in summary.json")
    return folded(f"All {number(len(lines))} pairwise comparisons", content, printed=False)


def mixed_table(analysis: Analysis) -> Markup:
    """Mixed models on the single ratings."""
    found = rows(analysis, "mixed")
    if not found:
        return Markup("")
    lines = []
    for row in found:
        spread = row.get("variances") or {}
        lines.append(
            [
                row.get("outcome"),
                measure(row.get("deviation")),
                row.get("model"),
                effect(str(row.get("effect"))),
                ", ".join(
                    number(d, 0 if float(d).is_integer() else 1) for d in row.get("df") or [] if d is not None
                ),
                _places(row.get("F"), 2),
                None if row.get("p") is None else Chance(row["p"]),
                *(spread.get(name) for name in ("stimulus", "rater", "residual")),
            ]
        )
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
    content = table(
        "Mixed models on single ratings, raters and stimuli crossed at random",
        columns,
        lines,
        more="all are in summary.json",
    )
    return folded("Mixed models on the single ratings", content, printed=False)


def _systems_table(analysis: Analysis) -> Markup:
    found = rows(analysis, "systems")
    if not found:
        return Markup("")
    names = system_names(analysis)
    lines = [
        [
            names.get(str(row.get("system")), str(row.get("system"))),
            row.get("question"),
            row.get("mean"),
            row.get("deviation"),
            row.get("absolute_deviation"),
            row.get("absolute_deviation_corrected"),
            row.get("n_stimuli"),
            row.get("n_ratings"),
        ]
        for row in found
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


def _intents_table(analysis: Analysis) -> Markup:
    found = rows(analysis, "intents")
    if not found:
        return Markup("")
    lines = [
        [
            row.get("intent"),
            row.get("question"),
            row.get("reference"),
            row.get("mean"),
            row.get("deviation"),
            row.get("absolute_deviation"),
        ]
        for row in found
    ]
    columns = ["intent", "question", "reference", "mean", "deviation", "absolute deviation"]
    return folded("Every intent", table("Intents, with 95% intervals", columns, lines))


def _overlap_table(analysis: Analysis) -> Markup:
    found = rows(analysis, "overlap")
    if not found:
        return Markup("")
    names, look = system_names(analysis), quadrant_look(analysis.snapshot.study)
    lines = [
        [
            names.get(str(row.get("system")), str(row.get("system"))),
            look.abbreviated(str(row.get("a"))),
            look.abbreviated(str(row.get("b"))),
            row.get("overlap"),
        ]
        for row in found
    ]
    content = table(
        "Overlap of the 95% ellipses of two quadrants (shared area over joint area)",
        ["system", "a", "b", "overlap"],
        lines,
    )
    return folded("Overlap of the quadrants' ellipses", content)
