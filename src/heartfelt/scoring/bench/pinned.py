"""Scoring in a process of its own, under settings that give the same numbers to the last digit on another machine.

Most of these settings only count when Python starts (:func:`heartfelt.scoring.bench.manifest.fixed_settings`), so a second
Python process computes the scores, whatever the settings of the first.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import polars as pl

import heartfelt
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.options import Without
from heartfelt.scoring.bench.manifest import (
    ManifestDifference,
    Scored,
    ScoringManifest,
    differences,
    fixed_settings,
    library_versions,
    machine_facts,
    rounded,
)
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.scores import LAYOUT, Scores
from heartfelt.serialization import dumps, from_json, read_json, to_json

SCORES, TABLE, MANIFEST = "scores.json", "scores.csv", "manifest.json"


@dataclass(frozen=True, slots=True)
class ScoringRequest:
    """What the second process is to score."""

    benchmark: str
    predictions: str
    options: ScoreOptions
    name: str | None = None


@dataclass(frozen=True, slots=True)
class PinnedScores:
    """Scores with the record of everything that decides them."""

    text: str
    """Of ``scores.json``."""
    manifest: ScoringManifest

    @property
    def scores(self) -> Scores:
        """The scores, with as many digits as are written."""
        return from_json(Scores, json.loads(self.text))

    def write(self, folder: Path) -> Path:
        """Write scores.json, scores.csv and manifest.json; the folder is either complete or absent."""
        ours = (folder / MANIFEST).is_file() and (folder / SCORES).is_file()
        with whole_folder(folder, replace=ours) as path:
            write_text(path / SCORES, self.text)
            write_text(path / TABLE, csv_text(self.scores.table()))
            write_text(path / MANIFEST, dumps(self.manifest) + "\n")
        return folder


def score_pinned(
    benchmark: Path,
    predictions: Path,
    options: Annotated[ScoreOptions | None, Without("slices")] = None,
    *,
    name: str | None = None,
    timeout: float | None = None,
) -> PinnedScores:
    """Score a file of predictions against a benchmark's folder; the same versions give the same text anywhere."""
    request = ScoringRequest(str(benchmark.resolve()), str(predictions.resolve()), options or ScoreOptions(), name)
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=dumps(request, indent=None).encode(),
        capture_output=True,
        env=second_process(fixed_settings()),
        timeout=timeout,
        check=False,
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise InputError(
            f"The process that computes the scores ended with status {done.returncode}: {last[0]}",
            "Try again with more free memory; if it happens again, report it with this message.",
        ) from None
    if "problem" in answer:
        raise InputError(answer["problem"], answer["fix"])
    return PinnedScores(answer["scores"], from_json(ScoringManifest, answer["manifest"]))


def second_process(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a second Python process that has these settings and imports the same heartfelt."""
    source = str(Path(heartfelt.__file__).parents[1])
    paths = [source, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(paths)}


def answer_to(request: ScoringRequest) -> PinnedScores:
    """Score under the settings of this process."""
    from heartfelt.labels import load_benchmark
    from heartfelt.scoring.bench.prediction_file import FileScorer

    source, path = load_benchmark(request.benchmark), Path(request.predictions)
    result = FileScorer.of(source, request.options).score_file(path, request.name)
    text = json.dumps(rounded(to_json(result.scores)), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    read, options = result.answers, result.scores.options
    hashes = [answers.content_hash for answers in read]
    content = hashes[0] if len(read) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()
    manifest = ScoringManifest(
        scores_sha256=hashlib.sha256(text.encode()).hexdigest(),
        scored=Scored(
            study=source.study.name,
            benchmark=source.hash,
            part=options.part,
            predictions=content,
            model=read[0].name if len(read) == 1 else path.stem,
            file=path.name,
            file_sha256=result.file_hash,
            rows=sum(answers.predictions.filter(pl.col("ok")).height for answers in read),
        ),
        options=options,
        seeds={"scoring": options.seed, "selection": options.selection.seed},
        versions=library_versions(),
        settings={name: os.environ.get(name, "") for name in fixed_settings()},
        platform=machine_facts(),
    )
    return PinnedScores(text, manifest)


@dataclass(frozen=True, slots=True)
class ReproductionCheck:
    """Whether scores could be reproduced; if not, what differs."""

    same: bool
    """Whether every number is the same."""
    facts: tuple[ManifestDifference, ...]
    """What differs in versions, settings, platform and inputs."""
    numbers: tuple[ManifestDifference, ...]
    """The values in ``scores.json`` that differ; empty where the earlier file is not next to its manifest."""


def verify(now: PinnedScores, manifest: Path) -> ReproductionCheck:
    """Compare scores with the manifest of an earlier run and, where it is next to the manifest, its ``scores.json``."""
    before, folder = read_manifest(manifest), manifest if manifest.is_dir() else manifest.parent
    same = before.scores_sha256 == now.manifest.scores_sha256
    facts = [difference for difference in differences(before, now.manifest) if difference.where != "scores_sha256"]
    numbers: list[ManifestDifference] = []
    earlier = folder / SCORES
    if not same and earlier.is_file():
        content = json.loads(earlier.read_text("utf-8"))
        if before.heartfelt_score < LAYOUT:
            content = replace(from_json(Scores, content), heartfelt_scores=LAYOUT)
        numbers = differences(content, json.loads(now.text))
    return ReproductionCheck(same, tuple(facts), tuple(numbers))


def read_manifest(path: Path) -> ScoringManifest:
    path = path / MANIFEST if path.is_dir() else path
    if not path.is_file():
        raise InputError(f"{path} does not exist.", f"Name the {MANIFEST} that 'heartfelt score' wrote.")
    return read_json(path, ScoringManifest)


def main() -> None:
    """The second process: a request on standard input, the answer on standard output."""
    try:
        result = answer_to(from_json(ScoringRequest, json.loads(sys.stdin.read())))
        answer: object = {"scores": result.text, "manifest": result.manifest}
    except HeartfeltError as error:
        answer = {"problem": error.problem, "fix": error.fix}
    sys.stdout.write(dumps(answer, indent=None))


if __name__ == "__main__":
    main()
