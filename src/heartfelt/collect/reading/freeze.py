"""A collection as a snapshot: what was collected so far, with everything left out in the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from heartfelt.collect.material import Material
from heartfelt.collect.reading import tables
from heartfelt.collect.versions import changed_questions
from heartfelt.errors import StudyError
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, parse_study
from heartfelt.study.model import AttentionProbe

if TYPE_CHECKING:
    from sqlalchemy import Connection

_COLUMNS = ("rater", "stimulus", "question", "value", "answer", "position", "seconds", "at", "repeat")
_OPTIONAL = (
    "kind", "probe", "late", "counts", "plays", "first_play", "focus_losses", "heard", "heard_flag", "device",
    "comment", "study_version", "shown", "verdict",
)  # fmt: skip
_LEDGER = dict.fromkeys(("what", "rater", "stimulus", "question", "reason", "stage"), pl.String)
_ENDS = {"no-consent": "did not agree to take part", "screened-out": "screened out before rating"}


def freeze(connection: Connection, material: Material, *, excluded: bool) -> Snapshot:
    """The snapshot of what ``connection`` sees, with or without the ratings of excluded raters."""
    people = tables.raters(connection, tables.progress_in(connection))
    study, opened = material.study, material.opened
    everything = tables.ratings(connection, None if study.design.adaptive else study.design.ratings_per_item)
    asked = [question.id for question in study.asked]
    known = pl.col("question").is_in(asked) & pl.col("stimulus").is_in(opened.stimuli["stimulus"].to_list())
    recorded = everything.filter(~pl.col("kind").is_in(["practice", "attention"]))
    versions = Versions.read(connection, study)
    recorded, asked_differently = versions.split(recorded)
    retained = recorded.filter(known if excluded else known & ~pl.col("excluded"))
    verified = pl.col("shown").is_not_null()
    # A person's answer is a rating whether or not a machine's value was there to begin with; the columns ``shown`` and
    # ``verdict`` say so. A wrong value that was planted tests the rater, and a rejected one leaves no answer.
    answered = pl.col("value").is_not_null() | pl.col("answer").is_not_null()
    rated = retained.filter(~verified | ((pl.col("shown") != "planted") & answered))
    columns: list[Any] = [*_COLUMNS, *(name for name in _OPTIONAL if rated[name].null_count() < rated.height)]
    if study.design.batch is not None:
        columns.append(pl.col("session").cast(pl.String).alias("batch"))
    ledger = [_ledger_rows(people, recorded.filter(~known), material), _erased_rows(connection)]
    return Snapshot.build(
        study,
        stimuli=opened.stimuli,
        ratings=rated.select(columns),
        raters=_raters(people, everything, study),
        items=opened.items if study.stimuli.items else None,
        fields=_fields(retained.filter(verified), material),
        ledger=pl.concat([*ledger, asked_differently]),
        source=Source("collection", study.name, {}, opened.media_root, versions=versions.texts(recorded)),
    )


def _raters(people: pl.DataFrame, everything: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Raters with their results in attention trials, without what only a running study needs."""
    retained = people.drop("step", "of", "trials").rename({"state": "ended"})
    probes = [probe for probe in study.probes if isinstance(probe, AttentionProbe)]
    if not probes:
        return retained
    right = pl.lit(False)
    for probe in probes:
        value, text = study.scale_of(probe.question).read(probe.answer)
        same = pl.col("value") == value if value is not None else pl.col("answer") == text
        right = right | ((pl.col("probe") == probe.id) & same)
    counts = (
        everything.filter(pl.col("kind") == "attention")
        .group_by("rater")
        .agg(
            pl.len().cast(pl.Int64).alias("attention_asked"),
            right.sum().cast(pl.Int64).alias("attention_right"),
        )
    )
    return retained.join(counts, on="rater", how="left", maintain_order="left")


def _fields(verified: pl.DataFrame, material: Material) -> pl.DataFrame | None:
    """Machine-filled values with what people made of them."""
    if not verified.height:
        return None
    units = material.units.values()
    sources = {(unit.stimulus, q): source for unit in units for q, source in unit.source.items()}
    values = {(unit.stimulus, q): value for unit in units for q, value in unit.machine.items()}
    rows = []
    for row in verified.iter_rows(named=True):
        key = (row["stimulus"], row["question"])
        number = None if row["value"] is None else f"{row['value']:.12g}"
        rows.append(
            {
                "stimulus": row["stimulus"],
                "field": row["question"],
                "machine": row["machine"] if row["shown"] != "hidden" else values.get(key),
                "source": "planted" if row["shown"] == "planted" else sources.get(key, "manifest"),
                "verdict": row["verdict"],
                "final": row["answer"] if row["answer"] is not None else number,
                "verified_by": row["rater"],
                "at": row["at"],
                "shown": row["shown"],
            }
        )
    texts = dict.fromkeys(rows[0], pl.String)
    return pl.DataFrame(rows, schema={**texts, "at": verified.schema["at"]})


