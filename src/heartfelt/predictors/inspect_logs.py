"""Logs of inspect_ai, ``.eval`` (a zip of JSON files) and ``.json``, as predictions.

A sample's id is the stimulus, unless its metadata name a ``stimulus`` (and a ``question``). What the model answered is, in this
order: the ``answer`` of the scorer, a scorer's value that is a number (a scorer may also return one for each question), or what
the model wrote. Epochs are put together once the question's scale is known: the mean of numbers, the most frequent category.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.predictor import Ask, Prediction
from heartfelt.study.answer import read_number
from heartfelt.wording import plural

LOG = "eval"
_ZSTD = 93
_ZSTD_HEAD = b"\x28\xb5\x2f\xfd"
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w)")
_GRADES = {"C", "I", "P", "N"}
"""What inspect_ai's scorers write for correct, incorrect, partial and no answer."""


def is_log(path: Path) -> bool:
    """Whether a file is a log: by its ending, or a JSON file that begins with what only a log has."""
    if path.suffix.lower() == f".{LOG}":
        return True
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return head.lstrip().startswith(b"{") and all(
        name in head for name in (b'"version"', b'"eval"', b'"run_id"')
    )


def read_log(path: Path) -> list[dict[str, Any]]:
    """A row for each sample and epoch: the stimulus, the question where the sample names one, and what is used of the sample."""
    rows: list[dict[str, Any]] = []
    seen: set[tuple[str, Any]] = set()
    for where, sample in _samples(path):
        identity = (str(sample["id"]), sample.get("epoch", 1))
        if identity in seen:
            raise InputError(f"{where}: the sample '{identity[0]}' has epoch {identity[1]} twice.", _COMPLETE)
        seen.add(identity)
        facts = _part(sample, "metadata")
        used = {name: sample.get(name) for name in ("id", "error", "scores", "choices")}
        used["output"] = {"completion": _part(sample, "output").get("completion")}
        stimulus, question = str(facts.get("stimulus", sample["id"])), facts.get("question")
        rows.append({"stimulus": stimulus, "question": question, "sample": used})
    return rows


def log_entries(
    rows: Sequence[Mapping[str, Any]], questions: Sequence[str], scorer: str | None, path: Path
) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
    """Number of the first sample, stimulus, question and what was ``said`` in each epoch."""
    entries: dict[tuple[str, str], tuple[int, list[Prediction]]] = {}
    for place, row in enumerate(rows, 1):
        for name, answer in _answers(row["sample"], questions, scorer, path).items():
            about = name or row["question"]
            if about is None and len(questions) > 1:
                raise InputError(
                    f"{path} does not say which question a sample answers, and {len(questions)} are asked.",
                    "Ask one question; or give samples the metadata 'question', or name the scorers like the questions.",
                )
            key = row["stimulus"], str(about or questions[0])
            entries.setdefault(key, (place, []))[1].append(answer)
    for (stimulus, question), (place, answers) in entries.items():
        yield place, stimulus, question, {"said": answers}


_COMPLETE = "Get a complete copy of the log."


def _answers(
    sample: Mapping[str, Any], questions: Sequence[str], scorer: str | None, path: Path
) -> dict[str | None, Prediction]:
    """What one sample answers, by question; None where the log does not say which."""
    error = sample.get("error")
    if error:
        message = error.get("message") if isinstance(error, Mapping) else error
        return {None: Prediction.failed(" ".join(str(message).split())[:300])}
    scores = {
        str(name): score for name, score in _part(sample, "scores").items() if isinstance(score, Mapping)
    }
    if scorer is not None:
        if scorer not in scores:
            raise InputError(
                f"{path}: '{sample['id']}' has no score of '{scorer}'.", suggestion(scorer, scores, "Scorers")
            )
        scores = {scorer: scores[scorer]}
    named = {name: score for name, score in scores.items() if name in questions}
    if named:
        return {name: _answer_of(score, sample) for name, score in named.items()}
    for score in scores.values():
        value = score.get("value")
        if isinstance(value, Mapping) and set(value) & set(questions):
            return {name: _answer_of({"value": value[name]}, sample) for name in value if name in questions}
    return {None: _answer_of(next(iter(scores.values()), {}), sample)}


def _answer_of(score: Mapping[str, Any], sample: Mapping[str, Any]) -> Prediction:
    answer, value, facts = score.get("answer"), score.get("value"), _part(score, "metadata")
    reason = score.get("explanation")
    why = str(reason) if reason and reason != answer else None
    if answer is not None and str(answer).strip():
        return Prediction(answer=_chosen(str(answer).strip(), sample), reason=why)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        number = float(value)
        return (
            Prediction(score=number, reason=why)
            if facts.get("off_scale")
            else Prediction(value=number, reason=why)
        )
    if isinstance(value, str) and value not in _GRADES:
        return Prediction(answer=value, reason=why)
    completion = str(_part(sample, "output").get("completion") or "").strip()
    return Prediction(answer=completion) if completion else Prediction.failed("the model wrote nothing")


