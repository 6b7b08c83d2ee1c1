"""The record of a publication: every step, machine-readable in ``publication.json`` and in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from heartfelt import __version__
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.release.release import ReleaseRecord, ReleaseStep
from heartfelt.serialization import write_json
from heartfelt.snapshot import Snapshot
from heartfelt.wording import percent

RECORD = "publication.json"


def record(
    source_hash: str, published: Snapshot, steps: Iterable[ReleaseStep], options: PublishOptions
) -> ReleaseRecord:
    return ReleaseRecord(
        source_hash=source_hash,
        published_hash=published.hash,
        version=__version__,
        k=options.k,
        l=options.l,
        steps=tuple(steps),
    )


def write_record(record: ReleaseRecord, folder: Path) -> Path:
    write_json(folder / RECORD, record)
    return folder / RECORD


def sentences(record: ReleaseRecord) -> list[str]:
    """The record to read: one line per step, each with its table, column and cost."""
    lines = []
    for step in record.steps:
        where = step.table if step.column is None else f"{step.table}.{step.column}"
        cost = "" if step.lost is None else f" Information lost: {percent(step.lost)}."
        if emptied := step.settings.get("emptied"):
            cost = f"{cost[:-1]}; cells emptied: {emptied}."
        lines.append(f"{where}: {step.about}{cost}")
    return lines
