"""Figures of a bench: leaderboards under their ceiling, shares of it, scatter, confusion, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from heartfelt.report.bench.told import NO_CHANCE, Told, below_chance, rank_words
from heartfelt.report.chart import Chart, axis
from heartfelt.report.figures.ranking import tied_runs
from heartfelt.report.figures.rows import numbers, panel_of, row_of
from heartfelt.report.palette import COLOURS, SHAPES
from heartfelt.report.reading import value_of
from heartfelt.report.words import interval, number, plain
from heartfelt.streams import stream

MOST_POINTS = 1200
MOST_PANELS = 6


def leaderboard(told: Told, task: Mapping[str, Any]) -> Chart | None:
    """Models in order of the headline, under the ceiling; those beside one bar cannot be told apart."""
    name, metric = str(task["task"]), str(task["headline"])
    colour = {model: COLOURS[place % len(COLOURS)] for place, model in enumerate(told.models)}
    made, ranked, table = [], [], []
    for rank in told.ranks(name):
        found = told.headline(task, rank["model"])["with_failures"]
        if value_of(found) is None:
            continue
        tied = told.tied_with(name, rank["model"]) if rank["place"] else []
        answered, items = told.coverage(name, rank["model"])
        note = f"rank {rank_words(rank)}" if rank["place"] else f"not ranked: {rank['why_none']}"
        note += f"\nanswered {number(answered)} of {number(items)} items"
        note += f"\nnot told apart from {', '.join(tied)}" if tied else ""
        label = rank["model"] + (f" ({NO_CHANCE})" if below_chance(rank) else "")
        made.append(row_of(label, found, colour[rank["model"]], note))
        ranked.append({"system": rank["model"], "tied_with": tied})
        table.append(
            {
                "model": rank["model"],
                "rank": rank_words(rank),
                **_ends(found),
                "answered": answered,
                "items": items,
            }
        )
    if not made:
        return None
    lines = _lines(told, task)
    scale = axis(told.named(metric), [*numbers(made), *(line["at"] for line in lines)])
    lines = _apart(lines, 0.12 * (scale["high"] - scale["low"]))
    panel = panel_of("", made, scale, ties=tied_runs(ranked), lines=lines)
    caption = (
        f"{_capital(told.named(metric))} of each model over all items, failed and missing predictions counted, with 95%"
        " intervals over stimuli. Models beside one grey bar cannot be told apart (paired, corrected for their number); a"
        " model that does not beat chance has no rank."
    )
    return Chart("intervals", f"Leaderboard: {plain(name)}", caption, [panel], table)


def _lines(told: Told, task: Mapping[str, Any]) -> list[dict[str, Any]]:
    lines = []
    for label, at in (
        ("chance", value_of(told.chance(task))),
        ("one rater", value_of(told.human(task))),
        ("ceiling", value_of(told.ceiling(task))),
    ):
        if at is not None:
            lines.append({"at": at, "label": label})
    return lines


def _apart(lines: list[dict[str, Any]], room: float) -> list[dict[str, Any]]:
    """Lines whose words would run into each other get one set of words."""
    out: list[dict[str, Any]] = []
    for line in sorted(lines, key=lambda line: float(line["at"])):
        if out and line["at"] - out[-1]["at"] < room:
            line = {**line, "label": f"{out[-1]['label']} | {line['label']}"}
            out[-1] = {**out[-1], "label": ""}
        out.append(line)
    return out


def shares(told: Told, task: Mapping[str, Any]) -> Chart | None:
    """How much of the way from chance to the ceiling each model goes, as bars."""
    made, table = [], []
    for rank in told.ranks(task["task"]):
        found = told.headline(task, rank["model"])["of_ceiling"]
        if value_of(found) is None:
            continue
        label = rank["model"] + (f" ({NO_CHANCE})" if below_chance(rank) else "")
        made.append(row_of(label, found, COLOURS[0]))
        table.append({"model": rank["model"], **_ends(found)})
    if not made:
        return None
    scale = axis("share of the way from chance to the ceiling", numbers(made), include=(0.0, 1.0))
    lines = [{"at": 0.0, "label": "chance"}, {"at": 1.0, "label": "ceiling"}]
    panel = panel_of("", made, scale, bars=True, lines=lines)
    caption = (
        "(Score − chance) / (ceiling − chance), failures counted: 0 is chance, 1 is as good as anything can be expected to do"
        " against these labels. The interval holds the uncertainty of score and ceiling."
    )
    return Chart("intervals", f"From chance to the ceiling: {plain(task['task'])}", caption, [panel], table)


def scatter(told: Told, task: Mapping[str, Any], rows: pl.DataFrame, seed: int = 0) -> Chart | None:
    """Label against prediction, a panel a model; every point plays."""
    panels: list[dict[str, Any]] = []
    names = [rank["model"] for rank in told.ranks(task["task"])][:MOST_PANELS]
    said = pl.coalesce("code", "score")
    mine = rows.filter((pl.col("task") == task["task"]) & pl.col("answered")).with_columns(
        said.alias("_said")
    )
    for model in names:
        part = mine.filter((pl.col("model") == model) & pl.col("_said").is_finite())
        if not part.height:
            continue
        kept = _sample(part, seed)
        points = [_point(row) for row in kept.iter_rows(named=True)]
        left = part.height - kept.height
        values = (
            [*part["_said"].to_list(), *part["truth"].to_list()]
            if _same_scale(part)
            else part["_said"].to_list()
        )
        panels.append(
            {
                "title": model,
                "note": f"{number(kept.height)} of {number(part.height)} items" if left else "",
                "x": axis("prediction", values),
                "y": axis("label", values if _same_scale(part) else part["truth"].to_list()),
                "points": points,
                "diagonal": _same_scale(part),
            }
        )
    if not panels:
        return None
    caption = "Each point is an item: what the model said across, what people said up. Select one to hear or see it."
    table = [
        {
            "model": panel["title"],
            "stimulus": point["stimulus"],
            "prediction": point["x"],
            "label": point["y"],
        }
        for panel in panels
        for point in panel["points"]
    ]
    return Chart("plane", f"Prediction and label: {plain(task['task'])}", caption, panels, table)


def _same_scale(part: pl.DataFrame) -> bool:
    return bool(part["code"].is_not_null().all())


def _sample(part: pl.DataFrame, seed: int) -> pl.DataFrame:
    if part.height <= MOST_POINTS:
        return part
    chosen = stream(seed, "report", "scatter").choice(part.height, MOST_POINTS, replace=False)
    return part[np.sort(chosen)]


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    words = [str(row["stimulus"]), f"label {number(row['truth'], 2)}, prediction {number(row['_said'], 2)}"]
    words += [str(row[name]) for name in ("system", "intent") if row[name]]
    return {
        "x": row["_said"], "y": row["truth"], "label": row["stimulus"], "colour": COLOURS[0], "shape": SHAPES[0],
        "words": "\n".join(words), "stimulus": row["stimulus"],
    }  # fmt: skip


def confusions(told: Told, task: Mapping[str, Any]) -> Chart | None:
    """What each model made of each label."""
    panels, table = [], []
    for model in told.models[:MOST_PANELS]:
        found = told.detail(task, model, "confusion")
        if not found or not any(map(sum, found["matrix"])):
            continue
        panel, own = _confusion_panel(model, found)
        panels.append(panel)
        table += own
    if not panels:
        return None
    caption = (
        "Share of the items with each label (rows) by what the model said (columns), over answered items."
    )
    return Chart("heatmap", f"Label and prediction: {plain(task['task'])}", caption, panels, table)


def _confusion_panel(model: str, found: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    names = [plain(str(name)) for name in found["categories"]]
    cells, table = [], []
    for name, counts in zip(names, found["matrix"], strict=True):
        total = sum(counts)
        line = []
        for other, count in zip(names, counts, strict=True):
            share = count / total if total else None
            words = f"label {name}\nsaid {other}\n{count:,} of {total:,} items"
            line.append(
                {"value": share, "text": "–" if share is None else f"{100 * share:.0f}%", "words": words}
            )
            table.append({"model": model, "label": name, "said": other, "items": count, "share": share})
        cells.append(line)
    panel = {
        "title": model, "rows": names, "columns": names, "cells": cells, "row_label": "label",
        "column_label": "prediction", "low": 0.0, "high": 1.0, "square": len(names) <= 8,
    }  # fmt: skip
    return panel, table


def calibrations(told: Told, task: Mapping[str, Any]) -> Chart | None:
    """Of the cases given a probability, the share that came true."""
    panels: list[dict[str, Any]] = []
    table = []
    for model in told.models[:MOST_PANELS]:
        found = told.detail(task, model, "calibration")
        bins = [one for one in (found or {}).get("bins", []) if one["n"]]
        if not bins:
            continue
        points = [
            {
                "x": one["mean_probability"], "y": one["share_true"]["value"], "yl": one["share_true"]["low"],
                "yh": one["share_true"]["high"], "label": "", "colour": COLOURS[0], "shape": SHAPES[0],
                "words": f"said {number(one['mean_probability'], 2)} on average\n"
                f"true: {interval(one['share_true'], 2)}\n{one['n']:,} items",
            }
            for one in bins
        ]  # fmt: skip
        ends = {"low": -0.03, "high": 1.03, "ticks": [0.0, 0.25, 0.5, 0.75, 1.0]}
        panels.append(
            {
                "title": model, "note": f"error {interval((found or {})['error'])}", "equal": True, "diagonal": True,
                "x": {"label": "probability given", **ends}, "y": {"label": "share true", **ends}, "points": points,
                "links": [[place, place + 1] for place in range(len(points) - 1)],
            }
        )  # fmt: skip
        table += [{"model": model, "probability": p["x"], "share_true": p["y"]} for p in points]
    if not panels:
        return None
    caption = "On the dashed line, probabilities mean what they say. Bars are 95% intervals of the share."
    return Chart("plane", f"Calibration: {plain(task['task'])}", caption, panels, table)


def _ends(estimate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: estimate.get(name) for name in ("value", "low", "high")}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
