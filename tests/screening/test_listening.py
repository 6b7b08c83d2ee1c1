"""Rules about listening and timing: one row per trial of any kind, judged by what the study asks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.screening import POLICIES, RULES, RatingsView, RuleOptions
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from heartfelt.study.parts.design import HEARD_ENOUGH

START = datetime(2026, 1, 1, tzinfo=UTC)
SCALES = {
    "mushra": "{type: grade, low: 0, high: 100, step: 1}",
    "pair": "{type: choice}",
    "ranking": "{type: rank}",
    "single": "{type: points, points: 9}",
    "trace": "{type: trace}",
    "text": "{type: text}",
}


def heard_study(
    kind: str, listening: str, trials: dict[str, list[dict[str, Any]]], duration: float | None = None
) -> Snapshot:
    """Trials of raters with what was recorded about each; ``heard`` may have a share for every member."""
    rows = []
    for rater, recorded in trials.items():
        for number, facts in enumerate(recorded):
            shares = facts.get("heard")
            members = (
                shares if isinstance(shares, list) else [shares] * (1 if kind in {"single", "trace", "text"} else 2)
            )
            for place, share in enumerate(members, 1):
                rows.append(
                    {
                        "rater": rater,
                        "question": "q",
                        "value": float(place - (kind == "pair")),
                        "position": number + 1,
                        "stimulus": f"s{number}-{place}",
                        "trial": f"{rater}-{number}",
                        "place": place,
                        "heard_flag": None,
                        "seconds": None,
                        "at": None,
                        **facts,
                        "heard": share,
                    }
                )
    types: dict[str, Any] = {
        "heard": pl.Float64,
        "heard_flag": pl.String,
        "seconds": pl.Float64,
        "at": pl.Datetime("us", "UTC"),
    }
    ratings = pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)
    if kind in {"single", "trace", "text"}:
        ratings = ratings.drop("trial", "place")
    if kind == "text":
        ratings = ratings.with_columns(value=pl.lit(None, pl.Float64), answer=pl.lit("some words"))
    sets = "" if "place" not in ratings.columns else f"sets: {{type: {kind}, rule: by-prompt{_MORE.get(kind, '')}}}\n"
    study = parse_study(
        f"name: n\nmedia: audio\nscales: {{s: {SCALES[kind]}}}\nquestions: [{{id: q, text: q, scale: s}}]\n{sets}"
        f"design: {{listening: {listening}}}\n"
    )
    stimuli = ratings.select("stimulus").unique(maintain_order=True)
    if duration is not None:
        stimuli = stimuli.with_columns(duration=pl.lit(duration))
    return Snapshot.build(study, stimuli=stimuli, ratings=ratings)


_MORE = {"mushra": ", reference: original"}


def judged(rule: str, snapshot: Snapshot) -> dict[str, tuple[int, float | None, bool]]:
    table = RULES[rule].apply(snapshot)
    return {
        rater: (n, value, hit) for rater, n, value, hit in table.select("rater", "n", "value", "flagged").iter_rows()
    }


def test_what_counts_as_heard_is_defined_once() -> None:
    assert RULES["heard"].settings["enough"][0] == HEARD_ENOUGH


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["single", "pair", "mushra", "ranking", "trace", "text"])
def test_one_row_per_trial_of_every_kind(kind: str) -> None:
    """Twelve trials: eight heard in part by one rater, all of them in full by the other."""
    part: dict[str, Any] = {"heard": 0.5, "heard_flag": "incomplete"}
    trials: dict[str, list[dict[str, Any]]] = {
        "short": [part] * 8 + [{"heard": 1.0}] * 4,
        "whole": [{"heard": 1.0}] * 12,
    }
    assert judged("heard", heard_study(kind, "full", trials)) == {
        "short": (12, pytest.approx(8 / 12), True),
        "whole": (12, 0.0, False),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listening", "share", "short"),
    [
        ("full", HEARD_ENOUGH, False),
        ("full", HEARD_ENOUGH - 0.001, True),
        ("started", 0.01, False),
        ("started", 0.0, True),
    ],
)
def test_the_study_says_what_must_be_heard(listening: str, share: float, short: bool) -> None:
    """Of a set, of every member: the one heard least counts."""
    for kind, heard in (("single", share), ("mushra", [1.0, share, 1.0])):
        result = judged("heard", heard_study(kind, listening, {"r": [{"heard": heard}] * 6}))
        assert result == {"r": (6, float(short), short)}


@pytest.mark.slow
def test_a_reference_that_was_not_heard_is_known_by_the_flag() -> None:
    """A named reference has no rating, so only the collection's flag tells."""
    trials = {"r": [{"heard": [1.0, 1.0], "heard_flag": "incomplete"}] * 6}
    assert judged("heard", heard_study("mushra", "started", trials)) == {"r": (6, 1.0, True)}


