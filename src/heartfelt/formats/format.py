"""What a format is: a way to read somebody's files into a snapshot, and to write a snapshot as such files.

:func:`read` takes a source in a format given by name, or in the one that is unmistakable.
"""

from __future__ import annotations

import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
from pydantic import ValidationError

from heartfelt.errors import HeartfeltError, InputError, RatingError, UnclearColumnError, is_on_command_line, suggestion
from heartfelt.extras import missing_package
from heartfelt.files import TemporaryFolder, whole_folder, write_text
from heartfelt.formats.proposals.guided import FRAME, UnclearTableError, proposal_for, read_guided
from heartfelt.formats.proposals.roles import Proposal
from heartfelt.formats.ratings.locating import with_lines
from heartfelt.formats.ratings.marked_columns import with_marked_columns
from heartfelt.formats.study_folder.manifest import is_study, study_snapshot
from heartfelt.formats.tables.columns import ADJUDICATIONS_FILE
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.progress import Progress
from heartfelt.registry import Registry
from heartfelt.snapshot import Snapshot, load
from heartfelt.snapshot.folder import is_snapshot

KEYED_OPTIONS = ("scale", "rename", "reference", "winner")
"""Options that may be given once per question, intent or word, as ``scale.valence``."""


class Format(ABC):
    """One published layout. Subclasses say what it is, and register an instance in :data:`FORMATS`."""

    name: ClassVar[str]
    about: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {}
    """The options ``read`` understands, each with a line of explanation."""
    writes: ClassVar[bool] = True
    writes_comparisons: ClassVar[bool] = False
    """Whether its files can say which stimuli were judged together."""
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
        """Copy the small valid example below ``folder`` and return what to read; the conformance suite uses it."""
        source = files(type(self).__module__.rpartition(".")[0]) / self.example_data
        folder.mkdir(parents=True, exist_ok=True)
        with as_file(source) as path:
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            copy(path, folder / path.name)
        return folder / path.name

    def example_options(self) -> Mapping[str, str]:
        """The options with which the example is read."""
        return {}

    def check_options(self, options: Mapping[str, str]) -> None:
        """Raise for an option this format does not know."""
        for option in options:
            family = option.partition(".")[0]
            if option not in self.options and not (family in KEYED_OPTIONS and family in self.options):
                raise InputError(
                    f"The format '{self.name}' has no option '{option}'.", suggestion(option, self.options, "Options")
                )


FORMATS: Registry[Format] = Registry("format", homes=("heartfelt.datasets.*.reader",))


def option_path(options: Mapping[str, str], option: str, base: Path) -> Path | None:
    """The file or folder that an option names, relative to ``base``; an error where it is not there."""
    if option not in options:
        return None
    path = base / options[option]
    if not path.exists():
        raise InputError(f"There is no {path} (option '{option}').", "Check the path; it is relative to the source.")
    return path


def read(source: Any, format: str | None = None, **options: Any) -> Snapshot:
    """Read published data, a table, a snapshot folder, or a Polars or pandas frame.

    ``format`` is guessed when it is unmistakable; a frame is read as ``long`` unless another is named. ``options`` are the
    format's own (column names and the like); a mapping such as ``scale={"valence": "1-9"}`` stands for one option per key.
    """
    return read_with(source, format, options)


def read_with(
    source: Any, format: str | None, options: Mapping[str, Any], progress: Progress | None = None
) -> Snapshot:
    """The same, reporting to ``progress``."""
    if not isinstance(source, Path | str):
        return _read_frame(source, format or "long", options, progress)
    path = Path(source)
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.", "Check the path.")
    if format is not None:
        return _read_as(format, path, _flat_options(options), progress, str(path))
    if is_snapshot(path):
        return load(path)
    names = candidates(path)
    if is_study(path) and not names:
        return study_snapshot(path, progress)
    if len(names) > 1:
        raise InputError(f"{path} could be any of: {', '.join(names)}.", _choice(path, names))
    if names:
        return _read_as(names[0], path, _flat_options(options), progress, str(path))
    return _read_unnamed(path, _flat_options(options), progress)


def _read_as(format: str, path: Path, options: Mapping[str, str], progress: Progress | None, source: str) -> Snapshot:
    """Read ``path`` in a format; where its columns are not clear, as proposed, or an error with the proposal."""
    FORMATS[format].check_options(options)
    try:
        return _read_in(format, path, options, progress)
    except UnclearColumnError as error:
        proposal = _attempted_proposal(path, options)
        if proposal is None or not _accepts(proposal):
            raise
        if proposal.format != format and source == str(path):
            proposal = replace(proposal, doubts={**proposal.doubts, "format": f"the table does not look like {format}"})
        return read_guided(proposal, _reader(path, progress), error.problem, source, options)


def _attempted_proposal(path: Path, options: Mapping[str, str]) -> Proposal | None:
    """How the table could be read; None where it cannot be opened without the options of its format."""
    try:
        return proposal_for(path, options)
    except InputError:
        return None


def _read_unnamed(path: Path, options: Mapping[str, str], progress: Progress | None) -> Snapshot:
    proposal = proposal_for(path, options)
    if proposal is None or not _accepts(proposal):
        raise InputError(f"Cannot detect the format of {path}.", _choice(path, FORMATS.names()))
    problem = f"{path}: cannot tell for certain which column is which."
    return read_guided(proposal, _reader(path, progress), problem, str(path), options)


