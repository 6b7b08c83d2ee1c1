"""emolia-bench's own benchmark files: predictions, metrics by slice, a summary and a report, its faults fixed.

Headline is balanced accuracy on ``majority_present`` at the fixed threshold with failures counted as wrong, in bands: below .55
bad, .65 weak, .75 medium, .85 good, else excellent. Failed rows stay in ``predictions.csv`` and are counted in every table; next
to it stands the figure over answered rows. Tied items have no majority and are in no figure, unless ties go
to the smaller label.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.datasets.emolia.bench.material import EmoliaOptions, QuestionGroup, gather, subsets_of
from heartfelt.datasets.emolia.bench.report import rendered
from heartfelt.datasets.emolia.bench.report import table as markdown
from heartfelt.datasets.emolia.tables import spelt
from heartfelt.files import file_names, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.predictors.task import ask_of
from heartfelt.scoring.ground_truth.truth import ITEM
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.scores import Scores
from heartfelt.scoring.tasks.binary import HELD_OUT
from heartfelt.serialization import to_json, write_json
from heartfelt.snapshot import Snapshot
from heartfelt.stats import accuracy, auroc, balanced_accuracy, f1, precision, recall
from heartfelt.stats.estimate import Estimate

FOLDER = "benchmark_outputs"
BANDS = ((0.55, "bad"), (0.65, "weak"), (0.75, "medium"), (0.85, "good"))
_MEASURES = (balanced_accuracy, accuracy, precision, recall, f1)
_AFTER = (
    "benchmark_bucket", "n_raters", "majority_present", "audio_path", "prompt", "similarity", "pred_present",
)  # fmt: skip


def band(value: float | None) -> str | None:
    """How good a balanced accuracy is, in emolia-bench's words."""
    if value is None:
        return None
    return next((word for below, word in BANDS if value < below), "excellent")


def write_emolia_bench(
    snapshot: Snapshot, predictions: pl.DataFrame, scores: Scores, folder: Path, options: ScoreOptions
) -> list[Path]:
    """Write ``benchmark_outputs/<subset>/`` (below the model's name where there are several); return the folders."""
    ties = "honest" if options.ties == "missing" else "published"
    out, names = [], file_names(scores.models)
    for subset in subsets_of(snapshot):
        labels = gather(snapshot, subset, EmoliaOptions(ties=ties)).labels  # type: ignore[arg-type]  # one of two words
        for model in scores.models:
            rows = _rows(snapshot, subset, labels, predictions.filter(pl.col("model") == model), options)
            name = () if len(scores.models) == 1 else (names[model],)
            target = folder.joinpath(FOLDER, *name, subset.name)
            target.mkdir(parents=True)
            _write(target, subset, rows, _summary(subset, rows, scores, model, options))
            out.append(target)
    return out


def _rows(
    snapshot: Snapshot, subset: QuestionGroup, labels: pl.DataFrame, model_answers: pl.DataFrame, options: ScoreOptions
) -> pl.DataFrame:
    """One row per item that was asked, with what emolia-bench's columns need."""
    study = snapshot.study
    prompts = {name: ask_of(study, study.question(name)).text for name in subset.questions}
    stimuli = snapshot.stimuli
    path = pl.col("path") if "path" in stimuli.columns else pl.lit(None, dtype=pl.String)
    answers = model_answers.select(*ITEM, "value", "score", "ok", "problem")
    rows = labels.join(answers, on=ITEM, how="inner", maintain_order="left")
    paths = stimuli.select("stimulus", path.alias("audio_path"))
    rows = rows.join(paths, on="stimulus", how="left", maintain_order="left")
    lowest, second = subset.codes[:2]
    above_middle = (pl.col("value") > (lowest + second) / 2).cast(pl.Int64)
    cut = (pl.col("score") > options.threshold).cast(pl.Int64)
    return rows.with_columns(
        pl.col("question").replace_strict(prompts, return_dtype=pl.String).alias("prompt"),
        pl.coalesce("score", "value").alias("similarity"),
        pl.coalesce(above_middle, cut).alias("pred_present"),
        pl.col("problem").alias("error"),
    )


