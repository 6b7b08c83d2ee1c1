"""Valence and arousal of music, offline: a head trained on real ratings of AI-generated music, shipped with heartfelt.

``predict`` answers for sound files: one answer per file, a curve over time for long ones, a reason where there is none. The
head is also the predictor ``valence-arousal``; its card is ``docs/valence-arousal.md``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.media.audio import content_hash
from heartfelt.media.probe import AUDIO
from heartfelt.predictors.predictor import PREDICTORS
from heartfelt.predictors.trained.embeddings import Embedding, Features
from heartfelt.predictors.trained.model import TrainedModel, load_trained
from heartfelt.predictors.trained.predictor import OUT_OF_FOLD, TrainedPredictor, doubt_of, interval
from heartfelt.progress import Progress

SHIPPED = Path(__file__).parent / "shipped"


@cache
def shipped() -> TrainedModel:
    """The head that comes with heartfelt."""
    return load_trained(SHIPPED)


@PREDICTORS.register("valence-arousal")
class ValenceArousal(TrainedPredictor):
    """Valence and arousal of music by the shipped head."""

    name = "valence-arousal"
    extra = "predict"
    about = "valence and arousal of music: the head shipped with heartfelt"
    argument = ""

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> ValenceArousal:
        """There is nothing to set."""
        del argument, options
        return cls(shipped())


@dataclass(frozen=True, slots=True)
class FilePrediction:
    """The prediction for one file, or why there is none (``problem`` and ``fix``).

    ``values`` holds ``value``, ``low`` and ``high`` by question, and ``spread``, the standard deviation of single people's
    answers, where the model learned from single answers; ``curve`` has one entry per window where a file has several.
    """

    file: str
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    seconds: float | None = None
    level: float | None = None
    curve: tuple[Mapping[str, float], ...] = ()
    warnings: tuple[str, ...] = ()
    note: str | None = None
    problem: str | None = None
    fix: str | None = None
    flag: str | None = None
    """What makes it doubtful: ``silent``, ``too short`` or ``unlike training``; ``warnings`` say more."""

    @property
    def ok(self) -> bool:
        """Whether there is a prediction."""
        return self.problem is None

    def to_json(self) -> dict[str, Any]:
        """A plain object for strict JSON."""
        if not self.ok:
            return {"file": self.file, "problem": self.problem, "fix": self.fix}
        out: dict[str, Any] = {
            "file": self.file,
            **{name: dict(value) for name, value in self.values.items()},
        }
        out |= {
            "level": self.level,
            "seconds": round(self.seconds or 0.0, 3),
            "flag": self.flag,
            "warnings": list(self.warnings),
        }
        if self.curve:
            out["curve"] = [dict(point) for point in self.curve]
        if self.note:
            out["note"] = self.note
        return out


def predict(
    files: Iterable[Path | str], *, model: TrainedModel | None = None, progress: Progress | None = None
) -> list[FilePrediction]:
    """Predict every file, in order; a folder stands for the sound files in it. A file that fails has an entry too."""
    several = [files] if isinstance(files, str | Path) else files
    if isinstance(several, Mapping | bytes | type) or not isinstance(several, Iterable):
        raise InputError(
            f"Nothing can be predicted for a value of type '{type(files).__name__}'.",
            "Give media files, a folder, a list of them, or a snapshot: heartfelt.read(...).",
        )
    paths = list(expanded(several))
    model = model or shipped()
    look = model.look()
    predictions: list[FilePrediction] = []
    workers = min(4, os.cpu_count() or 1, max(len(paths), 1))
    with ThreadPoolExecutor(workers) as pool:
        for prediction in pool.map(lambda path: _predict(path, model, look), paths):
            predictions.append(prediction)
            if progress is not None:
                progress("predicting", len(predictions), len(paths))
    return predictions


def expanded(files: Iterable[Path | str]) -> Iterator[Path]:
    """The files meant: a folder stands for the sound files below it, in order."""
    for name in files:
        if not isinstance(name, str | Path):
            raise InputError(f"{name!r:.80} is not the path of a file or folder.", "Give paths.")
        path = Path(name)
        if not path.is_dir():
            yield path
            continue
        inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in AUDIO and file.is_file())
        if not inside:
            raise InputError(
                f"There are no sound files in {path}.", f"Known endings: {', '.join(sorted(AUDIO))}."
            )
        yield from inside


def _predict(path: Path, model: TrainedModel, look: Embedding) -> FilePrediction:
    try:
        features = look.of(path)
        left_out = model.out_of_fold_of(content_hash(path)) if model.out_of_fold else None
    except HeartfeltError as error:
        return FilePrediction(str(path), problem=error.problem, fix=error.fix)
    except OSError as error:
        return FilePrediction(
            str(path),
            problem=f"{path} cannot be read: {error.strerror}.",
            fix="Check the path and its permissions.",
        )
    return from_features(str(path), features, model, None if left_out is None else left_out.values)


def from_features(
    file: str, features: Features, model: TrainedModel, left_out: Mapping[str, float] | None = None
) -> FilePrediction:
    """The prediction of a file from its features."""
    values: dict[str, dict[str, float]] = {}
    doubt = doubt_of(model, features)
    curve: list[dict[str, float]] = [{"start": round(float(start), 3)} for start in features.starts]
    for out in model.outputs:
        answers = out.on_scale(out.head.answer(features.rows))
        value = (left_out or {}).get(out.question, float(answers.mean()))
        low, high = interval(out, value, doubt)
        values[out.question] = {"value": round(value, 4), "low": round(low, 4), "high": round(high, 4)}
        if out.answers is not None:
            values[out.question]["spread"] = round(float(out.answers.sd(value)), 4)
        for point, number in zip(curve, answers.tolist(), strict=True):
            point[out.question] = round(number, 4)
    return FilePrediction(
        file,
        values,
        features.seconds,
        model.outputs[0].confidence,
        tuple(curve) if len(curve) > 1 else (),
        doubt.words,
        OUT_OF_FOLD if left_out is not None else None,
        flag=doubt.flag,
    )