def _accepts(proposal: Proposal) -> bool:
    """Whether the options a person stated exist in the format that is proposed."""
    try:
        FORMATS[proposal.format].check_options(proposal.options)
    except InputError:
        return False
    return True


def _reader(path: Path, progress: Progress | None) -> Callable[[Proposal], Snapshot]:
    return lambda proposal: _read_in(proposal.format, path, proposal.options, progress)


def _read_in(format: str, path: Path, options: Mapping[str, str], progress: Progress | None) -> Snapshot:
    """Read ``path`` in a format, with notes on columns that look like marks of answers which should not count.

    An error names the line of a rating, and the name that a study cannot hold.
    """
    chosen = FORMATS[format]
    try:
        return with_marked_columns(chosen.read(path, options, progress), chosen.options)
    except RatingError as error:
        raise with_lines(error, path, options) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(
            f"{path}: '{str(first['input'])[:60]}' cannot be used: {first['msg'].removeprefix('Value error, ')}.",
            "Rename it in the table, or map another column.",
        ) from error


def _choice(path: Path, names: Sequence[str]) -> str:
    """How to name a format, as the person who reads it would write it."""
    if is_on_command_line():
        call = f"heartfelt import FORMAT {shlex.quote(str(path))} DIR"
    else:
        call = f"heartfelt.read({str(path)!r}, FORMAT)"
    return f"Name the format: {call}. Formats: {', '.join(names)}."


def _read_frame(source: Any, format: str, options: Mapping[str, Any], progress: Progress | None) -> Snapshot:
    """Read a frame as if it lay in the working folder as a Parquet file."""
    frame = source.lazy().collect() if isinstance(source, pl.DataFrame | pl.LazyFrame) else _from_pandas(source)
    flat_options = _flat_options(options)
    for option in ("media", "stimuli", "raters", "references"):
        if option in flat_options:
            flat_options[option] = str(Path(flat_options[option]).resolve())
    if "media" not in flat_options and ("path" in frame.columns or "path" in flat_options):
        flat_options["media"] = str(Path.cwd())
    folder = TemporaryFolder()
    table = folder.path / "table.parquet"
    frame.write_parquet(table)
    try:
        return _read_as(format, table, flat_options, progress, FRAME)
    except UnclearTableError as error:
        raise UnclearTableError(_about_frame(error.problem, table), error.proposal, FRAME) from error
    except HeartfeltError as error:
        # A frame has no file: messages are about the frame, whichever reader wrote them.
        texts = (_about_frame(text, table) for text in (error.problem, error.fix))
        raise type(error)(*texts) from error


def _from_pandas(frame: Any) -> pl.DataFrame:
    kind = type(frame).__name__
    if not hasattr(frame, "__dataframe__") and not hasattr(frame, "to_dict"):
        raise InputError(
            f"Cannot read data from an object of type '{kind}'.", "Give a path, or a Polars or pandas frame."
        )
    try:
        table: pl.DataFrame = pl.from_pandas(frame)
        return table
    except ImportError as error:  # Polars converts most columns of pandas with pyarrow
        raise missing_package("pyarrow") or error from error
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"The {kind} cannot be read: {error}.", "Give every column one type, or save it as CSV."
        ) from error


def _about_frame(text: str, table: Path) -> str:
    named = text.replace(str(table), "the frame").replace(table.name, "the frame")
    return named.replace("the frame", "The frame", 1) if named.startswith("the frame") else named


def candidates(source: Path) -> list[str]:
    return [name for name in FORMATS.names() if FORMATS[name].recognises(source)]


def _flat_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as plain text: a mapping becomes ``name.key``, a list is joined with commas, ``None`` is left out."""
    out: dict[str, str] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            for key, part in value.items():
                placed = isinstance(part, Mapping)
                text = ",".join(f"{axis}:{coordinate}" for axis, coordinate in part.items()) if placed else str(part)
                out[f"{name}.{key}"] = text
        elif isinstance(value, list | tuple):
            out[name] = ",".join(str(part) for part in value)
        elif isinstance(value, bool):
            out[name] = "yes" if value else "no"
        elif value is not None:
            out[name] = str(value)
    return out


def system_scores(path: Path) -> Mapping[str, Mapping[str, float]]:
    """The scores of each system by question, from a list in the layout of a format that has such lists."""
    for format in FORMATS.values():
        scores = format.system_scores(path)
        if scores is not None:
            return scores
    raise InputError(f"No format reads the system scores in {path}.", "Leave out the file of system scores.")


def export(snapshot: Snapshot, format: str, target: Path | str) -> Path:
    """Write a snapshot in a format; the folder ``target`` is private and either complete or absent.

    What senior raters decided is written beside it in a file of its own: no layout but heartfelt's has a place for it.
    """
    chosen = FORMATS[format]
    compared = [q.id for q in snapshot.study.asked if snapshot.study.scale_of(q.id).level == "comparison"]
    if chosen.writes and compared and not chosen.writes_comparisons:
        able = ", ".join(name for name in FORMATS.names() if FORMATS[name].writes_comparisons)
        raise InputError(
            f"The format '{format}' holds ratings of single stimuli, but '{compared[0]}' compares stimuli.",
            f"Formats that hold comparisons: {able}.",
        )
    with whole_folder(Path(target), private=True) as scratch:
        chosen.write(snapshot, scratch)
        if snapshot.adjudications.height:
            write_text(scratch / ADJUDICATIONS_FILE, csv_text(snapshot.adjudications))
    return Path(target)
