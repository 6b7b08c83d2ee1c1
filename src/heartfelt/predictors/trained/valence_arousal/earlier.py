"""The answers of ``valence_arousal.predict`` and of the former command of this name, until version 0.9.

``heartfelt.predict`` replaces them: a table for every model, with the same numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.media.sound import SoundFile
from heartfelt.predictors.files.media_files import predict_files
from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.predictors.trained.predictor import OUT_OF_FOLD, TrainedPredictor
from heartfelt.progress import Progress
from heartfelt.serialization import Json

_VALUES = ("value", "low", "high", "spread")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePrediction:
    """The prediction for one file, or why there is none (``problem``)."""

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

    @property
    def ok(self) -> bool:
        return self.problem is None

    @classmethod
    def of(cls, table: pl.DataFrame) -> FilePrediction:
        rows = list(table.iter_rows(named=True))
        first = rows[0]
        if not first["ok"]:
            return cls(file=first["file"], problem=first["problem"], fix="")
        warning = str(first.get("warning") or "")
        note = OUT_OF_FOLD if warning.startswith(OUT_OF_FOLD) else None
        warning = warning.removeprefix(OUT_OF_FOLD).removeprefix("; ")
        return cls(
            file=first["file"],
            values={
                row["question"]: {name: round(row[name], 4) for name in _VALUES if row.get(name) is not None}
                for row in rows
            },
            seconds=SoundFile.of(first["file"]).seconds,
            level=first.get("confidence"),
            curve=_curve(rows),
            warnings=(warning,) if warning else (),
            note=note,
            flag=first.get("flag"),
        )

    def to_json(self) -> dict[str, Json]:
        """A plain object for strict JSON."""
        if not self.ok:
            return {"file": self.file, "problem": self.problem, "fix": self.fix}
        out: dict[str, Json] = {
            "file": self.file,
            **{name: dict(value) for name, value in self.values.items()},
        }
        out |= {"level": self.level, "seconds": round(self.seconds or 0.0, 3)}
        out |= {"flag": self.flag, "warnings": list(self.warnings)}
        if self.curve:
            out["curve"] = [dict(point) for point in self.curve]
        return out | ({"note": self.note} if self.note else {})


def _curve(rows: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, float], ...]:
    """A point for every window of a longer file, by when it begins."""
    samples = {row["question"]: json.loads(row["samples"]) for row in rows if row["samples"]}
    if not samples:
        return ()
    step, middle = 1.0 / rows[0]["rate"], rows[0]["start"]
    return tuple(
        {
            "start": round(middle + (at - 0.5) * step, 3),
            **{name: round(values[at], 4) for name, values in samples.items()},
        }
        for at in range(len(next(iter(samples.values()))))
    )


def predict(
    files: Iterable[Path | str], *, model: TrainedModel | None = None, progress: Progress | None = None
) -> list[FilePrediction]:
    """Predict every file, in order; a folder stands for the sound files in it. A file that fails has an entry too."""
    predictor = "valence-arousal" if model is None else TrainedPredictor(model)
    return file_predictions(predict_files(files, predictor, progress=progress).table)


def file_predictions(table: pl.DataFrame) -> list[FilePrediction]:
    return [FilePrediction.of(rows) for _, rows in table.group_by("file", maintain_order=True)]
