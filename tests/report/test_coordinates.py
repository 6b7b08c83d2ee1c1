"""Figures for print put every number where it belongs: coordinates of what Matplotlib draws against the summary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Rectangle

from heartfelt.analysis import Analysis
from heartfelt.report import plot
from heartfelt.report.figures import FIGURES
from tests.analysis.made import summary_of


def drawn(name: str, analysis: Analysis) -> Figure:
    return plot(analysis, name)


def rows(analysis: Analysis, part: str, **where: Any) -> list[dict[str, Any]]:
    return [row for row in summary_of(analysis)[part] if all(row[key] == value for key, value in where.items())]


def dots(axes: Axes) -> list[tuple[float, float]]:
    """The places of scattered marks."""
    return [
        (float(x), float(y))
        for group in axes.collections
        if isinstance(group, PathCollection)
        for x, y in np.asarray(group.get_offsets())
    ]


def segments(axes: Axes) -> list[list[tuple[float, float]]]:
    """The ends of the intervals."""
    return [
        [(float(x), float(y)) for x, y in line]
        for group in axes.collections
        if isinstance(group, LineCollection)
        for line in group.get_segments()
    ]


def near(found: Any, expected: Any) -> None:
    assert np.asarray(found) == pytest.approx(np.asarray(expected), rel=1e-9, abs=1e-9)


def test_slopes_stand_at_their_values_with_their_intervals(conveyance: Analysis) -> None:
    figure = drawn("slopes", conveyance)
    assert [axes.get_title() for axes in figure.axes] == ["(a) valence", "(b) arousal"]
    for axes, question in zip(figure.axes, ("valence", "arousal"), strict=True):
        known = [row["slope"] for row in rows(conveyance, "slopes", question=question)]
        near(dots(axes), [(place, each["value"]) for place, each in enumerate(known)])
        near(segments(axes), [[(k, each["low"]), (k, each["high"])] for k, each in enumerate(known)])
        low, high = axes.get_ylim()
        assert low < min(0.0, *(each["low"] for each in known))
        assert high > max(1.0, *(each["high"] for each in known))
        across = sorted(float(np.asarray(line.get_ydata())[0]) for line in axes.lines)
        assert across == [0.0, 1.0]
        assert [text.get_text() for text in axes.texts] == ["as intended", "no relation"]


def test_brackets_join_the_pairs_that_differ(conveyance: Analysis) -> None:
    figure = drawn("deviation-by-system", conveyance)
    chart: Any = FIGURES["deviation-by-system"].chart(conveyance)
    seen = 0
    for axes, panel in zip(figure.axes, chart.to_json()["panels"], strict=True):
        joined = [line for line in axes.lines if len(np.asarray(line.get_xdata())) == 4]
        spans = sorted((float(x[0]), float(x[2])) for x in (np.asarray(line.get_xdata()) for line in joined))
        assert spans == sorted((mark["a"], mark["b"]) for mark in panel["brackets"])
        tops = [float(np.asarray(line.get_ydata())[1]) for line in joined]
        assert all(top > max(row["high"] for row in panel["rows"]) for top in tops)
        assert len(set(tops)) == len(tops)
        assert axes.get_ylim()[1] > max(tops, default=-np.inf)
        assert sorted(text.get_text() for text in axes.texts) == sorted(m["stars"] for m in panel["brackets"])
        seen += len(joined)
    assert seen > 0


def test_ceilings_are_bars_from_zero(conveyance: Analysis) -> None:
    figure = drawn("ceiling", conveyance)
    for axes, question in zip(figure.axes, ("valence", "arousal"), strict=True):
        part = summary_of(conveyance)["reliability"][question]["ceiling"]
        bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        labels = [label.get_text() for label in axes.get_yticklabels()] or [""]
        upright = axes.get_xlim()[0] < 0
        lengths = [bar.get_height() if upright else bar.get_width() for bar in bars]
        near(lengths[0], part["correlation"]["value"])
        near(lengths[-1], part["human"]["value"])
        assert len(lengths) == 2 + len(part["by_system"])
        assert (axes.get_ylim() if upright else axes.get_xlim()) == (0.0, 1.0)
        assert labels


def test_a_ranking_lies_in_order_with_bars_beside_ties(opinion: Analysis) -> None:
    figure = drawn("system-ranking", opinion)
    chart: Any = FIGURES["system-ranking"].chart(opinion)
    for axes, panel, question in zip(figure.axes, chart.to_json()["panels"], ("impression", "alignment"), strict=False):
        known = sorted(rows(opinion, "systems", question=question), key=lambda row: row["rank"])
        near(dots(axes), [(row["mean"]["value"], k) for k, row in enumerate(known)])
        near(segments(axes), [[(row["mean"]["low"], k), (row["mean"]["high"], k)] for k, row in enumerate(known)])
        assert axes.get_ylim() == (5.6, -0.6)
        alongside = [np.asarray(line.get_ydata()) for line in axes.lines]
        near(alongside, [(first - 0.3, last + 0.3) for first, last in panel["ties"]])


@pytest.mark.slow
def test_a_map_has_dots_crosses_stars_and_ellipses_in_place(conveyance: Analysis) -> None:
    figure = drawn("perceived-maps", conveyance)
    labels = conveyance.labels
    for axes in figure.axes:
        system = axes.get_title()
        mine = labels.filter(labels["system"] == system).sort("stimulus")
        across = mine.filter(mine["question"] == "valence")["value"].round(3).to_list()
        up = mine.filter(mine["question"] == "arousal")["value"].round(3).to_list()
        points = dots(axes)
        near(points[: len(across)], list(zip(across, up, strict=True)))
        crosses = points[len(across) : len(across) + 12]
        references = {
            (intent.reference["valence"], intent.reference["arousal"]) for intent in conveyance.snapshot.study.intents
        }
        near(sorted(crosses), sorted(references))
        assert len(points) == len(across) + 12 + 4
        filled = [patch for patch in axes.patches if isinstance(patch, Ellipse)]
        held = rows(conveyance, "ellipses", system=system)
        assert len(filled) == 2 * len(held)
        for each, outline in zip(held, filled[1::2], strict=True):
            near(outline.get_center(), each["centre"])
            near((outline.width / 2, outline.height / 2), each["semi_axes"])
            near(np.radians(outline.angle), each["angle"])
        near(axes.get_xlim(), (1 - 0.32, 9 + 0.32))


def test_deviation_maps_place_systems_and_quadrants(conveyance: Analysis) -> None:
    figure = drawn("deviation-maps", conveyance)
    systems = {(row["system"], row["question"]): row["deviation"] for row in summary_of(conveyance)["systems"]}
    names = sorted({name for name, _ in systems})
    expected = [(systems[name, "valence"]["value"], systems[name, "arousal"]["value"]) for name in names]
    near(sorted(dots(figure.axes[0])), sorted(expected))
    ends = [tuple(np.asarray(line.get_xdata())) for line in figure.axes[0].lines]
    for name in names:
        held = systems[name, "valence"]
        assert any(end == pytest.approx((held["low"], held["high"])) for end in ends)
    assert [axes.get_title() for axes in figure.axes] == ["(a) systems", "(b) quadrants"]
    widths = [np.diff(axes.get_xlim())[0] for axes in figure.axes]
    heights = [np.diff(axes.get_ylim())[0] for axes in figure.axes]
    near(widths, heights)


def test_the_curve_passes_where_spearman_and_brown_say(conveyance: Analysis) -> None:
    (axes,) = drawn("reliability-by-raters", conveyance).axes
    single = summary_of(conveyance)["reliability"]["valence"]["reliability_with"]["1"]
    (line,) = [each for each in axes.lines if each.get_label() == "valence"]
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert list(x) == list(range(1, len(x) + 1))
    near(y, x * single["value"] / (1 + (x - 1) * single["value"]))
    band = next(group for group in axes.collections if isinstance(group, PolyCollection))
    corners = {(round(float(a), 9), round(float(b), 9)) for a, b in np.asarray(band.get_paths()[0].vertices)}
    for k in (1, len(x)):
        for side in ("low", "high"):
            grown = k * single[side] / (1 + (k - 1) * single[side])
            assert (float(k), round(grown, 9)) in corners
    counts = {int(n): k for n, k in summary_of(conveyance)["counts"]["ratings_per_item"].items()}
    mean = sum(n * k for n, k in counts.items()) / sum(counts.values())
    upright = [np.asarray(each.get_xdata()) for each in axes.lines if each.get_linestyle() == ":"]
    assert any(each[0] == pytest.approx(mean) for each in upright)
    needed = summary_of(conveyance)["reliability"]["valence"]["raters_needed"]
    marks = [each for each in axes.lines if each.get_marker() == "o"]
    places = {
        (int(a), float(b))
        for mark in marks
        for a, b in zip(np.asarray(mark.get_xdata()), np.asarray(mark.get_ydata()), strict=True)
    }
    for target in ("0.8", "0.9"):
        if needed[target] is not None and needed[target] <= len(x):
            assert (needed[target], float(target)) in places


def test_columns_are_as_high_as_the_counts(conveyance: Analysis, opinion: Analysis) -> None:
    (axes,) = drawn("ratings-per-item", conveyance).axes
    counts = summary_of(conveyance)["counts"]["ratings_per_item"]
    heights = [int(bar.get_height()) for bar in axes.patches if isinstance(bar, Rectangle)]
    assert [height for height in heights if height] == [counts[n] for n in sorted(counts, key=int)]
    for axes, question in zip(drawn("answers", opinion).axes, ("impression", "alignment"), strict=False):
        (row,) = rows(opinion, "distributions", question=question, system="all")
        counted = {answer["value"]: answer["n"] for answer in row["answers"]}
        total = sum(counted.values())
        expected = [100 * counted.get(float(value), 0) / total for value in range(1, 6)]
        near([bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle)], expected)


def test_a_heatmap_prints_the_share_of_each_cell(conveyance: Analysis) -> None:
    (axes,) = drawn("confusion", conveyance).axes
    held = summary_of(conveyance)["quadrants"]["confusion"]
    shown = {(int(text.get_position()[0]), int(text.get_position()[1])): text.get_text() for text in axes.texts}
    for i, line in enumerate(held["proportions"]):
        for j, share in enumerate(line[: len(held["proportions"])]):
            assert shown[j, i] == ("–" if share is None else f"{100 * share:.0f}%")
    (cells,) = [group for group in axes.collections if isinstance(group, PolyCollection)]
    shades = np.asarray(cells.get_facecolor())[:, :3]
    assert len(shades) == len(shown)
    blue = np.array([0x00, 0x72, 0xB2]) / 255
    share = held["proportions"][0][0]
    assert shades[0] == pytest.approx(1 + (blue - 1) * share, abs=0.004)


@pytest.mark.slow
def test_before_and_after_lie_beside_each_other(conveyance: Analysis) -> None:
    figure = drawn("sensitivity", conveyance)
    (axes,) = [ax for ax in figure.axes if ax.get_title() == "Reliability"]
    names = [label.get_text() for label in axes.get_yticklabels()]
    at = names.index("Krippendorff's alpha (interval), valence")
    (row,) = rows(conveyance, "sensitivity", figure="alpha_interval", question="valence")
    before, after = axes.lines[0], axes.lines[1]
    near(
        (np.asarray(before.get_xdata())[at], np.asarray(before.get_ydata())[at]), (row["with_all"]["value"], at - 0.16)
    )
    near((np.asarray(after.get_xdata())[at], np.asarray(after.get_ydata())[at]), (row["without"]["value"], at + 0.16))
    ends = segments(axes)
    expected = [(row["with_all"]["low"], at - 0.16), (row["with_all"]["high"], at - 0.16)]
    assert any(np.allclose(line, expected) for line in ends)


def test_raters_stand_at_information_and_bias(conveyance: Analysis) -> None:
    (axes,) = drawn("raters", conveyance).axes
    flags = conveyance.panel.flags.drop_nulls(["rater", "value"])
    points = set()
    for rater in flags["rater"].unique().to_list():
        own = flags.filter(flags["rater"] == rater)
        message = own.filter(own["rule"] == "informativeness")["value"]
        bias = own.filter(own["rule"] == "bias")["value"]
        if len(message) and len(bias):
            points.add((round(float(message.to_numpy().mean()), 4), round(float(bias.to_numpy().mean()), 4)))
    near(sorted(dots(axes)), sorted(points))


def test_agreement_is_drawn_by_coefficient(presence: Analysis) -> None:
    figure = drawn("agreement", presence)
    held = summary_of(presence)["agreement"]
    order = sorted(held, key=lambda question: -held[question]["alpha_ordinal"]["value"])
    for axes, name in zip(figure.axes, ("alpha_ordinal", "fleiss_kappa", "exact_agreement"), strict=False):
        near([y for _, y in dots(axes)], [held[question][name]["value"] for question in order])
