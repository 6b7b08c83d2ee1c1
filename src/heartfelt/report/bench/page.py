"""The page of a bench: one file that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import polars as pl

from heartfelt.report.bench import figures, sections
from heartfelt.report.bench.comparing import comparisons
from heartfelt.report.bench.misses import misses
from heartfelt.report.bench.sections import drawn
from heartfelt.report.bench.told import Told
from heartfelt.report.blocks import folded, joined
from heartfelt.report.chart import Chart
from heartfelt.report.media import media_sources
from heartfelt.report.page import Page, Section
from heartfelt.report.words import number, plain
from heartfelt.scoring import Scores
from heartfelt.serialization import to_json
from heartfelt.snapshot import Snapshot


def bench_page(scores: Scores, snapshot: Snapshot | None, target: Path) -> Page:
    """The page, for a file at ``target``."""
    told = Told(cast(dict[str, Any], to_json(scores)))
    charts = charts_of(told, scores.rows, scores.options.seed)
    media = {} if snapshot is None else media_sources(snapshot, target)
    shown = [
        sections.verdict(told),
        sections.leaderboards(told, charts),
        _scatter(told, charts),
        _misses(told, scores, media),
        _certainty(told, charts),
        comparisons(told),
        sections.slices(told),
        sections.all_scores(told),
        sections.failures(told),
        sections.models(told),
        sections.method(told),
    ]
    data: dict[str, Any] = {
        "figures": {name: chart.to_json() for name, chart in charts.items() if chart is not None},
        "media": media,
    }
    facts = [
        ("models", number(len(told.models))),
        ("items", number(scores.rows.select("stimulus", "question").n_unique() if scores.rows.height else 0)),
        ("stimuli", number(scores.rows["stimulus"].n_unique() if scores.rows.height else 0)),
        ("tasks", number(len(told.tasks))),
        ("source", scores.hash[:12]),
    ]
    title = f"{scores.title}: predictors against people"
    return Page(title, "", [one for one in shown if one is not None], data, facts)


def charts_of(told: Told, rows: pl.DataFrame, seed: int) -> dict[str, Chart | None]:
    """Every figure of a bench by its name."""
    out: dict[str, Chart | None] = {}
    for place, task in enumerate(told.tasks):
        out[f"leaderboard-{place}"] = figures.leaderboard(told, task)
        out[f"shares-{place}"] = figures.shares(told, task)
        if task["kind"] == "numbers":
            out[f"scatter-{place}"] = figures.scatter(told, task, rows, seed)
        if task["kind"] in ("binary", "categories"):
            out[f"confusion-{place}"] = figures.confusions(told, task)
        if task["kind"] == "binary":
            out[f"calibration-{place}"] = figures.calibrations(told, task)
    return out


def _scatter(told: Told, charts: dict[str, Chart | None]) -> Section | None:
    parts = [drawn(f"scatter-{place}", charts.get(f"scatter-{place}")) for place in range(len(told.tasks))]
    if not any(parts):
        return None
    return Section("scatter", "Prediction and label", html=joined(*parts), short="Scatter")


def _misses(told: Told, scores: Scores, media: dict[str, str]) -> Section:
    threshold = scores.options.threshold
    parts = [
        folded(f"{plain(task['task'])}: worst misses", misses(task, scores.rows, media, threshold))
        for task in told.tasks
    ]
    lead = "Listen to where models and people part."
    return Section("misses", "Worst misses", lead, html=joined(*parts), short="Misses")


def _certainty(told: Told, charts: dict[str, Chart | None]) -> Section | None:
    parts = [
        drawn(f"{name}-{place}", charts.get(f"{name}-{place}"), why)
        for place, task in enumerate(told.tasks)
        if task["kind"] in ("binary", "categories")
        for name, why in (
            ("confusion", "No model answered any item."),
            (
                "calibration",
                "No model gives probabilities, so there is no calibration to show."
                if task["kind"] == "binary"
                else "",
            ),
        )
    ]
    if not parts:
        return None
    return Section("certainty", "Confusion and calibration", html=joined(*parts), short="Calibration")
