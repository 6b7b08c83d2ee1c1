"""What a run left behind: every answer with its label, how often it was asked, what was sent and what came back.

A bench's folder has labels (``items.parquet``) and a folder per model below ``runs/``; a single model's folder has no labels. Runs
of earlier versions lack what was sent; the viewer then says so.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.report.site.sources.boards import display_names
from heartfelt.report.site.sources.runs import read_scores
from heartfelt.report.site.sources.secrets import without_secrets
from heartfelt.scoring import Scores
from heartfelt.scoring.bench.earlier import RUNS
from heartfelt.scoring.bench.earlier import SCORES as FILE
from heartfelt.scoring.results.scores import ModelInfo

PREDICTIONS, CALLS, ITEMS, REPEATS = ("predictions.parquet", "calls.parquet", "items.parquet", "repeats.parquet")
N = TypeVar("N", int, float)
KEY = ["model", "stimulus", "question"]
_TEXTS = ("answer", "reason", "note", "problem", "flag", "shares", "members", "orders", "errors", "call")
_COPIED = (
    *("stimulus", "question", "system", "intent", "truth", "value", "score", "answer", "low", "high", "reason"),
    *("note", "flag", "shares", "members", "orders", "seconds", "off", "spread", "agreement"),
)
"""What a sample has as the table of answers has it."""
_CALL_FACTS = ("status", "form", "finish_reason", "input_tokens", "output_tokens", "seconds", "cost")
_CALL_TEXTS = ("prompt", "completion", "reasoning", "lost")
_NUMBERS = ("value", "score", "low", "high", "seconds", "spread", "agreement")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request to a server and what it answered."""

    id: str
    at: str
    status: int | None
    form: str | None
    prompt: str | None
    """What was sent, media left out; None where the run did not record it."""
    completion: str | None
    """What came back, unchanged."""
    reasoning: str | None
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    cached: bool
    model: str = ""
    """The model it was sent to, as the run names it."""
    cost: float | None = None
    questions: int = 1
    """How many questions were asked in it; each of their samples names it."""
    repeat: int = 0
    """Which repeat of the questions it was for, counted from 0."""
    lost: str | None = None
    """Why its answer is missing or incomplete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewerSample:
    """One question about one stimulus, put to one model."""

    model: str
    stimulus: str
    question: str
    system: str | None
    intent: str | None
    truth: float | None
    value: float | None
    score: float | None
    answer: str | None
    low: float | None
    high: float | None
    reason: str | None
    note: str | None
    flag: str | None
    shares: str | None
    members: str | None
    orders: str | None
    problem: str | None
    attempts: int
    errors: tuple[str, ...]
    seconds: float | None
    error: float | None
    """How far it is off, in percent of the range of labels and answers; None without a label or an answer."""
    off: float | None
    kind: str
    exchanges: tuple[str, ...]
    """The ids of the requests about it, the one it was read from first."""
    input_tokens: int | None = None
    """Of its requests in this run, shared ones included; None where the server counted none."""
    output_tokens: int | None = None
    cost: float | None = None
    """Its part of the cost of its requests: that of a request with several questions is divided evenly."""
    repeats: tuple[str, ...] = ()
    """What each repeat answered, in order; empty where it was asked once."""
    spread: float | None = None
    agreement: float | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunView:
    """A run: its samples, the requests behind them, and which models answered."""

    title: str
    samples: tuple[ViewerSample, ...]
    exchanges: Mapping[str, Exchange]
    models: tuple[str, ...]
    about: Mapping[str, ModelInfo] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """What is shown for each model, by the name the run has for it."""


def read_run_folder(folder: Path) -> RunView:
    """Read the folder of a bench, or of a single model's run."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Point to a bench, or to one folder below its runs/.")
    scores = read_scores(folder / FILE) if (folder / FILE).is_file() else None
    predictions = _predictions(folder)
    rows = _scored(folder, scores)
    joined = predictions.join(rows, on=KEY, how="left", maintain_order="left")
    about = scores.model_info if scores is not None else {}
    exchanges, by_item = _exchanges(folder, predictions, about)
    names = display_names(predictions["model"].unique(maintain_order=True).to_list(), about)
    samples = tuple(_samples(joined, exchanges, by_item, names, _repeats(folder, about)))
    title = scores.title if scores is not None else folder.resolve().name
    return RunView(
        title=title,
        samples=samples,
        exchanges=exchanges,
        models=tuple(names.values()),
        about={names[name]: info for name, info in about.items() if name in names},
        names=names,
    )


def _predictions(folder: Path) -> pl.DataFrame:
    """Every answer, under the columns the viewer shows."""
    path = folder / PREDICTIONS
    if not path.is_file():
        raise InputError(
            f"{folder} is not a finished run: it has no {PREDICTIONS}.",
            "Point to what heartfelt bench or predict wrote; run it to its end first.",
        )
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read.", "Score again: the bench writes it anew.") from error
    wanted: dict[str, type[pl.DataType]] = dict.fromkeys((*KEY, *_TEXTS), pl.String)
    wanted |= dict.fromkeys(_NUMBERS, pl.Float64) | {"attempts": pl.Int64}
    return table.select(
        pl.col(name).cast(kind) if name in table.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in wanted.items()
    )


