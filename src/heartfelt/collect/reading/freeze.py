"""A collection as a snapshot: what was collected so far, with everything left out in the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import polars as pl
from sqlalchemy import Connection

from heartfelt.collect.material import StudyUnits
from heartfelt.collect.reading import sets, tables
from heartfelt.collect.reading.adjudication import adjudications
from heartfelt.collect.reading.media import with_media_version
from heartfelt.collect.versions import changed_questions
from heartfelt.errors import StudyError
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.instruments import instrument_scores
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, parse_study
from heartfelt.study.model import AttentionProbe

_COLUMNS = ("rater", "stimulus", "question", "value", "answer", "position", "seconds", "at", "repeat")
_OPTIONAL = (
    "kind", "probe", "late", "counts", "plays", "first_play", "focus_losses", "heard", "heard_flag", "device",
    "comment", "study_version", "shown", "verdict", "first", "field_seconds", "keystrokes",
)  # fmt: skip
_LEDGER = dict.fromkeys(("what", "rater", "stimulus", "question", "reason", "stage"), pl.String)
_ENDS = {"no-consent": "did not agree to take part", "screened-out": "screened out before rating"}


def freeze(connection: Connection, material: StudyUnits, *, excluded: bool) -> Snapshot:
    """The snapshot of what ``connection`` sees, with or without the ratings of excluded raters."""
    study, opened = material.study, material.opened
    people = tables.raters(connection, tables.progress_in(connection), study)
    quota = None if study.design.adaptive else study.design.ratings_per_item
    everything = sets.ratings_by_stimulus(connection, study, quota, material.common_names)
    everything = with_media_version(connection, everything)
    question_ids = [question.id for question in study.asked]
    in_study = pl.col("question").is_in(question_ids) & pl.col("stimulus").is_in(opened.stimuli["stimulus"].to_list())
    people, screened = _without_screeners(people)
    # What somebody answered before they were screened out is in the store, and in no snapshot.
    recorded = everything.filter(
        ~pl.col("kind").is_in(["practice", "attention"]), ~pl.col("rater").is_in(list(screened))
    )
    changed = _asked_differently(connection, study)
    version = ["study_version", "question"]
    # Answers to a question that has another meaning now are ledger rows: they cannot be pooled with later ones.
    different = recorded.join(changed, on=version, how="inner", maintain_order="left")
    recorded = recorded.join(changed, on=version, how="anti", maintain_order="left")
    retained = recorded.filter(in_study if excluded else in_study & ~pl.col("excluded"))
    verified = pl.col("shown").is_not_null()
    # A person's answer is a rating whether or not a machine's value was there to begin with; the columns ``shown`` and
    # ``verdict`` say so. A wrong value that was planted tests the rater, and a rejected one leaves no answer.
    answered = pl.col("value").is_not_null() | pl.col("answer").is_not_null()
    rated = retained.filter(~verified | ((pl.col("shown") != "planted") & answered))
    columns: list[Any] = [*_COLUMNS, *(name for name in _OPTIONAL if rated[name].null_count() < rated.height)]
    if "media_version" in rated.columns:
        columns.append("media_version")
    if study.design.batch is not None or study.design.sessions is not None:
        columns.append(pl.col("session").cast(pl.String).alias("batch"))
    if study.sets is not None:
        columns += [pl.col("trial").cast(pl.String), "set", "place", "role"]
    gone = recorded.filter(~in_study).with_columns(reason=pl.lit("the study no longer asks this"))
    scores, unscored = instrument_scores(study, people)
    left_out = _people_left_out(people, screened)
    left_out += [
        {"what": "score", "rater": rater, "reason": f"{column}: {reason}"} for rater, column, reason in unscored
    ]
    left_out += [
        {"what": "stimulus", "stimulus": name, "reason": f"media: {reason}"} for name, reason in material.missing
    ]
    if opened.sets is not None:
        in_none = opened.sets.left_out.items()
        left_out += [{"what": "stimulus", "stimulus": name, "reason": reason} for name, reason in in_none]
    ledger = [_ledger(left_out), _ratings_left_out(gone), _ledger(_erased(connection)), _ratings_left_out(different)]
    return Snapshot.build(
        study,
        stimuli=opened.stimuli,
        ratings=rated.select(columns),
        raters=_raters(people.hstack(scores.get_columns()), everything, study),
        items=opened.items if study.stimuli.items else None,
        traces=sets.traces(connection, rated),
        fields=_fields(retained.filter(verified), material),
        adjudications=adjudications(connection, study, everything),
        questionnaires=tables.questionnaires(connection),
        ledger=pl.concat(ledger),
        source=Source(
            format="collection",
            name=study.name,
            options={},
            media_root=opened.media_root,
            versions=_versions_used(connection, recorded),
        ),
    )


def _raters(people: pl.DataFrame, everything: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Raters with their results in attention trials, without what only a running study needs."""
    retained = people.drop("step", "of", "trials").rename({"state": "ended"})
    probes = [probe for probe in study.probes if isinstance(probe, AttentionProbe)]
    if not probes:
        return retained
    right = pl.lit(False)
    for probe in probes:
        value, text = study.scale_of(probe.question).instructed(probe.answer)
        same = pl.col("value") == value if value is not None else pl.col("answer") == text
        right = right | ((pl.col("probe") == probe.id) & same)
    counts = (
        everything.filter(pl.col("kind") == "attention")
        .group_by("rater")
        .agg(pl.len().cast(pl.Int64).alias("attention_asked"), right.sum().cast(pl.Int64).alias("attention_right"))
    )
    return retained.join(counts, on="rater", how="left", maintain_order="left")


