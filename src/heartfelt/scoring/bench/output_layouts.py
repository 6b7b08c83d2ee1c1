"""Answers of a bench in the files of other tools: ``--as answers`` (challenges) and ``--as inspect`` (logs of inspect_ai)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, TypeVar

import polars as pl

from heartfelt import __version__, clock
from heartfelt.errors import InputError
from heartfelt.files import file_names, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.labels import Benchmark
from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.predictors.files.inspect_answers import PREDICTION
from heartfelt.predictors.files.inspect_logs import COMPARES
from heartfelt.predictors.task import ask_of
from heartfelt.scoring.layouts import LAYOUTS, OutputLayout
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.scores import Scores
from heartfelt.snapshot import Snapshot

T = TypeVar("T")
OFF_SCALE = "off_scale"
"""In the metadata of a score in a log: whether its value is off the question's scale."""
_AS_JSON = ("shares", "members", "orders", "samples")
_PARTS = (*("value", "score", "answer", "low", "high", "reason", "note", "rate", "start"), *_AS_JSON)
"""The parts of a prediction that a file of predictions can hold."""


def _numeric(source: Snapshot | Benchmark) -> list[str]:
    """The questions about single stimuli that are answered with numbers, in the order of the study."""
    study = source.study
    return [question.id for question in study.asked if study.scale_of(question.id).level == "interval"]


class AnswersLayout(OutputLayout):
    """The answer file of a challenge: a line per stimulus, without a header."""

    name: ClassVar[str] = "answers"

    def check(self, source: Snapshot | Benchmark) -> None:
        if not _numeric(source):
            raise InputError(
                f"'{source.study.name}' asks nothing that an answer file can hold.",
                "It holds questions answered with numbers; leave out --as answers.",
            )

    def write_scores(
        self,
        source: Snapshot | Benchmark,
        predictions: pl.DataFrame,
        scores: Scores,
        folder: Path,
        options: ScoreOptions,
        calls: pl.DataFrame | None = None,
    ) -> list[Path]:
        """``answer.txt`` of each model: the stimulus without its ending, and a number for each question.

        Stimuli that differ only in their ending keep it. A stimulus that lacks one of the numbers is in ``missing.txt`` instead.
        """
        del options, calls
        questions = [q for q in _numeric(source) if q in set(predictions["question"])]
        numbers = predictions.with_columns(number=pl.coalesce("value", "score")).filter(
            pl.col("question").is_in(questions)
        )
        names = file_names(scores.models)
        for model in scores.models:
            wide = numbers.filter(pl.col("model") == model).pivot(
                "question", on_columns=questions, index="stimulus", values="number", maintain_order=True
            )
            complete = pl.all_horizontal(pl.col(questions).is_not_null())
            stem = pl.Series("stimulus", _without_endings(wide["stimulus"].to_list()), pl.String)
            target = folder / self.name / names[model]
            target.mkdir(parents=True)
            write_text(target / "answer.txt", csv_text(wide.with_columns(stem).filter(complete), header=False))
            missing = wide.filter(~complete)["stimulus"]
            if missing.len():
                write_text(target / "missing.txt", "".join(f"{name}\n" for name in missing))
        return [folder / self.name]


def _without_endings(names: Sequence[str]) -> list[str]:
    """The names without their endings, but for those that would not differ any more."""
    stems = [
        name[: -len(ending)] if (ending := PurePosixPath(name).suffix) and ending.lower() in AUDIO | IMAGES else name
        for name in names
    ]
    counts = Counter(stems)
    return [stem if counts[stem] == 1 else name for name, stem in zip(names, stems, strict=True)]


class InspectLayout(OutputLayout):
    """A log for ``inspect view`` of each model: a sample for every item, with what was asked, answered and expected."""

    name: ClassVar[str] = "inspect"

    def write_scores(
        self,
        source: Snapshot | Benchmark,
        predictions: pl.DataFrame,
        scores: Scores,
        folder: Path,
        options: ScoreOptions,
        calls: pl.DataFrame | None = None,
    ) -> list[Path]:
        del options
        asks = {question.id: ask_of(source.study, question) for question in source.study.asked}
        truth = {
            (row["stimulus"], row["question"]): row["truth"]
            for row in scores.rows.select("stimulus", "question", "truth").unique(maintain_order=True).to_dicts()
        }
        requests = {} if calls is None else {str(row["id"]): row for row in calls.to_dicts()}
        target = folder / self.name
        target.mkdir()
        names = file_names(scores.models)
        single = set(source.stimuli["stimulus"])
        for model in scores.models:
            rows = predictions.filter(pl.col("model") == model).to_dicts()
            several = len({row["question"] for row in rows}) > 1
            samples = [
                _sample(
                    row,
                    asks[row["question"]].words,
                    _spelled(truth.get((row["stimulus"], row["question"])), asks[row["question"]].scale.labels()),
                    requests.get(row.get("call") or "", {}),
                    f"{row['stimulus']}/{row['question']}" if several else row["stimulus"],
                    model,
                )
                for row in rows
            ]
            compares = any(row["stimulus"] not in single for row in rows)
            log = _log(scores, model, samples, compares=compares)
            text = json.dumps(log, ensure_ascii=False, indent=1, allow_nan=False)
            write_text(target / f"{names[model]}.json", text + "\n")
        return [target]


