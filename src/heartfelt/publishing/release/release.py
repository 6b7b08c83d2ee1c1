"""What is published: the anonymised snapshot and everything made from it.

Layouts and papers see a :class:`Release` and nothing else, so nothing private can get into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from heartfelt.progress import Progress

if TYPE_CHECKING:
    from heartfelt.analysis import Analysis
    from heartfelt.labels import Benchmark
    from heartfelt.labels.splits import SplitOptions
    from heartfelt.publishing.statements.details import Details
    from heartfelt.screening import Panel
    from heartfelt.snapshot import Snapshot

StepKind = Literal[
    "pseudonyms",
    "wishes",
    "demographics",
    "free-text",
    "times",
    "media",
    "hold-out",
    "columns",
    "hashes",
    "split",
    "earlier",
    "check",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseStep:
    """One thing that was done to the data before publishing: in a sentence, and in numbers."""

    kind: StepKind
    table: str
    column: str | None
    about: str
    """What was done, as a sentence for the card and the record."""
    rows: int = 0
    """Rows it changed or removed."""
    lost: float | None = None
    """The share of the column's information that this cost, from 0 to 1, where it can be stated."""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRecord:
    """Every step from the source to what is published, in order."""

    source_hash: str
    """Of the source, keyed: only who has the private folder can tell what it is over."""
    published_hash: str
    version: str
    k: int
    l: int  # noqa: E741  # the letter the literature uses for diversity
    steps: tuple[ReleaseStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMedium:
    """How one stimulus' media are published: a file without metadata, or a link and a hash where sharing is not allowed."""

    stimulus: str
    sha256: str
    """Of the published file; of the file without metadata where only a link is published; keyed where there is neither."""
    bytes: int
    path: str | None = None
    """Relative to the release's folder; None where the file itself is not published."""
    source: Path | None = field(default=None, metadata={"skip": True})
    """The file with metadata removed, before it is copied into the release."""
    link: str | None = None
    why_absent: str | None = None
    """Why there is no file: the licence, or media that were not at hand."""


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """One column of a published table."""

    name: str
    dtype: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """One file of the release that holds a table, or a part of one."""

    path: str
    layout: str
    table: str
    split: str | None
    rows: int
    columns: tuple[PublishedColumn, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Release:
    """What layouts and papers are made from."""

    snapshot: Snapshot
    """Anonymised, and without held-out ratings."""
    benchmark: Benchmark | None
    """Labels and splits of this snapshot, without held-out labels; None where no label could be made."""
    why_no_benchmark: str | None
    analysis: Analysis | None
    """Of this snapshot, so that it can be reproduced from what is published."""
    panel: Panel | None
    record: ReleaseRecord
    details: Details
    media: Mapping[str, PublishedMedium]
    hold_out: str | None = None
    split: SplitOptions | None = None
    """How stimuli are divided where there is no benchmark; a benchmark's own split comes first."""
    files: tuple[PublishedFile, ...] = ()
    """Tables that the layouts have written; papers are made after layouts."""


class ReleaseLayout(Protocol):
    """A way to arrange a release in files."""

    name: str
    about: str

    def write(self, release: Release, folder: Path, progress: Progress) -> tuple[PublishedFile, ...]:
        """Write below ``folder``, the release's own, and say which tables were written."""
        ...