def _scored(folder: Path, scores: Scores | None) -> pl.DataFrame:
    """The label of every item, and how far each model was off; of two tasks with the same questions the first."""
    empty = pl.DataFrame(
        schema=dict.fromkeys([*KEY, "system", "intent", "kind"], pl.String)
        | dict.fromkeys(["truth", "off", "error"], pl.Float64)
    )
    path = folder / ITEMS
    if scores is None or not path.is_file():
        return empty
    rows = pl.read_parquet(path)
    parts = [empty]
    scores = replace(scores, rows=rows)
    for task in scores.tasks:
        task_rows = rows.filter(pl.col("task") == task.id)
        errors = scores.errors(task).select(*KEY, "off")
        low = pl.min_horizontal(pl.col("truth").min(), pl.col("code").min()).over("question")
        high = pl.max_horizontal(pl.col("truth").max(), pl.col("code").max()).over("question")
        reach: pl.Expr = pl.when(high > low).then(high - low)
        if task.kind in ("binary", "categories", "choices", "traces"):
            reach = pl.lit(1.0)
        elif not task_rows["code"].is_not_null().any():
            reach = pl.len().over("model").cast(pl.Float64)
        task_rows = task_rows.join(errors, on=KEY, how="left", maintain_order="left")
        error = (100 * pl.col("off") / reach).clip(0, 100).alias("error")
        task_rows = task_rows.with_columns(error, pl.lit(task.kind).alias("kind"))
        parts.append(task_rows.select(empty.columns).cast(empty.schema))
    return pl.concat(parts).unique(KEY, keep="first", maintain_order=True)


def _exchanges(
    folder: Path, predictions: pl.DataFrame, about: Mapping[str, ModelInfo]
) -> tuple[dict[str, Exchange], dict[tuple[str, str, str], list[str]]]:
    """Every recorded request by id, and the ids of those about each item, in order of time."""
    homes = _homes(folder, CALLS, about)
    exchanges: dict[str, Exchange] = {}
    by_item: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for home in homes:
        model = str(_summary(home).get("model") or "") or (predictions["model"][0] if predictions.height else "")
        calls = pl.read_parquet(home / CALLS).sort("at")
        for row in calls.iter_rows(named=True):
            texts: dict[str, Any] = {
                name: None if row.get(name) is None else without_secrets(str(row[name])) for name in _CALL_TEXTS
            }
            exchanges[row["id"]] = Exchange(
                **{name: row.get(name) for name in _CALL_FACTS},
                **texts,
                id=row["id"],
                at=row["at"],
                cached=bool(row.get("cached")),
                model=model,
                questions=max(1, len(str(row["questions"] or "").split())),
                repeat=row.get("repeat") or 0,
            )
            for question in str(row["questions"] or "").split():
                by_item[model, row["stimulus"], question].append(row["id"])
    return exchanges, by_item


def _homes(folder: Path, file: str, about: Mapping[str, ModelInfo]) -> list[Path]:
    """The folders of single runs that hold a file: the folder itself, or those below ``runs/``.

    What a model of the same name answered before its settings were changed is left out.
    """
    homes = [folder, *sorted((folder / RUNS).glob("*"))]
    return [home for home in homes if (home / file).is_file() and _is_current(_summary(home), about)]


def _is_current(summary: Mapping[str, Any], about: Mapping[str, ModelInfo]) -> bool:
    model, described = about.get(str(summary.get("model"))), summary.get("predictor")
    return model is None or not isinstance(described, Mapping) or described.get("spec") == model.spec


def _repeats(folder: Path, about: Mapping[str, ModelInfo]) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """What each repeat of an item answered, in words."""
    answers_of: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for home in _homes(folder, REPEATS, about):
        for row in pl.read_parquet(home / REPEATS).iter_rows(named=True):
            number = row["value"] if row["value"] is not None else row["score"]
            text = row["answer"] or ("–" if number is None else f"{number:.4g}")
            problem = None if row["problem"] is None else f"failed: {without_secrets(row['problem'])}"
            answers_of[row["model"], row["stimulus"], row["question"]].append(problem or row["members"] or text)
    return {item: tuple(texts) for item, texts in answers_of.items()}


def _summary(home: Path) -> Mapping[str, Any]:
    """What a run says of itself: the name of its model and what decides its answers."""
    try:
        summary = json.loads((home / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return summary if isinstance(summary, Mapping) else {}


def _samples(
    table: pl.DataFrame,
    exchanges: Mapping[str, Exchange],
    by_item: Mapping[tuple[str, str, str], list[str]],
    names: Mapping[str, str],
    repeats: Mapping[tuple[str, str, str], tuple[str, ...]],
) -> Iterator[ViewerSample]:
    for row in table.iter_rows(named=True):
        last_call, item = row["call"], (row["model"], row["stimulus"], row["question"])
        calls = by_item.get(item, [])
        paid = [exchanges[name] for name in calls if not exchanges[name].cached]
        ordered = [
            *([last_call] if last_call in calls else []),
            *(call for call in reversed(calls) if call != last_call),
        ]
        yield ViewerSample(
            **{name: row[name] for name in _COPIED},
            model=names[row["model"]],
            problem=None if row["problem"] is None else without_secrets(row["problem"]),
            attempts=row["attempts"] or 0,
            errors=tuple(without_secrets(error) for error in json.loads(row["errors"] or "[]")),
            error=None if row["error"] is None else round(row["error"], 2),
            kind=row["kind"] or "",
            exchanges=tuple(ordered),
            input_tokens=sum_known(call.input_tokens for call in paid),
            output_tokens=sum_known(call.output_tokens for call in paid),
            cost=sum_known(None if call.cost is None else call.cost / call.questions for call in paid),
            repeats=repeats.get(item, ()),
        )


def sum_known(numbers: Iterable[N | None]) -> N | None:
    """The sum of the numbers there are; None where there are none."""
    present = [number for number in numbers if number is not None]
    return sum(present[1:], present[0]) if present else None
