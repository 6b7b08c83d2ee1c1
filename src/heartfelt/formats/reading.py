"""Reading any source into a snapshot: a format by name, or the one that is unmistakable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import TemporaryFolder, whole_folder
from heartfelt.formats.format import FORMATS
from heartfelt.formats.manifest import is_study, study_snapshot
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot, load
from heartfelt.snapshot.folder import is_snapshot


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
    if format is None and path.is_dir() and is_snapshot(path):
        return load(path)
    if format is None and is_study(path) and not candidates(path):
        return study_snapshot(path, progress)
    chosen = FORMATS[format or guess(path)]
    plain = flat_options(options)
    chosen.check_options(plain)
    return chosen.read(path, plain, progress)


def _read_frame(source: Any, format: str, options: Mapping[str, Any], progress: Progress | None) -> Snapshot:
    """Read a frame as if it lay in the working folder as a Parquet file."""
    frame = source.collect() if isinstance(source, pl.LazyFrame) else source
    if not isinstance(frame, pl.DataFrame):
        if not hasattr(frame, "__dataframe__") and not hasattr(frame, "to_dict"):
            raise InputError(
                f"Cannot read data from an object of type '{type(source).__name__}'.",
                "Give a path, or a Polars or pandas frame.",
            )
        try:
            frame = pl.from_pandas(frame)
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"The {type(source).__name__} cannot be read: {error}.",
                "Give every column one type, or save it as CSV.",
            ) from error
    plain = flat_options(options)
    for option in ("media", "stimuli", "raters", "references"):
        if option in plain:
            plain[option] = str(Path(plain[option]).resolve())
    if "media" not in plain and ("path" in frame.columns or "path" in plain):
        plain["media"] = str(Path.cwd())
    folder = TemporaryFolder()
    table = folder.path / "table.parquet"
    frame.write_parquet(table)
    FORMATS[format].check_options(plain)
    return FORMATS[format].read(table, plain, progress)


def candidates(source: Path) -> list[str]:
    """The formats that recognise ``source``."""
    return [name for name in FORMATS.names() if FORMATS[name].recognises(source)]


def guess(source: Path) -> str:
    """The one format that recognises ``source``."""
    names = candidates(source)
    if len(names) == 1:
        return names[0]
    if names:
        raise InputError(f"{source} could be any of: {', '.join(names)}.", "Choose one with --format.")
    raise InputError(
        f"Cannot detect the format of {source}.",
        f"Name it with --format (in Python: format=…). Formats: {', '.join(FORMATS.names())}.",
    )


def flat_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as plain text: a mapping becomes ``name.key``, a list is joined with commas, ``None`` is left out."""
    out: dict[str, str] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            out.update({f"{name}.{key}": _keyed(part) for key, part in value.items()})
        elif isinstance(value, list | tuple):
            out[name] = ",".join(str(part) for part in value)
        elif isinstance(value, bool):
            out[name] = "yes" if value else "no"
        elif value is not None:
            out[name] = str(value)
    return out


def _keyed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{part}" for key, part in value.items())
    return str(value)


def system_scores(path: Path) -> Mapping[str, Mapping[str, float]]:
    """The scores of each system by question, from a list in the layout of a format that has such lists."""
    for format in FORMATS.values():
        scores = format.system_scores(path)
        if scores is not None:
            return scores
    raise InputError(f"No format reads the system scores in {path}.", "Leave out the file of system scores.")


def export(snapshot: Snapshot, format: str, target: Path | str) -> Path:
    """Write a snapshot in a format; the folder ``target`` is either complete or absent."""
    chosen = FORMATS[format]
    with whole_folder(Path(target)) as scratch:
        chosen.write(snapshot, scratch)
    return Path(target)
