"""Where stimuli come from that were made elsewhere or by a program: what ``make.yaml`` and a table beside the files state.

Clips of one folder may come from several versions of a service. A table in the folder (``clips.csv``) states what differs, with a
row per file: ``file``, and any of ``prompt``, ``model``, ``revision``, ``licence``, ``licence_url``, ``generated_on``, ``seed``,
``link`` (where the clip can be had) and ``settings`` (JSON). Further columns become settings. An empty cell is what ``make.yaml``
states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Self

import polars as pl
from pydantic import Field, field_validator

from heartfelt.errors import InputError
from heartfelt.formats.tables.columns import MISSING, NamedTable
from heartfelt.serialization import dumps
from heartfelt.stimuli.generators.generator import GeneratorSettings
from heartfelt.wording import listed, plural

CLIPS_TABLE = "clips.csv"
_OTHER_NAMES = {
    "license": "licence", "license_url": "licence_url", "filename": "file", "file_name": "file", "version": "revision",
    "url": "link",
}  # fmt: skip
_NEARLY = 0.8
"""A column whose name is this much like a known one is probably a slip."""
_EXPECTED = ("model", "revision", "licence")
"""What readers of a release ask for first."""


def checked_day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"'{text}' is not a day. Write it as 2026-03-04") from None


def checked_address(text: str) -> str:
    if not re.fullmatch(r"https?://\S+", text):
        raise ValueError(f"'{text}' is not a web address. Write it as https://…")
    return text


class StatedProvenance(GeneratorSettings):
    """A generator whose model nobody can ask: the author states what it is."""

    model: Annotated[str | None, Field(description="the model's name, for the provenance")] = None
    revision: Annotated[str | None, Field(description="of the model, for the provenance")] = None
    licence: Annotated[str | None, Field(description="the terms of use, for the provenance")] = None
    licence_url: Annotated[str | None, Field(description="where the terms can be read")] = None

    @field_validator("licence_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        return None if value is None else checked_address(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipProvenance:
    """What is stated about one clip; empty where nothing is."""

    prompt: str = ""
    model: str = ""
    revision: str = ""
    licence: str = ""
    licence_url: str = ""
    generated_on: str = ""
    """A day, such as 2026-03-04."""
    seed: int | None = None
    link: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: GeneratorSettings) -> Self:
        stated = {part.name: getattr(settings, part.name, None) for part in fields(cls)}
        return cls(**{name: value for name, value in stated.items() if value})

    def columns(self) -> dict[str, str | None]:
        """The columns of the manifest that it fills; a seed that is not known is none."""
        texts = {
            part.name: value
            for part in fields(self)
            if part.name not in {"seed", "settings"} and (value := getattr(self, part.name))
        }
        more: dict[str, object] = {"settings": dumps(dict(self.settings), indent=None)} if self.settings else {}
        # The address of a licence goes with it: none is known of one that is stated without.
        unread: dict[str, str | None] = {"licence_url": None} if self.licence and not self.licence_url else {}
        return {**texts, **unread, **more, "seed": None if self.seed is None else str(self.seed)}


def read_clips_table(path: Path, stated: ClipProvenance, compared: Callable[[str], str]) -> dict[str, ClipProvenance]:
    """What a table states about each file, by the file's name as ``compared`` writes it."""
    sheet = NamedTable.read(path)
    sheet = replace(sheet, frame=sheet.frame.rename(_names(sheet.frame.columns, path)))
    sheet.need("file")
    frame = sheet.frame.with_columns(pl.all().cast(pl.String).str.strip_chars())
    out: dict[str, ClipProvenance] = {}
    for line, row in enumerate(frame.iter_rows(named=True), sheet.first):
        cells = {name: cell for name, cell in row.items() if cell is not None and cell not in MISSING}
        if "file" not in cells:
            raise InputError(f"{path}, line {line}: no file is named.", "Fill in the column 'file'.")
        name = compared(cells.pop("file"))
        if name in out:
            raise InputError(f"{path}, line {line}: {row['file']} has two rows.", "Keep one of the two.")
        try:
            out[name] = _row(cells, stated)
        except ValueError as error:
            raise InputError(f"{path}, line {line}: {error}.", "Correct the cell, or leave it empty.") from None
    return out


def _names(columns: Sequence[str], path: Path) -> dict[str, str]:
    """The columns' names as heartfelt spells them; an error for one that is nearly a known one."""
    column_names = ["file", *(part.name for part in fields(ClipProvenance))]
    spellings = {name: re.sub(r"[ -]+", "_", name.strip().lower()) for name in columns}
    out: dict[str, str] = {}
    for name, spelled in spellings.items():
        usual = _OTHER_NAMES.get(spelled, spelled)
        spelled = spelled if usual in spellings.values() else usual
        nearest = get_close_matches(spelled, column_names, 1, _NEARLY)
        if spelled not in column_names and nearest:
            raise InputError(
                f"{path}: the column '{name}' is nearly '{nearest[0]}'.",
                f"Call it '{nearest[0]}', or give it another name.",
            )
        out[name] = spelled if spelled in column_names else name
    return out


def _row(cells: Mapping[str, str], stated: ClipProvenance) -> ClipProvenance:
    """What a row states, over what ``make.yaml`` does; what is no column of the manifest becomes a setting."""
    names = {part.name for part in fields(ClipProvenance)}
    more = {name: cell for name, cell in cells.items() if name not in names}
    row_settings = _settings(cells["settings"]) if "settings" in cells else {}
    checks = {"generated_on": checked_day, "link": checked_address, "licence_url": checked_address}
    texts = {name: checks.get(name, str)(cell) for name, cell in cells.items() if name in names - {"seed", "settings"}}
    if "licence" in cells:
        texts.setdefault("licence_url", "")  # another licence is not read where the usual one is
    return replace(
        stated,
        **texts,
        seed=_whole_number(cells["seed"]) if "seed" in cells else stated.seed,
        settings={**stated.settings, **row_settings, **more},
    )


def _whole_number(cell: str) -> int:
    if not re.fullmatch(r"-?\d+", cell):
        raise ValueError(f"the seed '{cell}' is not a whole number")
    return int(cell)


def _settings(cell: str) -> dict[str, object]:
    try:
        value = json.loads(cell)
    except json.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise ValueError(f'the settings \'{cell[:60]}\' are no JSON object, such as {{"style": "ambient"}}')
    return value


def missing_words(clips: Iterable[ClipProvenance], where: str) -> tuple[str, ...]:
    """What is not stated about clips, in one sentence; none where everything is."""
    provenances = list(clips)
    absent = {name: sum(not getattr(clip, name) for clip in provenances) for name in _EXPECTED}
    parts = [
        f"{name} ({count:,} of {plural(len(provenances), 'stimulus', 'stimuli')})"
        for name, count in absent.items()
        if count
    ]
    if not parts:
        return ()
    return (f"provenance that is not stated: {listed(parts)}; add it to {where}, so that a release can name it",)


def unused_rows(table: Mapping[str, ClipProvenance], files: Sequence[str], name: str) -> tuple[str, ...]:
    lost = [file for file in table if file not in files]
    return (f"{name} describes files that are not there: {listed(lost, 5)}",) if lost else ()
