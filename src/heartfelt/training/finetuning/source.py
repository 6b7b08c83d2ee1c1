"""The stimuli of one source that have both a label and a file that can be read, and why the others are left out."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt.errors import HeartfeltError
from heartfelt.files import inside
from heartfelt.labels import LabelOptions, first_answers, labels
from heartfelt.media.audio import content_hash
from heartfelt.media.checks import sound_hash
from heartfelt.media.duplicates import Bits, image_hash
from heartfelt.media.sound import read_samples
from heartfelt.predictors.task import prompt_of
from heartfelt.progress import Progress
from heartfelt.screening import Panel, screen
from heartfelt.snapshot import Snapshot
from heartfelt.training.finetuning.task import Example
from heartfelt.training.heads.label_checks import STAGE, LedgerRow
from heartfelt.training.heads.material import LEAST_RATINGS

_NO_FILE = "its media file is not available"
_NO_LABEL = "it has no label: nobody rated it, or too few people did"
LedgerRows: TypeAlias = list[LedgerRow]


@dataclass(slots=True, kw_only=True)
class GatheredSource:
    """The stimuli of one source with both a label and a file."""

    snapshot: Snapshot
    panel: Panel
    facts: pl.DataFrame
    examples: list[Example]
    hashes: list[Bits | None]
    ledger: LedgerRows = field(default_factory=list)


def gather_source(
    source: Snapshot, questions: list[str], policy: str, seed: int, name: str, progress: Progress | None
) -> GatheredSource:
    """Screen the raters of a source and look for the file of every stimulus with a label."""
    panel = screen(source, policy, seed=seed)
    screened = panel.snapshot()
    facts = source.without_probes.stimuli
    labelled = labels_of_raters(screened).filter(pl.col("question").is_in(questions))["stimulus"]
    answered = first_answers(screened).filter(pl.col("question").is_in(questions))["stimulus"]
    with_labels = set(labelled) | set(answered)
    out = GatheredSource(snapshot=source, panel=panel, facts=facts, examples=[], hashes=[])
    prompts = {prompt.id: prompt.text for prompt in source.study.prompts}
    root, rows = source.source.media_root, []
    fingerprint = _fingerprint_of(source.study.media)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        every = list(facts.iter_rows(named=True))
        paths = [
            None if root is None or row.get("path") is None else inside(Path(root), row["path"], "stimuli")
            for row in every
        ]
        reads = pool.map(
            lambda pair: _read(pair[0], pair[1], fingerprint),
            [(str(row["stimulus"]) in with_labels, path) for row, path in zip(every, paths, strict=True)],
        )
        for done, (row, path, read) in enumerate(zip(every, paths, reads, strict=True), 1):
            stimulus = str(row["stimulus"])
            if progress is not None:
                progress("looking at the media", done, len(every))
            if isinstance(read, str):
                if stimulus in with_labels or read == _NO_LABEL:
                    out.ledger.append(("stimulus", None, stimulus, None, read, STAGE))
                continue
            assert path is not None
            facts_of = {key: str(value) for key, value in row.items() if value is not None}
            out.examples.append(
                Example(
                    stimulus=stimulus,
                    path=path,
                    content=read[0],
                    prompt=prompt_of(row, prompts),
                    system=row.get("system"),
                    intent=row.get("intent"),
                    facts=facts_of,
                    source=name,
                )
            )
            out.hashes.append(read[1])
            rows.append(row["stimulus"])
    out.facts = facts.filter(pl.col("stimulus").is_in(rows))
    if name:
        shown = [column for column in ("prompt",) if column in out.facts.columns]
        prefixed = [
            pl.concat_str(pl.lit(f"{name}\x1f"), pl.col(column).cast(pl.String)).alias(column)
            for column in ("stimulus", *shown)
        ]
        out.facts = out.facts.with_columns(prefixed)
    return out


def _read(
    labelled: bool, path: Path | None, fingerprint: Callable[[Path], Bits | None]
) -> tuple[str, Bits | None] | str:
    """The hash of a file's content and its fingerprint, or why it cannot be used."""
    if path is None or not path.is_file():
        return _NO_FILE
    if not labelled:
        return _NO_LABEL
    try:
        return content_hash(path), fingerprint(path)
    except HeartfeltError as error:
        return error.problem


def _fingerprint_of(media: str) -> Callable[[Path], Bits | None]:
    """What recognises near-duplicates of a medium; files that cannot be read raise."""
    if media == "image":
        return image_hash
    if media in ("audio", "speech"):
        return lambda path: sound_hash(*read_samples(path))
    return lambda _: None


def labels_of_raters(screened: Snapshot) -> pl.DataFrame:
    """The labels that are trained on."""
    least = min(LEAST_RATINGS, screened.study.design.minimum_ratings)
    return labels(screened, LabelOptions(minimum_ratings=least)).table
