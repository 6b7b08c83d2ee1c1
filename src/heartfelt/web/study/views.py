"""The dashboard's views of coverage, raters and stimuli, as the API's models."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl

from heartfelt.analysis.live import exclusion_effect
from heartfelt.collect import Collection
from heartfelt.collect.collection import unknown_rater
from heartfelt.serialization import to_json
from heartfelt.web.api.models import (
    CoverageBin,
    CoverageInfo,
    EffectInfo,
    FlagInfo,
    MediaProblemInfo,
    RaterCounts,
    RaterInfo,
    StimuliInfo,
    StimulusInfo,
    StimulusMean,
    TrialInfo,
)
from heartfelt.web.study.figures import Board

REST = 5
"""In a large study, after counting for a second coverage rests for five."""
LARGE = 10_000
"""Stimuli or items from which a study is large; below, coverage is always current."""
_LAST_MOMENT = 253_370_764_800


# --- coverage ---------------------------------------------------------------------------------------------------------


class CoverageView:
    """Coverage for any number of dashboards: counted again when something changed, and not all the time."""

    def __init__(self, collection: Collection, clock: Callable[[], float] = time.monotonic) -> None:
        self._collection = collection
        self._clock = clock
        self._lock = threading.Lock()
        self._last: CoverageInfo | None = None
        self._until = 0.0

    def current(self) -> CoverageInfo:
        """How far the study is, now or a moment ago."""
        with self._lock:
            began = self._clock()
            if self._last is None or began >= self._until:
                self._last = coverage_info(self._collection)
                now = self._clock()
                self._until = now + (REST * (now - began) if self._last.units >= LARGE else 0.0)
            return self._last


def coverage_info(collection: Collection) -> CoverageInfo:
    """How far the study is. Counts are of trials: with all questions on one page, a stimulus counts once."""
    change, coverage = collection.change(), collection.coverage()
    whole = collection.study.design.questions_per_page == "all"
    units = coverage.items.unique("stimulus", maintain_order=True) if whole else coverage.items
    waiting = coverage.complete < coverage.wanted
    finish = coverage.forecast.finish if waiting else None
    return CoverageInfo(
        change=change,
        of="stimuli" if whole else "items",
        quota=coverage.quota,
        units=coverage.units,
        full=int((units["complete"] >= coverage.quota).sum()),
        wanted=coverage.wanted,
        complete=coverage.complete,
        extra=coverage.extra,
        leased=coverage.leased,
        histogram=_histogram(units, coverage.quota),
        per_hour=coverage.forecast.per_hour,
        finish=None if finish is None else datetime.fromtimestamp(min(finish, _LAST_MOMENT), UTC),
        why_no_finish=coverage.forecast.reason if waiting else "every item has its ratings",
        raters=RaterCounts(
            all=coverage.raters,
            active=coverage.raters_now,
            complete=coverage.raters_complete,
            excluded=coverage.raters_excluded,
        ),
    )


def _histogram(units: pl.DataFrame, quota: int) -> list[CoverageBin]:
    """How many units have so many ratings, from none to the quota and beyond; with and without those coming."""
    now: dict[int, int] = dict(units["complete"].value_counts().iter_rows())
    then: dict[int, int] = dict((units["complete"] + units["leased"]).value_counts().iter_rows())
    return [
        CoverageBin(ratings=n, units=now.get(n, 0), units_with_leases=then.get(n, 0))
        for n in range(max(quota, *now, *then) + 1 if now else quota + 1)
    ]


# --- raters -----------------------------------------------------------------------------------------------------------


def ranked_raters(collection: Collection, board: Board) -> list[RaterInfo]:
    """Everybody who came, most evidence of carelessness first; those who rated nothing come last."""
    scores = {row["rater"]: row for row in board.ranking.iter_rows(named=True)}
    people = []
    for row in collection.raters().rename({"last_seen": "seen"}).iter_rows(named=True):
        score = scores.get(row["rater"], {"rank": None, "score": None, "flagged_by": []})
        judged = {name: score[name] for name in ("rank", "score", "flagged_by")}
        reasons = board.flagged.get(row["rater"], [])
        people.append(RaterInfo(**{**row, "trials": row["trials"] or 0}, **judged, reasons=reasons))
    return sorted(people, key=lambda info: (info.rank is None, info.rank or 0, -info.trials, info.rater))


def rater_info(collection: Collection, board: Board, rater: str) -> RaterInfo:
    """One rater."""
    for person in ranked_raters(collection, board):
        if person.rater == rater:
            return person
    raise unknown_rater(rater)


def trials_of(collection: Collection, rater: str) -> list[TrialInfo]:
    """Every trial of a rater, in the order they were shown."""
    media = collection.media_ids()
    rows = collection.trials(rater).sort("position", "leased_at", nulls_last=True).iter_rows(named=True)
    return [
        TrialInfo(
            **row
            | {
                "media": media.get(row["stimulus"]),
                "answers": _answers(row["answers"]),
                "late": bool(row["late"]),
                "at": row["answered_at"] or row["shown_at"] or row["leased_at"],
            }
        )
        for row in rows
    ]


def _answers(text: str | None) -> dict[str, Any]:
    """Answers by question; an answer to a machine's value comes with the rater's verdict."""
    given = json.loads(text) if text else {}
    return {name: f"{v[0]} ({v[1]})" if isinstance(v, list) else v for name, v in given.items()}


def effect_of(collection: Collection, rater: str) -> EffectInfo:
    """What excluding the rater would do; for an excluded one, what restoring would."""
    people = collection.raters()
    row = people.filter(pl.col("rater") == rater)
    if not row.height:
        raise unknown_rater(rater)
    is_excluded = bool(row["excluded"][0])
    snapshot = collection.snapshot()
    now = set(people.filter("excluded")["rater"].to_list())
    then = now - {rater} if is_excluded else now | {rater}
    before, after = (snapshot.ratings.filter(~pl.col("rater").is_in(list(names))) for names in (now, then))
    effect: Any = to_json(exclusion_effect(snapshot, before, after))
    return EffectInfo(rater=rater, excluded=is_excluded, **effect)


# --- stimuli ----------------------------------------------------------------------------------------------------------


def stimuli(collection: Collection, offset: int, limit: int, search: str) -> StimuliInfo:
    """A page of stimuli, fewest ratings first."""
    facts = ("system", "intent", "prompt", "media_problem")
    table = collection.opened.stimuli
    have = [name for name in facts if name in table.columns]
    table = table.select("stimulus", *(pl.col(name).cast(pl.String) for name in have))
    if search:
        texts = [pl.col(name).fill_null("").str.to_lowercase() for name in ("stimulus", *have)]
        table = table.filter(
            pl.any_horizontal(text.str.contains(search.lower(), literal=True) for text in texts)
        )
    counts = (
        collection.coverage().items.group_by("stimulus").agg(pl.min("complete"), pl.max("leased", "quota"))
    )
    table = table.join(counts, on="stimulus", how="left").with_columns(
        pl.col("complete", "leased", "quota").fill_null(0)
    )
    page = table.sort("complete", "stimulus").slice(offset, limit)
    means, media = _means(collection, page["stimulus"].to_list()), collection.media_ids()
    rows = [
        StimulusInfo(**row, media=media.get(row["stimulus"]), means=means.get(row["stimulus"], []))
        for row in page.iter_rows(named=True)
    ]
    return StimuliInfo(total=table.height, stimuli=rows)


def _means(collection: Collection, names: list[str]) -> dict[str, list[StimulusMean]]:
    ratings = collection.ratings().filter(
        (pl.col("kind") == "rating") & ~pl.col("excluded") & pl.col("stimulus").is_in(names)
    )
    means = ratings.group_by("stimulus", "question").agg(pl.mean("value").alias("mean"), pl.len().alias("n"))
    by_question = {name: rows for (name,), rows in means.partition_by("question", as_dict=True).items()}
    out: dict[str, list[StimulusMean]] = {}
    for question in collection.study.asked:
        scale = collection.study.scale_of(question.id)
        if question.id in by_question and (
            scale.level in {"interval", "ordinal"} or len(scale.labels()) == 2
        ):
            for row in by_question[question.id].iter_rows(named=True):
                out.setdefault(row.pop("stimulus"), []).append(StimulusMean(**row))
    return out


def flags(collection: Collection) -> list[FlagInfo]:
    """Problems that raters reported, latest first."""
    return [FlagInfo(**row) for row in _latest_first(collection, collection.flags())]


def media_problems(collection: Collection) -> list[MediaProblemInfo]:
    """Media that would not play, latest first; those noticed when the study was opened come first."""
    return [MediaProblemInfo(**row) for row in _latest_first(collection, collection.problems())]


def _latest_first(collection: Collection, table: pl.DataFrame) -> list[dict[str, Any]]:
    media = collection.media_ids()
    rows = table.sort("at", descending=True, nulls_last=False).iter_rows(named=True)
    return [row | {"media": media.get(row["stimulus"])} for row in rows]