def _ledger(rows: Sequence[Mapping[str, str | None]]) -> pl.DataFrame:
    return pl.DataFrame([{**row, "stage": "collect"} for row in rows], schema=_LEDGER)


def _ledger_rows(people: pl.DataFrame, unknown: pl.DataFrame, material: Material) -> pl.DataFrame:
    rows: list[dict[str, str | None]] = [
        {"what": "rater", "rater": row["rater"], "reason": f"left out by a researcher: {row['reason']}"}
        for row in people.filter("excluded").iter_rows(named=True)
    ]
    rows += [
        {"what": "rater", "rater": row["rater"], "reason": _ENDS[row["state"]]}
        for row in people.filter(pl.col("state").is_in(list(_ENDS))).iter_rows(named=True)
    ]
    rows += [
        {"what": "stimulus", "stimulus": stimulus, "reason": f"media: {problem}"}
        for stimulus, problem in material.missing
    ]
    rows += [
        {"what": "rating", **row, "reason": "the study no longer asks this"}
        for row in unknown.select("rater", "stimulus", "question").iter_rows(named=True)
    ]
    return _ledger(rows)


def _erased_rows(connection: Connection) -> pl.DataFrame:
    """One anonymous row for everybody who was erased or declined."""
    events = connection.exec_driver_sql(
        "SELECT kind, number FROM journal WHERE kind IN ('erased', 'declined') ORDER BY seq"
    )
    rows = []
    for event in events:
        erased = f"erased on request ({int(event.number or 0)} trials)"
        reason = _ENDS["no-consent"] if event.kind == "declined" else erased
        rows.append({"what": "rater", "reason": reason})
    return _ledger(rows)


@dataclass(frozen=True, slots=True)
class Versions:
    """Every version of the study by its hash: its text, its number, and the questions it asked differently."""

    studies: Mapping[str, str]
    numbers: Mapping[str, int]
    changed: Mapping[tuple[str, str], str]
    """What changed since, by version hash and question."""

    @classmethod
    def read(cls, connection: Connection, study: Study) -> Versions:
        """All versions in the store, compared with the study as it is now."""
        rows = connection.exec_driver_sql("SELECT version, hash, study FROM versions ORDER BY version").all()
        changed: dict[tuple[str, str], str] = {}
        for row in rows:
            if row.hash == study.hash:
                continue
            try:
                changes = changed_questions(parse_study(row.study), study)
            except StudyError:
                continue
            changed |= {(row.hash, name): change for name, change in changes.items()}
        return cls({row.hash: row.study for row in rows}, {row.hash: row.version for row in rows}, changed)

    def split(self, ratings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Ratings of questions as they are asked now, and ledger rows for those that were asked differently."""
        keys = pl.DataFrame(
            [
                {
                    "study_version": version,
                    "question": question,
                    "reason": "the question was asked differently in version"
                    f" {self.numbers[version]} of the study ({change})",
                }
                for (version, question), change in self.changed.items()
            ],
            schema=dict.fromkeys(("study_version", "question", "reason"), pl.String),
        )
        on = ["study_version", "question"]
        different = ratings.join(keys, on=on, how="inner", maintain_order="left")
        rows = different.select("rater", "stimulus", "question", "reason").with_columns(
            what=pl.lit("rating"), stage=pl.lit("collect")
        )
        return ratings.join(keys, on=on, how="anti", maintain_order="left"), rows.select(list(_LEDGER))

    def texts(self, ratings: pl.DataFrame) -> dict[str, str]:
        """The text of every version that has ratings, where there is more than one."""
        used = ratings["study_version"].unique().to_list()
        return {name: self.studies[name] for name in sorted(used)} if len(used) > 1 else {}


def versions(connection: Connection) -> pl.DataFrame:
    """Every version that was served: number, since when, hash, what changed, and the trials answered under it."""
    frame = tables.query(
        connection,
        "SELECT v.version, v.at, v.hash, v.changes, a.trials FROM versions v LEFT JOIN"
        " (SELECT study_version, count(*) AS trials FROM answers GROUP BY study_version) a"
        " ON a.study_version = v.version ORDER BY v.version",
        "version integer, at moment, hash text, changes text, trials integer",
    )
    changes = [json.loads(text or "[]") for text in frame["changes"].to_list()]
    return frame.with_columns(
        pl.Series("changes", changes, dtype=pl.List(pl.String)), pl.col("trials").fill_null(0)
    )
