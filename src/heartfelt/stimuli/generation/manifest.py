"""The study's list of stimuli, with the provenance of everything ``heartfelt make`` made.

Rows of other stimuli and columns of the researcher's own stay. A row is written where a stimulus is new or was made again; one that
was only found complete keeps what later steps, such as ``heartfelt prepare``, wrote into it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import polars as pl

from heartfelt.files import whole_file, write_text
from heartfelt.formats.tables.columns import PARQUET, NamedTable
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.serialization import dumps
from heartfelt.stimuli.generation.ledger import MADE, LedgerRow
from heartfelt.stimuli.generation.make_file import MakePlan
from heartfelt.stimuli.generation.state import MakeRecord
from heartfelt.stimuli.generators.generator import GeneratorFacts
from heartfelt.stimuli.generators.provenance import ClipProvenance
from heartfelt.stimuli.preparation.prepared import PreparedStimulus

PROVENANCE = (
    "generator", "model", "revision", "seed", "settings", "licence", "licence_url", "generated_on", "link", "hardware",
    "source", "made_at", "sha256",
)  # fmt: skip
"""Columns of the manifest that say how a stimulus was made."""


def write_manifest(
    plan: MakePlan,
    rows: Sequence[LedgerRow],
    record: MakeRecord,
    new: Collection[str],
    stated: Mapping[str, Mapping[str, str | None]],
) -> None:
    """Write the manifest: every stimulus of the plan that is in place, and whatever else it listed.

    What is ``stated`` about a stimulus by columns goes before what was recorded when it was made.
    """
    latest = {row.stimulus: row for row in rows if row.outcome == MADE}
    existing = _read(plan.manifest)
    columns = existing.columns
    table = {str(row["stimulus"]): row for row in existing.to_dicts()}
    changed = False
    for settings, planned in ((system.settings, planned) for system in plan.systems for planned in system.stimuli):
        name, ledger_row = planned.prompt.stimulus, latest.get(planned.prompt.stimulus)
        if ledger_row is None or not (plan.media_root / ledger_row.path).is_file():
            continue
        before = table.get(name, {})
        row = dict(before)
        if name not in table or name in new:
            further = {key: before.get(key) for key in columns if key not in _PREPARED}
            row = further | _row(planned.prompt.text, planned.prompt.intent, ledger_row, record)
        # What was recorded when it was made stays; what nobody had stated then may be added.
        later = ClipProvenance.of(settings).columns()
        row |= {key: later[key] for key in _STATED_LATER if later.get(key) and row.get(key) is None}
        row |= stated.get(name, {})
        changed = changed or row != before
        table[name] = row
    if changed:
        _write(plan.manifest, list(table.values()), columns)


def _read(manifest: Path) -> pl.DataFrame:
    """The list as it is; without rows or columns where there is none yet."""
    if not manifest.is_file():
        return pl.DataFrame()
    sheet = NamedTable.read(manifest)
    sheet.need("stimulus")
    sheet = sheet.with_ids("stimulus")
    sheet.unique("stimulus")
    return sheet.frame


def _write(manifest: Path, rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write the list as text; optional columns that say nothing are left out where they are new."""
    keys = dict.fromkeys([*columns, *(key for row in rows for key in row)])
    silent = {key for key in _OPTIONAL if key not in columns and all(row.get(key) is None for row in rows)}
    names = [key for key in keys if key not in silent]
    texts = {key: [_text(row.get(key)) for row in rows] for key in names}
    frame = pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String))
    if manifest.suffix.lower() in PARQUET:
        with whole_file(manifest) as file:
            frame.with_columns(pl.col("seed").cast(pl.Int64)).write_parquet(file)
    else:
        write_text(manifest, csv_text(frame))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


_OPTIONAL = ("licence_url", "generated_on", "link")
"""Columns that are left out where nothing is known."""
_STATED_LATER = ("model", "revision", "licence", "licence_url")
"""What an author may state after a stimulus was made; what was recorded then stays."""
_PREPARED = frozenset(field.name for field in fields(PreparedStimulus)) - {"stimulus"}
"""What ``heartfelt prepare`` wrote about a file that is no longer the one."""


def _row(text: str, intent: str, ledger_row: LedgerRow, record: MakeRecord) -> dict[str, object]:
    facts = record.facts.get(ledger_row.settings, GeneratorFacts())
    settings = {**record.settings.get(ledger_row.settings, {}), **facts.settings}
    if facts.weights_hash:
        settings["weights_hash"] = facts.weights_hash
    if isinstance(command := settings.get("command"), list):
        # The path of a program says nothing about the stimulus, and may hold the name of a person.
        settings["command"] = [Path(part).name if Path(part).is_absolute() else part for part in command]
    stated = {
        name: getattr(ledger_row, name) or None for name in ("model", "revision", "licence", "hardware", "source")
    }
    row = {
        "stimulus": ledger_row.stimulus,
        "system": ledger_row.system,
        "intent": intent or None,
        "prompt": text,
        "path": ledger_row.path,
        "generator": ledger_row.generator,
        "model": stated["model"],
        "revision": stated["revision"],
        "seed": ledger_row.seed,
        "settings": dumps(settings, indent=None) if settings else None,
        "licence": stated["licence"],
        "licence_url": facts.licence_url,
        "hardware": stated["hardware"],
        "source": stated["source"],
        "made_at": ledger_row.at,
        "sha256": ledger_row.sha256,
    }
    return {name: value for name, value in row.items() if name != "licence_url" or value}
