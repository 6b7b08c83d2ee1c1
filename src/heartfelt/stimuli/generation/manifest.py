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
from heartfelt.formats.columns import PARQUET, NamedTable
from heartfelt.formats.delimited import csv_text
from heartfelt.serialization import dumps
from heartfelt.stimuli.generation.ledger import MADE, LedgerRow
from heartfelt.stimuli.generation.make_file import MakePlan
from heartfelt.stimuli.generation.state import MakeRecord
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
    existing: list[dict[str, object]] = []
    columns: list[str] = []
    if plan.manifest.is_file():
        sheet = NamedTable.read(plan.manifest)
        sheet.need("stimulus")
        sheet = sheet.with_ids("stimulus")
        sheet.unique("stimulus")
        existing, columns = sheet.frame.to_dicts(), sheet.frame.columns
    table = {str(row["stimulus"]): row for row in existing}
    changed = False
    for system, planned in (
        (planned_system, planned) for planned_system in plan.systems for planned in planned_system.stimuli
    ):
        name, ledger_row = planned.prompt.stimulus, latest.get(planned.prompt.stimulus)
        if ledger_row is None or not (plan.media_root / ledger_row.path).is_file():
            continue
        before = table.get(name, {})
        row = dict(before)
        if name not in table or name in new:
            further = {key: before.get(key) for key in columns if key not in _PREPARED}
            row = further | _row(planned.prompt.text, planned.prompt.intent, ledger_row, record)
        later = ClipProvenance.of(system.settings).columns()
        row |= {key: later[key] for key in _STATED_LATER if later.get(key) and row.get(key) is None}
        row |= stated.get(name, {})
        changed = changed or row != before
        table[name] = row
    if not changed:
        return
    keys = dict.fromkeys([*columns, *(key for row in table.values() for key in row)])
    stating = {key for row in table.values() for key, value in row.items() if value is not None}
    names = [key for key in keys if key in stating or key in columns or key not in _OPTIONAL]
    frame = pl.DataFrame(
        {key: [None if (value := row.get(key)) is None else str(value) for row in table.values()] for key in names},
        schema=dict.fromkeys(names, pl.String),
    )
    if plan.manifest.suffix.lower() in PARQUET:
        with whole_file(plan.manifest) as file:
            frame.with_columns(pl.col("seed").cast(pl.Int64)).write_parquet(file)
    else:
        write_text(plan.manifest, csv_text(frame))


_OPTIONAL = ("licence_url", "generated_on", "link")
"""Columns that are left out where nothing is known."""
_STATED_LATER = ("model", "revision", "licence", "licence_url")
"""What an author may state after a stimulus was made; what was recorded then stays."""
_PREPARED = frozenset(field.name for field in fields(PreparedStimulus)) - {"stimulus"}
"""What ``heartfelt prepare`` wrote about a file that is no longer the one."""


def _row(text: str, intent: str, ledger_row: LedgerRow, record: MakeRecord) -> dict[str, object]:
    facts = record.facts.get(ledger_row.settings)
    settings = {**record.settings.get(ledger_row.settings, {}), **(facts.settings if facts else {})}
    if facts is not None and facts.weights_hash:
        settings["weights_hash"] = facts.weights_hash
    address = {"licence_url": facts.licence_url} if facts is not None and facts.licence_url else {}
    if isinstance(command := settings.get("command"), list):
        # The path of a program says nothing about the stimulus, and may hold the name of a person.
        settings["command"] = [Path(part).name if Path(part).is_absolute() else part for part in command]
    return {
        "stimulus": ledger_row.stimulus,
        "system": ledger_row.system,
        "intent": intent or None,
        "prompt": text,
        "path": ledger_row.path,
        "generator": ledger_row.generator,
        "model": ledger_row.model or None,
        "revision": ledger_row.revision or None,
        "seed": ledger_row.seed,
        "settings": dumps(settings, indent=None) if settings else None,
        "licence": ledger_row.licence or None,
        **address,
        "hardware": ledger_row.hardware or None,
        "source": ledger_row.source or None,
        "made_at": ledger_row.at,
        "sha256": ledger_row.sha256,
    }