def _chosen(answer: str, sample: Mapping[str, Any]) -> str:
    """The text of the choice whose letter was answered, where the sample has choices."""
    choices = sample.get("choices")
    place = ord(answer.upper()) - ord("A") if len(answer) == 1 else -1
    return str(choices[place]) if isinstance(choices, list) and 0 <= place < len(choices) else answer


def together(epochs: Sequence[Prediction], ask: Ask) -> Prediction:
    """The epochs of one stimulus as one prediction on the question's scale."""
    read = [_on_scale(prediction, ask) for prediction in epochs]
    good = [prediction for prediction in read if prediction.problem is None]
    if len(read) == 1 or not good:
        return read[0]
    lost = "" if len(good) == len(read) else f"; {len(read) - len(good)} of {len(read)} failed"
    numbers = [prediction.value for prediction in good if prediction.value is not None]
    if len(numbers) == len(good) and not ask.scale.labels():
        return Prediction(
            value=math.fsum(numbers) / len(numbers), note=f"mean of {plural(len(numbers), 'epoch')}{lost}"
        )
    counts = Counter(_category(prediction, ask) for prediction in good)
    answer, times = counts.most_common(1)[0]
    tied = sum(count == times for count in counts.values()) > 1
    note = f"answered in {times} of {len(good)} epochs{', the first of those tied' if tied else ''}{lost}"
    return Prediction(answer=answer, note=note)


def _category(prediction: Prediction, ask: Ask) -> str:
    """An answer as the scale spells it, so that the same answers are counted together."""
    words = ask.scale.labels()
    if prediction.value is not None:
        return words.get(prediction.value, f"{prediction.value:g}")
    answer = str(prediction.answer).strip(" .")
    return {word.casefold(): word for word in words.values()}.get(answer.casefold(), str(prediction.answer))


def _on_scale(prediction: Prediction, ask: Ask) -> Prediction:
    """The answer as the scale spells it; where a number is wanted, the answer itself, or the only number in it."""
    if prediction.answer is None or ask.scale.level == "text":
        return prediction
    if ask.scale.labels():
        return replace(prediction, answer=_category(prediction, ask))
    text = str(prediction.answer)
    number = read_number(text)
    numbers = _NUMBER.findall(text) if number is None else []
    if number is None and len(numbers) != 1:
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        return Prediction.failed(f"the log's answer '{shown}' is not a number")
    note = None if number is not None else "the only number in the answer"
    return Prediction(
        value=float(numbers[0]) if number is None else number, reason=prediction.reason, note=note
    )


def _samples(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "Check the path.")
    if path.suffix.lower() != f".{LOG}":
        log = _object(path.read_bytes(), str(path))
        listed: Sequence[Any] = log.get("samples") or []
        for place, sample in enumerate(listed, 1):
            yield _checked(sample, f"{path}, sample {place}")
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if info.filename.startswith("samples/")]
            for info in sorted(members, key=lambda info: info.header_offset):
                content = _member(archive, path, info)
                yield _checked(_object(content, f"{path}, {info.filename}"), f"{path}, {info.filename}")
    except (zipfile.BadZipFile, EOFError, OSError, struct.error) as error:
        raise InputError(f"{path} is not a complete log of inspect_ai: {error}.", _COMPLETE) from error


def _checked(sample: Any, where: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(sample, dict) or "id" not in sample:
        raise InputError(f"{where}: this is no sample of inspect_ai.", _COMPLETE)
    return where, sample


def _object(content: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: this is not valid JSON ({error}).", _COMPLETE) from error
    if not isinstance(record, dict):
        raise InputError(f"{where}: this is no object.", _COMPLETE)
    return record


def _member(archive: zipfile.ZipFile, path: Path, info: zipfile.ZipInfo) -> bytes:
    """A file of the zip. Newer logs are compressed with Zstandard, which Python's zipfile learns in 3.14; Polars reads it."""
    if info.compress_type != _ZSTD:
        return archive.read(info)
    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
        file.seek(name + extra, 1)
        packed = file.read(info.compress_size)
    if not packed.startswith(_ZSTD_HEAD):
        raise zipfile.BadZipFile(f"{info.filename} is damaged")
    try:
        lines = pl.read_lines(io.BytesIO(packed)).to_series()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise zipfile.BadZipFile(f"{info.filename} is damaged") from error
    return "\n".join(lines.to_list()).encode()


def _part(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}
