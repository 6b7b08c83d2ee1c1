"""The model card: what a model is, what it was made from, how well it does, where it must not be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.training.evaluating import LEAST_SYSTEMS, reading_of

SIDES = {"screened": "screened raters", "everyone": "all raters"}


def card(model: TrainedModel) -> str:
    """The card as Markdown."""
    facts = model.facts
    panel = facts["panel"]
    lines = [
        f"# {model.name}",
        "",
        f"A small head on frozen embeddings ({model.look().about}), made by `heartfelt train --recipe {model.recipe}`.",
        "",
        "## Data",
        "",
        f"{facts['stimuli']:,} stimuli of the study `{facts['study']}`"
        + (f" by {len(facts['systems'])} systems ({', '.join(facts['systems'])})" if facts["systems"] else "")
        + f", rated by {panel['kept']:,} of {panel['raters']:,} raters (policy `{facts['policy']}`,"
        f" {panel['ratings_kept']:,} of {panel['ratings']:,} ratings)."
        f" {facts['left_out']:,} stimuli with a label had no file that could be read.",
        f"Snapshot `{facts['snapshot'][:16]}`, seed {facts['seed']}.",
        "",
        "## Scores",
        "",
        "Every stimulus predicted by a head that was chosen and fitted without it.",
        *([facts["grouping"]["words"]] if "grouping" in facts else []),
        "",
        *evaluation_table(facts["evaluation"]),
        "",
        "## Intervals",
        "",
    ]
    for output in model.outputs:
        parts = ", ".join(f"{key} {value:.2f}" for key, value in output.errors.items() if key != "systems")
        lines.append(
            f"- {output.question}: ±{output.half_width:.2f} covers {output.confidence:.0%} of labels of {left_out_words(model)};"
            f" standard deviation of the error: {parts}. Head: {facts['chosen'][output.question]['head']}."
        )
    return "\n".join(lines) + "\n"


def left_out_words(model: TrainedModel) -> str:
    """What was left out when the intervals were calibrated, in words."""
    if len(model.facts["systems"]) >= LEAST_SYSTEMS:
        return "systems that were left out"
    by = (model.facts.get("grouping") or {}).get("by")
    return f"stimuli whose {by} was left out" if by else "stimuli that were left out"


def evaluation_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The evaluation as lines of a Markdown table."""
    out = [
        "| question | labels of | reading | n | Pearson r | ceiling | bare means | RMSE | intervals cover |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cover = "–" if row["coverage"] is None else f"{row['coverage']:.0%} (±{row['half_width']:.2f})"
        cells = [
            row["question"], SIDES[row["raters"]], row.get("reading") or reading_of(row["protocol"]), f"{row['n']:,}",
            figure(row["pearson"]), figure(row["ceiling"]), figure(row["bare_means"]),
            figure(row["rmse"], bounds=False), cover,
        ]  # fmt: skip
        out.append(f"| {' | '.join(cells)} |")
    return out


def figure(estimate: Mapping[str, Any], *, bounds: bool = True) -> str:
    """An estimate in a cell."""
    if estimate["value"] is None:
        return "–"
    if not bounds or estimate.get("low") is None:
        return f"{estimate['value']:.2f}"
    return f"{estimate['value']:.2f} [{estimate['low']:.2f}, {estimate['high']:.2f}]"