def test_four_trials_are_too_few_however_many_members() -> None:
    table = RULES["heard"].apply(heard_study("mushra", "full", {"r": [{"heard": [0.0] * 6}] * 4}))
    assert table.select("n", "flagged").rows() == [(4, False)]
    assert "fewer than 5 trials" in table["why_missing"][0]


@pytest.mark.slow
def test_impossible_listening_is_judged_whatever_the_study_asks_for() -> None:
    trials = {
        "script": [{"heard": 0.2, "heard_flag": "impossible"}] * 6,
        "once": [{"heard": 1.0, "heard_flag": "impossible"}] + [{"heard": 1.0}] * 5,
        "few": [{"heard": 0.2, "heard_flag": "impossible"}] * 4,
    }
    for listening in ("full", "started", "free"):
        snapshot = heard_study("pair", listening, trials)
        table = RULES["impossible"].apply(snapshot)
        assert table["flagged"].to_list() == [True, False, False]
        assert table["p"].to_list() == [pytest.approx(0.05**6), pytest.approx(1 - 0.95**6), None]
    assert "answer without listening" in RULES["heard"].apply(snapshot)["why_missing"][0]
    assert POLICIES["default"].action("impossible") == "drop"
    silent = heard_study("pair", "full", {"r": [{"heard": 1.0}] * 6})
    assert not RULES["impossible"].applies(RatingsView.of(silent))


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "rate"), [("heard", 0.1), ("impossible", 0.05)])
def test_raters_whose_players_fail_as_often_as_tolerated_are_flagged_at_most_at_the_level(
    rule: str, rate: float
) -> None:
    """At the tolerated rate anybody is flagged in at most 5% of studies: 0 to 9 of 100 (99% of draws at 5%, or fewer)."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(100):
        bad = {"heard": 0.0, "heard_flag": "impossible" if rule == "impossible" else "incomplete"}
        trials = {
            f"r{rater}": [bad if rng.random() < rate else {"heard": 1.0} for _ in range(int(rng.integers(5, 41)))]
            for rater in range(8)
        }
        hits += bool(RULES[rule].apply(heard_study("single", "full", trials))["flagged"].any())
    assert hits <= 9


def timed(rng: np.random.Generator, seconds: float, net: float = 0.0) -> list[dict[str, Any]]:
    """Ten trials that take about so long."""
    at, out = START, []
    for took in seconds * np.exp(0.3 * rng.standard_normal(10)):
        at += timedelta(seconds=float(took))
        out.append({"seconds": max(0.0, float(took) - net), "at": at})
    return out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["single", "pair", "mushra", "ranking", "trace", "text"])
def test_times_of_every_kind_of_trial_are_compared(kind: str) -> None:
    rng = np.random.default_rng(3)
    trials = {f"r{number}": timed(rng, 6.0) for number in range(9)} | {"fast": timed(rng, 0.3)}
    result = judged("response-time", heard_study(kind, "full", trials))
    assert {rater for rater, (_, _, hit) in result.items() if hit} == {"fast"}
    assert {n for n, _, _ in result.values()} == {10}


@pytest.mark.slow
def test_who_answers_before_the_clips_end_is_not_taken_for_fast() -> None:
    """Where a clip need not be heard to its end, times net of the clips are cut off at 0; answers come 20 s apart all the same."""
    rng = np.random.default_rng(4)
    slow = {f"r{number}": timed(rng, 26.0, 24.0) for number in range(9)}
    trials = slow | {"early": timed(rng, 20.0, 24.0), "fast": timed(rng, 2.0, 24.0)}
    assert sum(trial["seconds"] == 0.0 for trial in trials["early"]) > 5
    result = judged("response-time", heard_study("pair", "started", trials, duration=12.0))
    assert {rater for rater, (_, _, hit) in result.items() if hit} == {"fast"}
    assert {n for n, _, _ in result.values()} == {9}


@pytest.mark.slow
def test_a_time_shared_by_two_questions_counts_once() -> None:
    single = heard_study("single", "full", {f"r{n}": timed(np.random.default_rng(n), 6.0) for n in range(6)})
    second = single.ratings.with_columns(question=pl.lit("p"))
    study = parse_study(
        "name: n\nscales: {s: {type: points, points: 9}}\n"
        "questions: [{id: q, text: q, scale: s}, {id: p, text: p, scale: s}]\n"
    )
    both = Snapshot.build(study, stimuli=single.stimuli, ratings=pl.concat([single.ratings, second]))
    options = RuleOptions()
    one, two = (RULES["response-time"].apply(each, options) for each in (single, both))
    assert one.drop("words").equals(two.drop("words"))
