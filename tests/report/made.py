"""An analysis made by hand: the shape of the real one, its numbers by the plainest formulas (normal intervals).

It holds pages and figures to the interface without paying for bootstraps; the numbers themselves are tested elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from heartfelt.panel import Panel, screen
from heartfelt.snapshot import Snapshot
from heartfelt.stats.geometry import ellipse

Numbers = Sequence[float] | np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What a report reads of an analysis."""

    snapshot: Snapshot
    all_ratings: Snapshot
    panel: Panel
    labels: pl.DataFrame
    raters: pl.DataFrame
    summary: dict[str, Any]


def estimate(value: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "level": 0.95, "method": "by hand", "interval": "normal"}


def missing(why: str) -> dict[str, Any]:
    return {"value": None, "why_missing": why, "method": "by hand"}


def mean_of(values: Numbers) -> dict[str, Any]:
    numbers = np.asarray(values, dtype=float)
    if not numbers.size:
        return missing("no ratings")
    error = float(numbers.std(ddof=1)) / math.sqrt(numbers.size) if numbers.size > 1 else 0.0
    middle = float(numbers.mean())
    return estimate(middle, middle - 1.96 * error, middle + 1.96 * error)


def coefficient(value: float, spread: float = 0.03) -> dict[str, Any]:
    return estimate(value, max(value - spread, -1.0), min(value + spread, 1.0))


def made_labels(snapshot: Snapshot) -> pl.DataFrame:
    known = [name for name in ("system", "intent") if name in snapshot.stimuli.columns]
    table = (
        snapshot.scan_ratings()
        .filter(pl.col("value").is_not_null())
        .group_by("stimulus", "question")
        .agg(pl.mean("value").alias("label"), pl.std("value").alias("sd"), pl.len().alias("n"))
        .collect()
        .rename({"label": "value"})
    )
    error = pl.col("sd").fill_null(0.0) / pl.col("n").sqrt()
    return (
        table.with_columns(error.alias("standard_error"))
        .with_columns(
            (pl.col("value") - 1.96 * pl.col("standard_error")).alias("low"),
            (pl.col("value") + 1.96 * pl.col("standard_error")).alias("high"),
        )
        .join(snapshot.stimuli.select("stimulus", *known), on="stimulus", how="left")
        .sort("stimulus", "question")
    )


def made_raters(panel: Panel) -> pl.DataFrame:
    table = panel.source.scan_ratings().filter(pl.col("rater").is_not_null()).group_by("rater")
    plain = table.agg(pl.len().alias("n"), pl.mean("value").alias("mean"), pl.std("value").alias("sd")).collect()
    flags = {rater: "; ".join(words) for rater, words in panel.flagged().items()}
    names = plain["rater"].to_list()
    return plain.with_columns(pl.Series("flags", [flags.get(name, "") for name in names], dtype=pl.String)).sort("rater")


def analysis(snapshot: Snapshot, kind: str = "conveyance", *, published: bool = False) -> Made:
    panel = screen(snapshot, "flag-only")
    labels = made_labels(snapshot)
    summary = shell(snapshot, panel, kind)
    questions = [question.id for question in snapshot.study.asked]
    summary["reliability"] = {name: reliability(labels, name, kind) for name in questions}
    summary["agreement"] = {name: agreement() for name in questions} if kind == "presence" else None
    if kind in {"conveyance", "opinion"}:
        summary |= systems(labels, questions)
    if kind == "conveyance":
        summary |= conveyance(snapshot, labels, questions)
    if published:
        summary["published"] = [
            {"what": "F of system on signed valence deviation", "published": 150.53, "recomputed": 150.531, "agrees": True},
            {"what": "clips", "published": 991, "recomputed": 991, "agrees": True},
        ]
    return Made(snapshot, snapshot, panel, labels, made_raters(panel), summary)


