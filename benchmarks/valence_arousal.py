"""How well the recipes ``va-audio`` and ``va-image`` do: the tables of docs/training.md, from the data in one go.

``python -m benchmarks valence_arousal`` reads AImoclips, OASIS and the AVT AI images from the folder that HEARTFELT_DATA names (by
default ``../shared/data``). Every stimulus is predicted by a head that was chosen and fitted without it. Embeddings are cached,
so a second run takes minutes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

import heartfelt
from heartfelt.report.pages.training import write_evaluation
from heartfelt.snapshot import Snapshot
from heartfelt.training import Trained, TrainOptions, train
from heartfelt.training.heads.card import answers_table, evaluation_table

DATA = Path(os.environ.get("HEARTFELT_DATA", "../shared/data"))
OUT = os.environ.get("HEARTFELT_BENCH_OUT")
"""A folder for the models and evaluations behind the tables; nothing is written without it."""
LEFT_OUT = "leave-one-system-out"
AVT = {
    "rater": "user_ID",
    "stimulus": "stimuli_file",
    "names": "./stimuli/{system}/{prompt}.png",
    "question": "rating_type",
    "value": "rating",
    "at": "timestamp",
    "repeat": "order",
    "where": "rating_type=range_image_appeal|range_realism",
    "rename.range_image_appeal": "appeal",
    "rename.range_realism": "realism",
    "scale": "1-5",
    "media": "images",
    "prompts": "prompts.csv",
    "name": "avt-ai-images",
}


def main() -> None:
    audio = _run("AImoclips", heartfelt.read(DATA / "aimoclips"), "va-audio")
    print("\n".join(answers_table(audio.evaluation.rows)), flush=True)
    _by_system(audio)
    _within_left_out(audio)
    oasis = heartfelt.read(DATA / "oasis", format="means", scale={"valence": "1-7", "arousal": "1-7"})
    avt = heartfelt.read(DATA / "avt_ai_images" / "ratings.csv", format="long", **AVT)
    for name, snapshot in (("OASIS", oasis), ("AVT AI images", avt)):
        _run(name, snapshot, "va-image")
        _run(f"{name}, linear head alone", snapshot, "va-image", ("ridge",))


def _run(name: str, snapshot: Snapshot, recipe: str, heads: Sequence[str] = ()) -> Trained:
    result = train(snapshot, TrainOptions(recipe=recipe, heads=tuple(heads)))
    print(f"\n{name}: {len(result.material.stimuli)} stimuli, recipe {recipe}")
    print("\n".join(evaluation_table(result.evaluation.rows)), flush=True)
    if OUT is not None:
        folder = Path(OUT) / name.replace(" ", "-").replace(",", "").lower()
        result.model.write(folder, replace=True)
        write_evaluation(result, folder / "evaluation")
    return result


def _by_system(result: Trained) -> None:
    """Mean error, coverage of the intervals and share of flagged clips of every system while it was left out."""
    table = result.evaluation.predictions.filter(pl.col("protocol") == LEFT_OUT)
    for side in ("screened", "everyone"):
        error = pl.col("prediction") - pl.col(f"label_{side}")
        near = ~pl.col("unlike_training")
        rows = table.group_by("question", "system", maintain_order=True).agg(
            pl.len().alias("n"),
            error.mean().round(2).alias("mean_error"),
            (error.abs() <= pl.col("half_width")).filter(near).mean().round(3).alias("covered"),
            pl.col("unlike_training").mean().round(3).alias("flagged"),
        )
        with pl.Config(tbl_rows=40, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            print(f"each system left out, labels of {side}:", rows.sort("question", "system"), flush=True)
        for question in rows["question"].unique(maintain_order=True):
            part = rows.filter(pl.col("question") == question)
            size = part["mean_error"].abs().to_numpy()
            print(
                f"{question}: mean error of a left-out system {np.mean(size):.2f} on average, {np.max(size):.2f} at most"
            )


def _within_left_out(result: Trained) -> None:
    """Clips of one cell told apart by heads that never saw their system.

    In five folds the mean of a cell's other clips is below a clip that is above it, and a head that recognises cells repeats that;
    heads that never saw the system cannot.
    """
    table = result.evaluation.predictions.filter(pl.col("protocol") == LEFT_OUT)
    for side in ("screened", "everyone"):
        label = f"label_{side}"
        known = table.drop_nulls(label).with_columns(
            (pl.col(name) - pl.col(name).mean().over("question", "system", "intent")).alias(f"{name}_within")
            for name in ("prediction", label)
        )
        for question in known["question"].unique(maintain_order=True):
            part = known.filter(pl.col("question") == question)
            r = np.corrcoef(part["prediction_within"], part[f"{label}_within"])[0, 1]
            print(f"within cells, system left out, {question}, labels of {side}: r = {r:.3f} (n = {part.height})")
