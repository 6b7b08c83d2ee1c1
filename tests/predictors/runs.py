"""What tests of runs share: a predictor that does as it was told, a run, and a wait for its journal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heartfelt.predictors import Case, Prediction, Predictor, Retry, Run, RunOptions, predictor_from, run

QUICK = Retry(retries=2, first_wait=0.01, longest_wait=0.05)


def ran(spec: str, asked: Sequence[Case], folder: Path | None = None, options: RunOptions | None = None) -> Run:
    with predictor_from(spec) as predictor:
        return run(predictor, asked, folder, options)


def wait_for_lines(path: Path, lines: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < lines):
        time.sleep(0.01)


class Scripted(Predictor):
    """Says what a function says; counts how often it was asked."""

    name = "scripted"
    about = "for tests"
    needs_media = False

    def __init__(self, say: Any) -> None:
        self.say = say
        self.calls: list[tuple[str, ...]] = []

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Scripted:
        raise NotImplementedError

    @property
    def identity(self) -> str:
        return "scripted 1"

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        self.calls.append(tuple(case.stimulus for case in cases))
        return [self.say(case, len(self.calls)) for case in cases]
