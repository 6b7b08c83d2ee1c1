"""A collection as a snapshot: what was collected up to one moment, with everything left out in the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from heartfelt.collect.material import Material
from heartfelt.collect.reading import frames
from heartfelt.collect.reading.progress import progress_in
from heartfelt.collect.reading.versions import LEDGER_COLUMNS, Versions
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study.probe import AttentionProbe

if TYPE_CHECKING:
    from sqlalchemy import Connection

_EXTRAS = (
    "kind",
    "probe",
    "late",
    "counts",
    "plays",
    "first_play",
    "focus_losses",
    "heard",
    "heard_flag",
    "device",
    "comment",
    "study_version",
    "shown",
    "verdict",
)
_COLUMNS = ("rater", "stimulus", "question", "value", "answer", "position", "seconds", "at", "repeat")


def freeze(connection: Connection, material: Material, *, excluded: bool) -> Snapshot:
    """The snapshot of what ``connection`` sees, with or without the ratings of raters who were left out."""
    people = frames.raters(connection, progress_in(connection))
    study, opened = material.study, material.opened
    everything = frames.ratings(connection, None if study.design.adaptive else study.design.ratings_per_item)
    asked = {question.id for question in study.asked}
    stimuli = set(opened.stimuli["stimulus"].to_list())
    known = pl.col("question").is_in(list(asked)) & pl.col("stimulus").is_in(list(stimuli))
    recorded = everything.filter(~pl.col("kind").is_in(["practice", "attention"]))
    versions = Versions.read(connection, study)
    recorded, apart = versions.split(recorded)
    stays = recorded.filter(known if excluded else known & ~pl.col("excluded"))
    verified = pl.col("shown").is_not_null()
    # A person's answer is a rating whether or not a machine's value was there to begin with; the columns ``shown`` and
    # ``verdict`` say so. A wrong value that was planted tests the rater, and a rejected one leaves no answer.
    answered = pl.col("value").is_not_null() | pl.col("answer").is_not_null()
    rated = stays.filter(~verified | ((pl.col("shown") != "planted") & answered))
    extras = [name for name in _EXTRAS if rated[name].null_count() < rated.height]
    columns: list[Any] = [*_COLUMNS, *extras]
    if study.design.batch is not None:
        columns.append(pl.col("session").cast(pl.String).alias("batch"))
    return Snapshot.build(
        study,
        stimuli=opened.stimuli,
        ratings=rated.select(columns),
        raters=_raters(people, everything, material),
        items=opened.items if study.stimuli.items else None,
        fields=_fields(stays.filter(verified), material),
        ledger=pl.concat([_ledger(people, recorded.filter(~known), material), _forgotten(connection), apart]),
        source=Source("collection", study.name, {}, opened.media_root, versions=versions.texts(recorded)),
    )


def _raters(people: pl.DataFrame, everything: pl.DataFrame, material: Material) -> pl.DataFrame:
    """Raters with how they did on attention trials; what only the running of a study needs is left out."""
    keep = people.drop("step", "of", "trials").rename({"state": "ended"})
    probes = [probe for probe in material.study.probes if isinstance(probe, AttentionProbe)]
    if not probes:
        return keep
    right = pl.lit(False)
    for probe in probes:
        value, words = material.study.scale_of(probe.question).read(probe.answer)
        same = pl.col("value") == value if value is not None else pl.col("answer") == words
        right = right | ((pl.col("probe") == probe.id) & same)
    judged = (
        everything.filter(pl.col("kind") == "attention")
        .group_by("rater")
        .agg(
            pl.len().cast(pl.Int64).alias("attention_asked"),
            right.sum().cast(pl.Int64).alias("attention_right"),
        )
    )
    return keep.join(judged, on="rater", how="left", maintain_order="left")


def _fields(verified: pl.DataFrame, material: Material) -> pl.DataFrame | None:
    if not verified.height:
        return None
    sources = {(u.stimulus, q): source for u in material.units.values() for q, source in u.source.items()}
    values = {(u.stimulus, q): value for u in material.units.values() for q, value in u.machine.items()}
    rows = []
    for row in verified.iter_rows(named=True):
        key = (row["stimulus"], row["question"])
        machine = row["machine"] if row["shown"] != "hidden" else values.get(key)
        source = "planted" if row["shown"] == "planted" else sources.get(key, "manifest")
        final = row["answer"] if row["answer"] is not None else _number(row["value"])
        rows.append((*key, machine, source, row["verdict"], final, row["rater"], row["at"], row["shown"]))
    names = ("stimulus", "field", "machine", "source", "verdict", "final", "verified_by")
    schema: dict[str, Any] = {
        **dict.fromkeys(names, pl.String),
        "at": verified.schema["at"],
        "shown": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.12g}"


def _ledger(people: pl.DataFrame, strange: pl.DataFrame, material: Material) -> pl.DataFrame:
    rows: list[tuple[str | None, ...]] = [
        ("rater", row["rater"], None, None, f"left out by a researcher: {row['reason']}", "collect")
        for row in people.filter("excluded").iter_rows(named=True)
    ]
    rows += [
        ("rater", row["rater"], None, None, _ENDS[row["state"]], "collect")
        for row in people.filter(pl.col("state").is_in(list(_ENDS))).iter_rows(named=True)
    ]
    rows += [("stimulus", None, name, None, f"media: {why}", "collect") for name, why in material.missing]
    rows += [
        ("rating", rater, stimulus, question, "the study no longer asks this", "collect")
        for rater, stimulus, question in strange.select("rater", "stimulus", "question").iter_rows()
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(LEDGER_COLUMNS, pl.String), orient="row")


def _forgotten(connection: Connection) -> pl.DataFrame:
    """One nameless row for everybody who was erased or did not agree."""
    rows = connection.exec_driver_sql(
        "SELECT kind, number FROM journal WHERE kind IN ('erased', 'declined') ORDER BY seq"
    )
    reasons = [
        _ENDS["no-consent"] if kind == "declined" else f"erased on request ({int(trials or 0)} trials)"
        for kind, trials in rows
    ]
    told = [("rater", None, None, None, reason, "collect") for reason in reasons]
    return pl.DataFrame(told, schema=dict.fromkeys(LEDGER_COLUMNS, pl.String), orient="row")


_ENDS = {"no-consent": "did not agree to take part", "screened-out": "screened out before rating"}