def shell(snapshot: Snapshot, panel: Panel, kind: str) -> dict[str, Any]:
    counts = snapshot.counts
    per_item = snapshot.scan_ratings().group_by("stimulus", "question").len("n").collect()["n"].value_counts().sort("n")
    return {
        "heartfelt": "0", "schema": 1, "kind": kind, "source": {"format": snapshot.source.format, "name": snapshot.source.name},
        "study": snapshot.study.name, "hash": snapshot.hash, "policy": "flag-only", "seed": 0,
        "counts": {
            **counts, "raters_kept": counts["raters"], "ratings_kept": counts["ratings"],
            "ratings_per_item": {str(n): count for n, count in per_item.iter_rows()},
        },
        "anova": None, "mixed": None, "pairwise": None, "systems": None, "intents": None, "quadrants": None, "slopes": None,
        "ellipses": None, "overlap": None, "published": None,
        "why_missing": {"published": "the source is not a published data set whose numbers are known"},
        "screening": {
            "flagged": panel.flagged(), "collusion": [list(group) for group in panel.groups],
            "dropped_by_default": list(panel.flagged())[:2], "rules": panel.to_json()["rules"],
        },
        "sensitivity": [
            {"figure": "alpha_interval", "question": question.id, "with_all": coefficient(0.4), "without": coefficient(0.5)}
            for question in snapshot.study.asked
        ],
        "verdict": ["These ratings order the systems.", "They do not tell apart single stimuli."],
        "methods": "Raters answered <questions> on scales.", "results": "The mean was 3 & more.",
    }


def reliability(labels: pl.DataFrame, question: str, kind: str) -> dict[str, Any]:
    single = 0.3
    grown = {str(k): coefficient(k * single / (1 + (k - 1) * single)) for k in (1, 3, 5, 10)}
    names = sorted(labels["system"].drop_nulls().unique()) if "system" in labels.columns else []
    nothing = missing("no cells")
    ceiling = {
        "correlation": coefficient(0.8), "rmse": estimate(0.9, 0.8, 1.0),
        "by_system": {name: coefficient(0.6 + 0.02 * place) for place, name in enumerate(names)},
        "within_cells": coefficient(0.5) if kind == "conveyance" else nothing,
        "cell_means": coefficient(0.7) if kind == "conveyance" else nothing,
    }
    return {
        "alpha_interval": coefficient(single), "alpha_ordinal": coefficient(single - 0.01), "icc1": coefficient(single),
        "icc1k": coefficient(0.72), "split_half": coefficient(0.71), "ceiling": ceiling,
        "variance_components": {
            "rater": estimate(0.4, 0.3, 0.5), "stimulus": estimate(1.1, 1.0, 1.2), "residual": estimate(2.0, 1.9, 2.1),
            "share_rater": estimate(0.11, 0.1, 0.12), "share_stimulus": estimate(0.31, 0.3, 0.32),
            "share_residual": estimate(0.58, 0.57, 0.59),
        },
        "reliability_with": grown, "raters_needed": {"0.7": 6, "0.8": 10, "0.9": 21},
    }


def agreement() -> dict[str, Any]:
    return {
        "fleiss_kappa": coefficient(0.4, 0.1), "cohen_kappa": coefficient(0.41, 0.1), "gwet_ac1": coefficient(0.6),
        "exact_agreement": coefficient(0.7), "pairwise_accuracy": coefficient(0.75),
        "pairwise_balanced_accuracy": coefficient(0.7), "leave_one_out": coefficient(0.8),
    }


def systems(labels: pl.DataFrame, questions: Sequence[str]) -> dict[str, Any]:
    if "system" not in labels.columns:
        return {}
    rows: list[dict[str, Any]] = []
    for question in questions:
        of_question = labels.filter(pl.col("question") == question)
        means = {name: mean_of(part["value"].to_numpy()) for (name,), part in of_question.drop_nulls("system").group_by("system")}
        ordered = sorted(means, key=lambda name: -float(means[name]["value"]))
        for rank, name in enumerate(ordered, 1):
            mine = of_question.filter(pl.col("system") == name)
            tied = [other for other in ordered if other != name and abs(means[other]["value"] - means[name]["value"]) < 0.15]
            rows.append({
                "system": name, "question": question, "n_stimuli": mine.height, "n_ratings": int(mine["n"].sum()),
                "mean": means[name], "deviation": missing("no reference"), "absolute_deviation": missing("no reference"),
                "rank": rank, "tied_with": tied,
            })
    return {"systems": rows}