def _write(target: Path, subset: QuestionGroup, rows: pl.DataFrame, summary: dict[str, object]) -> None:
    columns = ("file_name", *subset.form.keys, *_AFTER, "ok", "error")
    write_text(target / "predictions.csv", csv_text(spelt(rows.select(columns))))
    by = ("task_type" if subset.form.kind == "emo" else "polarity", "benchmark_bucket")
    tables = {name: _by(rows, name) for name in by}
    for name, table in tables.items():
        write_text(target / f"metrics_by_{name}.csv", csv_text(table))
    write_json(target / "summary.json", summary)
    write_text(target / "report.md", _report(summary, tables))


def _by(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    out = []
    for name in rows[column].unique().sort():
        counts, estimates = _metrics(rows.filter(pl.col(column).eq_missing(name)))
        row: dict[str, object] = {column: name, **counts}
        for key, estimate in estimates.items():
            row |= {key: estimate.value, f"{key}_low": estimate.low, f"{key}_high": estimate.high}
        out.append(row)
    return pl.DataFrame(out, infer_schema_length=None)


def _metrics(rows: pl.DataFrame) -> tuple[dict[str, int], dict[str, Estimate]]:
    """Counts and figures of some rows: over what was answered, and with failures as wrong answers."""
    decided = rows.filter(pl.col("_majority").is_not_null())
    done = decided.filter(pl.col("ok") & pl.col("pred_present").is_not_null())
    counts = {
        "n": rows.height,
        "n_tied": rows.height - decided.height,
        "n_failed": decided.height - done.height,
        "n_scored": done.height,
    }
    pairs = done["_majority"].cast(pl.Int64).to_numpy(), done["pred_present"].to_numpy()
    truth = decided["_majority"].cast(pl.Int64).to_numpy()
    predicted = decided["pred_present"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    wrong = np.where(decided["ok"].to_numpy() & np.isfinite(predicted), predicted, 1 - truth).astype(np.int64)
    return counts, {
        **{measure.__name__: measure(*pairs) for measure in _MEASURES},
        "balanced_accuracy_with_failures": balanced_accuracy(truth, wrong),
        "auroc": auroc(pairs[0], done["similarity"].to_numpy()),
    }


def _summary(
    subset: QuestionGroup, rows: pl.DataFrame, scores: Scores, model: str, options: ScoreOptions
) -> dict[str, object]:
    counts, estimates = _metrics(rows)
    errors = rows.filter(~pl.col("ok"))["error"].value_counts(sort=True).head(20)
    return {
        "subset": subset.name,
        "model": model,
        "threshold": options.threshold,
        "ties": "left out" if options.ties == "missing" else "the smaller label",
        "selection": to_json(options.selection),
        **counts,
        **{name: estimate.value for name, estimate in estimates.items()},
        "band": band(estimates["balanced_accuracy_with_failures"].value),
        "estimates": estimates,
        **_score_facts(subset, scores, model),
        "errors": {str(text): int(n) for text, n in errors.iter_rows()},
    }


def _score_facts(subset: QuestionGroup, scores: Scores, model: str) -> dict[str, object]:
    """What the scores say of the subset's own task, as far as it was scored."""
    task = next((t.id for t in scores.tasks if t.kind == "binary" and set(t.questions) <= set(subset.questions)), None)
    if task is None:
        return {}
    out: dict[str, object] = {}
    score = scores.find(task, model)
    held_out = scores.find(task, model, "balanced_accuracy", at=HELD_OUT)
    if score is not None:
        out |= {
            "balanced_accuracy_resampled_over_stimuli": score.estimate,
            "ceiling": score.ceiling,
            "share_of_ceiling": score.of_ceiling,
            "chance": score.chance,
            "p_chance": score.p_chance,
        }
    if held_out is not None:
        out["balanced_accuracy_at_held_out_threshold"] = held_out.estimate
    return out


def _report(summary: dict[str, object], tables: dict[str, pl.DataFrame]) -> str:
    shown = ("n", "n_failed", "n_scored", "balanced_accuracy", "accuracy", "auroc")
    pages = {name: markdown((name, *shown), by.select(name, *shown).iter_rows()) for name, by in tables.items()}
    return rendered("benchmark", summary=summary, tables=pages)
