"""Reading any source into a snapshot: a format by name, or the one that is unmistakable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heartfelt.errors import InputError
from heartfelt.files import whole_folder
from heartfelt.formats.format import FORMATS, Progress
from heartfelt.formats.manifest import is_study, study_snapshot
from heartfelt.snapshot import Snapshot, load
from heartfelt.snapshot.folder import is_snapshot


def read(source: Path | str, format: str | None = None, **options: Any) -> Snapshot:
    """Read published data, a table or a snapshot folder.

    ``format`` is guessed when it is unmistakable. ``options`` are the format's own (column names and the like); a
    mapping such as ``scale={"valence": "1-9"}`` stands for one option a key.
    """
    return read_with(source, format, options)


def read_with(
    source: Path | str, format: str | None, options: Mapping[str, Any], progress: Progress | None = None
) -> Snapshot:
    """The same, telling ``progress`` how far it is."""
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


def candidates(source: Path) -> list[str]:
    """The formats that recognise ``source``."""
    return [name for name in FORMATS.names() if FORMATS[name].recognises(source)]


def guess(source: Path) -> str:
    """The one format that recognises ``source``."""
    found = candidates(source)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{source} could be any of: {', '.join(found)}.", "Say which with --format.")
    raise InputError(
        f"It cannot be told what format {source} is in.",
        f"Say which with --format (in Python: format=…). Formats: {', '.join(FORMATS.names())}.",
    )


def flat_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as plain text: a mapping becomes ``name.key``, a list is joined with commas, ``None`` is left out."""
    out: dict[str, str] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            out.update({f"{name}.{key}": str(one) for key, one in value.items()})
        elif isinstance(value, list | tuple):
            out[name] = ",".join(str(one) for one in value)
        elif isinstance(value, bool):
            out[name] = "yes" if value else "no"
        elif value is not None:
            out[name] = str(value)
    return out


def export(snapshot: Snapshot, format: str, target: Path | str) -> Path:
    """Write a snapshot in a format; the folder ``target`` is there whole, or not at all."""
    chosen = FORMATS[format]
    with whole_folder(Path(target)) as scratch:
        chosen.write(snapshot, scratch)
    return Path(target)
