"""What a format is: a way to read somebody's files into a snapshot, and to write a snapshot as such files."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import ClassVar

from heartfelt.errors import InputError, suggestion
from heartfelt.files import write_text
from heartfelt.progress import Progress
from heartfelt.registry import Registry
from heartfelt.snapshot import Snapshot

KEYED_OPTIONS = ("scale", "rename", "reference")
"""Options that may be given once per question or intent, as ``scale.valence``."""


class Format(ABC):
    """One published layout. Subclasses say what it is, and register an instance in :data:`FORMATS`."""

    name: ClassVar[str]
    about: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {}
    """The options ``read`` understands, each with a line of explanation."""
    writes: ClassVar[bool] = True
    answer_columns: ClassVar[Mapping[str, str]] = {}
    """What its own lists of answers, which have no header, call their columns of scores; each with its question."""
    example_data: ClassVar[str] = ""
    """A file or folder with a small valid example, relative to the package of the format's module."""
    prediction_keys: ClassVar[tuple[tuple[str, ...], tuple[str, ...]] | None] = None
    """The columns of its own prediction files that name the stimulus and, joined with ``/``, the question."""

    @abstractmethod
    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read ``source`` into a snapshot. Every column is kept; what is left out is in the ledger."""

    def write(self, snapshot: Snapshot, target: Path) -> None:
        """Write ``snapshot`` into the folder ``target``, which is there and empty."""
        del snapshot, target
        raise InputError(
            f"The format '{self.name}' can be read but not written.",
            f"Formats that can be written: {', '.join(n for n in FORMATS.names() if FORMATS[n].writes)}.",
        )

    def recognises(self, source: Path) -> bool:
        """Whether ``source`` is unmistakably in this format."""
        del source
        return False

    def system_scores(self, path: Path) -> Mapping[str, Mapping[str, float]] | None:
        """The scores of each system by question in its own list of them; None for a format without such lists."""
        del path
        return None

    def example(self, folder: Path) -> Path:
        """Write a small valid example below ``folder`` and return what to read; the conformance suite uses it.

        Unless a format makes one up, it is the data in ``example_data`` next to the format's module.
        """
        source = files(type(self).__module__.rpartition(".")[0]) / self.example_data
        folder.mkdir(parents=True, exist_ok=True)
        with as_file(source) as path:
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            copy(path, folder / path.name)
        return folder / path.name

    def example_file(self, folder: Path, name: str, text: str) -> Path:
        """Write the one file of an example."""
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / name, text)
        return folder / name

    def example_options(self) -> Mapping[str, str]:
        """The options with which the example is read."""
        return {}

    def check_options(self, options: Mapping[str, str]) -> None:
        """Raise for an option this format does not know."""
        for option in options:
            family = option.partition(".")[0]
            if option not in self.options and not (family in KEYED_OPTIONS and family in self.options):
                raise InputError(
                    f"The format '{self.name}' has no option '{option}'.",
                    suggestion(option, self.options, "Options"),
                )


FORMATS: Registry[Format] = Registry("format", homes=("heartfelt.datasets.*.reader",))