def _fields(verified: pl.DataFrame, material: StudyUnits) -> pl.DataFrame | None:
    """Every verification of a machine's value, with where the value came from and what the person made of it.

    Where nothing was stored about a withheld value or its source, the current draft fills in. A draft's version, prompt,
    time, confidence and boxes are given where it is still the one that was shown or withheld.
    """
    if not verified.height:
        return None
    facts = [
        (unit.stimulus, question, *fact) for unit in material.units.values() for question, fact in unit.machine.items()
    ]
    item = ["stimulus", "question"]
    schema = dict.fromkeys((*item, "draft", "drafted_by"), pl.String)
    drafts = pl.DataFrame(facts, schema=schema, orient="row").unique(item)
    written = material.opened.drafts.rename(
        {"value": "draft", "source": "drafted_by", "at": "drafted_at"}, strict=False
    )
    drafts = drafts.join(written, on=[*item, "draft", "drafted_by"], how="left", maintain_order="left")
    shown = pl.col("shown")
    machine = pl.when(shown == "hidden").then(pl.coalesce("machine", "draft")).otherwise("machine")
    source = pl.coalesce("source", "drafted_by", pl.lit("manifest"))
    rows = verified.join(drafts, on=item, how="left", maintain_order="left").with_columns(
        machine=machine, source=pl.when(shown == "planted").then(pl.lit("planted")).otherwise(source)
    )
    numbers = [None if value is None else f"{value:.12g}" for value in rows["value"]]
    same = (pl.col("machine") == pl.col("draft")) & (pl.col("source") == pl.col("drafted_by"))
    provenance = [
        name for name in ("version", "prompt_hash", "drafted_at", "confidence", "boxes") if name in rows.columns
    ]
    table = rows.select(
        "stimulus",
        pl.col("question").alias("field"),
        "machine",
        "source",
        "verdict",
        pl.coalesce("answer", pl.Series(numbers, dtype=pl.String)).alias("final"),
        pl.col("rater").alias("verified_by"),
        "at",
        "shown",
        "first",
        pl.col("field_seconds").alias("seconds"),
        "keystrokes",
        *(pl.when(same).then(name).alias(name) for name in provenance),
        pl.col("repeat"),
    )
    if not (table["repeat"] > 0).any():
        table = table.drop("repeat")
    added = table.columns[table.columns.index("shown") + 1 :]
    return table.drop(name for name in added if table[name].null_count() == table.height)