def _spelled(truth: float | str | None, words: Mapping[float, str]) -> str:
    """A label as text: the category, or the number."""
    if truth is None:
        return ""
    return truth if isinstance(truth, str) else words.get(truth, f"{truth:g}")


def _sample(
    row: Mapping[str, Any], words: str, target: str, call: Mapping[str, Any], name: str, model: str
) -> dict[str, object]:
    off_scale = row["value"] is None and row["score"] is not None
    number = row["score"] if off_scale else row["value"]
    answer, prompt = row["answer"], call.get("prompt") or words
    completion = call.get("completion") or (answer if answer is not None else "" if number is None else repr(number))
    used = {part: call.get(f"{part}_tokens") or 0 for part in ("input", "output")}
    message = {"role": "assistant", "content": completion, "source": "generate"}
    stop_reason = "max_tokens" if call.get("finish_reason") == "length" else "stop"
    sample: dict[str, object] = {
        "id": name,
        "epoch": 1,
        "input": prompt,
        "target": target,
        "messages": [{"role": "user", "content": prompt, "source": "input"}, message],
        "output": {
            "model": call.get("model") or model,
            "choices": [{"message": message, "stop_reason": stop_reason}],
            "completion": completion,
            "usage": {f"{part}_tokens": count for part, count in used.items()} | {"total_tokens": sum(used.values())},
        },
        "metadata": {"stimulus": row["stimulus"], "question": row["question"]},
        "store": {},
        "events": [],
        "attachments": {},
    }
    if row["ok"]:
        sample["scores"] = {"prediction": _prediction(row, number, off_scale)}
    else:
        sample["error"] = {"message": row["problem"] or "", "traceback": "", "traceback_ansi": ""}
    return sample


def _prediction(row: Mapping[str, Any], number: float | None, off_scale: bool) -> dict[str, object]:
    """What was predicted, as the score of a sample: its value is the first part of the prediction that there is."""
    present = _stated({name: row.get(name) for name in _PARTS})
    prediction = {name: json.loads(part) if name in _AS_JSON else part for name, part in present.items()}
    samples = prediction.get("samples")
    trace = None if samples is None else ["" if part is None else part for part in samples]
    values = (trace, number, row["answer"], prediction.get("members"), prediction.get("shares"), "")
    score = {
        "value": next(value for value in values if value is not None),
        "answer": row["answer"],
        "explanation": row["reason"],
        "metadata": {OFF_SCALE: off_scale, PREDICTION: prediction},
    }
    return _stated(score)


def _stated(parts: Mapping[str, T | None]) -> dict[str, T]:
    """The parts that there are."""
    return {name: part for name, part in parts.items() if part is not None}


def _log(scores: Scores, model: str, samples: Sequence[Mapping[str, object]], *, compares: bool) -> dict[str, object]:
    """The parts of a log around its samples; ids follow from what is in it, so that the same bench gives the same log."""
    content = json.dumps(samples, sort_keys=True)
    digest = hashlib.sha256(f"{scores.hash} {model} {content}".encode()).hexdigest()
    now = clock.now().isoformat(timespec="seconds")
    info = scores.model_info.get(model)
    usage = None if info is None else info.usage
    tokens = {} if usage is None else {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    headlines = [(task, scores.headline(task.id, model, "estimate").value) for task in scores.tasks]
    metrics = [
        {"name": task.id, "scorer": "prediction", "metrics": {task.headline: {"name": task.headline, "value": value}}}
        for task, value in headlines
        if value is not None
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": digest[:22],
            "created": now,
            "task": scores.study,
            "task_id": digest[22:44],
            "task_version": 0,
            "dataset": {
                "name": scores.title,
                "samples": len(samples),
                "sample_ids": [sample["id"] for sample in samples],
                "shuffled": False,
            },
            "model": model,
            "config": {"epochs": 1},
            "packages": {"heartfelt": __version__},
            "metadata": {"source": scores.hash, "predictor": model if info is None else info.spec}
            | ({COMPARES: True} if compares else {}),
            "scorers": [{"name": "prediction"}],
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(samples),
            "completed_samples": sum("error" not in s for s in samples),
            "scores": metrics,
        },
        "stats": {
            "started_at": now,
            "completed_at": now,
            "model_usage": {model: tokens | {"total_tokens": sum(tokens.values())}} if tokens else {},
        },
        "samples": samples,
    }


for _layout in (AnswersLayout(), InspectLayout()):
    LAYOUTS.add(_layout.name, _layout)