def conveyance(snapshot: Snapshot, labels: pl.DataFrame, questions: Sequence[str]) -> dict[str, Any]:
    study = snapshot.study
    group = {intent.id: str(intent.group) for intent in study.intents}
    out: dict[str, Any] = {"anova": [], "pairwise": [], "systems": [], "intents": [], "slopes": []}
    by_quadrant: list[dict[str, Any]] = []
    for question in questions:
        reference = study.reference(str(study.question(question).axis))
        frame = labels.filter(pl.col("question") == question).with_columns(
            pl.col("intent").replace_strict(reference, return_dtype=pl.Float64).alias("reference"),
            pl.col("intent").replace_strict(group, return_dtype=pl.String).alias("quadrant"),
        )
        frame = frame.with_columns((pl.col("value") - pl.col("reference")).alias("off"))
        out["systems"] += _system_rows(frame, question)
        out["slopes"] += _slopes(frame, question)
        out["pairwise"] += _pairs(frame, question, "system", "signed") + _pairs(frame, question, "quadrant", "absolute")
        for (name,), part in frame.group_by("quadrant", maintain_order=True):
            by_quadrant.append({
                "quadrant": name, "question": question, "deviation": mean_of(part["off"].to_numpy()),
                "absolute_deviation": mean_of(part["off"].abs().to_numpy()),
            })
        for (name,), part in frame.group_by("intent", maintain_order=True):
            out["intents"].append({
                "intent": name, "question": question, "reference": reference[str(name)],
                "mean": mean_of(part["value"].to_numpy()), "deviation": mean_of(part["off"].to_numpy()),
            })
        for deviation, effect in (("signed", "system"), ("absolute", "quadrant")):
            out["anova"].append({
                "outcome": question, "deviation": deviation, "model": "system + intent", "type": 2, "effect": effect,
                "df": [5, 974], "F": 39.44, "p": 1e-12, "eta_squared": 0.0836, "eta_squared_of_total": 0.09,
                "partial_eta_squared": coefficient(0.1), "omega_squared": 0.08, "n": frame.height,
            })
    labels_of = sorted(set(group.values()))
    counts = [[20 if a == b else 5 for b in labels_of] for a in labels_of]
    out["quadrants"] = {
        "by_quadrant": by_quadrant, "hit_rate": coefficient(0.57),
        "confusion": {"labels": labels_of, "counts": counts, "proportions": [[c / sum(row) for c in row] for row in counts]},
    }
    return out | _ellipses(labels, group, questions)


def _system_rows(frame: pl.DataFrame, question: str) -> list[dict[str, Any]]:
    return [
        {
            "system": name, "question": question, "n_stimuli": part.height, "n_ratings": int(part["n"].sum()),
            "mean": mean_of(part["value"].to_numpy()), "deviation": mean_of(part["off"].to_numpy()),
            "absolute_deviation": mean_of(part["off"].abs().to_numpy()), "rank": place, "tied_with": [],
        }
        for place, ((name,), part) in enumerate(frame.sort("system").group_by("system", maintain_order=True), 1)
    ]


def _slopes(frame: pl.DataFrame, question: str) -> list[dict[str, Any]]:
    parts: dict[str, pl.DataFrame] = {"all": frame}
    parts |= {str(name): part for (name,), part in frame.sort("system").group_by("system", maintain_order=True)}
    rows = []
    for name, part in parts.items():
        slope, intercept = np.polyfit(part["reference"].to_numpy(), part["value"].to_numpy(), 1)
        rows.append({
            "system": name, "question": question, "slope": coefficient(float(slope), 0.06),
            "intercept": estimate(float(intercept), float(intercept) - 0.3, float(intercept) + 0.3),
        })
    return rows


def _pairs(frame: pl.DataFrame, question: str, factor: str, deviation: str) -> list[dict[str, Any]]:
    off = pl.col("off") if deviation == "signed" else pl.col("off").abs()
    values: Mapping[str, Any] = {str(name): part.select(off).to_series().to_numpy() for (name,), part in frame.group_by(factor)}
    rows = []
    for a, b in combinations(sorted(values), 2):
        difference = float(values[a].mean() - values[b].mean())
        error = math.sqrt(values[a].var(ddof=1) / len(values[a]) + values[b].var(ddof=1) / len(values[b]))
        p = math.erfc(abs(difference) / error / math.sqrt(2))
        rows.append({
            "outcome": question, "deviation": deviation, "factor": factor, "method": "Tukey-Kramer", "a": a, "b": b,
            "difference": difference, "low": difference - 2.8 * error, "high": difference + 2.8 * error, "p": p,
            "significant": p < 0.05,
        })
    return rows


def _ellipses(labels: pl.DataFrame, group: Mapping[str, str], questions: Sequence[str]) -> dict[str, Any]:
    wide = labels.with_columns(pl.col("intent").replace_strict(group, return_dtype=pl.String).alias("quadrant")).pivot(
        on="question", index=["stimulus", "system", "quadrant"], values="value"
    )
    rows = [
        {"system": system, "quadrant": quadrant, **ellipse(part[questions[0]], part[questions[1]]).to_json()}
        for (system, quadrant), part in wide.sort("stimulus").group_by("system", "quadrant", maintain_order=True)
    ]
    return {"ellipses": rows, "overlap": []}