def _ledger(rows: Sequence[Mapping[str, str | None]]) -> pl.DataFrame:
    return pl.DataFrame([{**row, "stage": "collect"} for row in rows], schema=_LEDGER)


def _ratings_left_out(ratings: pl.DataFrame) -> pl.DataFrame:
    kind, stage = pl.lit("rating").alias("what"), pl.lit("collect").alias("stage")
    return ratings.select(kind, "rater", "stimulus", "question", "reason", stage)


def _without_screeners(people: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """Raters without the column of screeners, and who was screened out by which: the ledger says that."""
    if "screener" not in people.columns:
        return people, {}
    screened = people.drop_nulls("screener").select("rater", "screener").iter_rows()
    return people.drop("screener"), dict(screened)


def _people_left_out(people: pl.DataFrame, screened: Mapping[str, str]) -> list[dict[str, str | None]]:
    excluded = people.filter("excluded").select("rater", pl.format("left out by a researcher: {}", "reason"))
    ended = people.filter(pl.col("state").is_in(list(_ENDS))).select("rater", pl.col("state").replace(_ENDS))
    reasons = {rater: f"screened out by '{screener}'" for rater, screener in screened.items()}
    return [
        {"what": "rater", "rater": rater, "reason": reasons.get(rater, reason)}
        for rater, reason in excluded.rows() + ended.rows()
    ]


def _erased(connection: Connection) -> list[dict[str, str | None]]:
    """One anonymous row for everybody who was erased or declined."""
    events = connection.exec_driver_sql(
        "SELECT kind, number FROM journal WHERE kind IN ('erased', 'declined') ORDER BY seq"
    )
    rows: list[dict[str, str | None]] = []
    for event in events:
        erased = f"erased on request ({int(event.number or 0)} trials)"
        rows.append({"what": "rater", "reason": _ENDS["no-consent"] if event.kind == "declined" else erased})
    return rows


def _asked_differently(connection: Connection, study: Study) -> pl.DataFrame:
    """The questions that earlier versions of the study asked differently: study_version, question, and the reason."""
    reasons: dict[tuple[str, str], str] = {}
    for row in connection.exec_driver_sql("SELECT version, hash, study FROM versions ORDER BY version"):
        if row.hash == study.hash:
            continue
        with suppress(StudyError):  # a text that this version cannot read cannot be compared
            for question, change in changed_questions(parse_study(row.study), study).items():
                reason = f"the question was asked differently in version {row.version} of the study ({change})"
                reasons[row.hash, question] = reason
    schema = dict.fromkeys(("study_version", "question", "reason"), pl.String)
    return pl.DataFrame([(*key, reason) for key, reason in reasons.items()], schema=schema, orient="row")


def _versions_used(connection: Connection, ratings: pl.DataFrame) -> dict[str, str]:
    """The text of every version that has ratings, where there is more than one."""
    used = ratings["study_version"].unique().to_list()
    if len(used) < 2:
        return {}
    rows = connection.exec_driver_sql("SELECT hash, study FROM versions ORDER BY hash")
    return {row.hash: row.study for row in rows if row.hash in used}


def versions(connection: Connection) -> pl.DataFrame:
    """Every version that was served: number, since when, hash, what changed, and the trials answered under it."""
    frame = tables.query(
        connection,
        "v.version integer, v.at moment, v.hash text, v.changes text, a.trials integer",
        "FROM versions v LEFT JOIN (SELECT study_version, count(*) AS trials FROM answers GROUP BY study_version) a"
        " ON a.study_version = v.version ORDER BY v.version",
    )
    changes = [json.loads(text or "[]") for text in frame["changes"].to_list()]
    return frame.with_columns(pl.Series("changes", changes, dtype=pl.List(pl.String)), pl.col("trials").fill_null(0))
