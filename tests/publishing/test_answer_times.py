"""Nobody is found by how long they took: an attack with the recruiter's list and every file of a release."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import heartfelt
from heartfelt.cli import main
from heartfelt.publishing.anonymity.columns.durations import LEFT_OUT, WITHOUT_FIGURES, answer_times, session_lengths
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study

STUDY = """
name: timed
scales:
  v: {type: points, points: 9}
questions:
  - {id: valence, text: "How pleasant?", scale: v}
"""
PEOPLE, CLIPS = 60, 24
START = datetime(2026, 5, 4, 9, tzinfo=UTC)
Lengths = dict[str, float]


def sessions(seed: int, people: int = PEOPLE, clips: int = CLIPS) -> tuple[Snapshot, Lengths]:
    """Ratings with everything that a collection logs, and how many seconds each person's session took."""
    rng = np.random.default_rng(seed)
    names = [f"worker-{number:04d}" for number in rng.permutation(9000)[:people]]
    pace = np.exp(rng.normal(np.log(6), 0.3, people))
    took = pace[:, None] * np.exp(rng.normal(0, 0.5, (people, clips)))
    plays = 1 + rng.poisson(took / 8)
    length = took.sum(axis=1) + 4.0 * plays.sum(axis=1) + rng.normal(60, 15, people).clip(10)
    began = [START + timedelta(minutes=float(minutes)) for minutes in rng.uniform(0, 300, people)]
    passed = np.cumsum(took + 4.0 * plays, axis=1)
    rows = [
        {
            "rater": names[who],
            "stimulus": f"clip{clip}",
            "question": "valence",
            "value": float(rng.integers(1, 10)),
            "position": clip + 1,
            "seconds": took[who, clip],
            "at": began[who] + timedelta(seconds=float(passed[who, clip])),
            "plays": int(plays[who, clip]),
            "first_play": 0.2 * took[who, clip],
            "focus_losses": int(rng.poisson(took[who, clip] / 20)),
            "heard": min(1.0, took[who, clip] / 10),
            "heard_flag": "incomplete" if took[who, clip] < 2.5 else None,
            "late": bool(took[who, clip] > 20),
            "field_seconds": 0.5 * took[who, clip],
            "keystrokes": int(took[who, clip]),
            "batch": str(clip // 12),
        }
        for who in range(people)
        for clip in range(clips)
    ]
    raters = pl.DataFrame(
        {
            "rater": names,
            "gender": rng.choice(["woman", "man"], people),
            "arrived": began,
            "last_seen": [at + timedelta(seconds=float(lasted)) for at, lasted in zip(began, length, strict=True)],
            "Duration (in seconds)": length.round().astype(int),
            "sessionMinutes": [f"{lasted / 60:.1f} min" for lasted in length],
            "effort": (length * 3 + rng.normal(0, 5, people)).round(1),
        }
    )
    ledger = pl.DataFrame(
        {
            "what": ["rater"] * people,
            "rater": names,
            "reason": [
                f"Takes {middle:.2f} s for an answer, where the raters' median is 6.02 s (p = .02)." for middle in pace
            ],
            "stage": ["screen"] * people,
        }
    )
    fields = pl.DataFrame(
        {
            "stimulus": [f"clip{who % clips}" for who in range(people)],
            "field": [f"f{who // clips}" for who in range(people)],
            "machine": ["calm"] * people,
            "verified_by": names,
            "seconds": took[:, 0],
            "keystrokes": took[:, 1].astype(int),
        }
    )
    stimuli = pl.DataFrame({"stimulus": [f"clip{clip}" for clip in range(clips)], "duration": [4.0] * clips})
    snapshot = Snapshot.build(
        parse_study(STUDY), stimuli=stimuli, ratings=pl.DataFrame(rows), raters=raters, ledger=ledger, fields=fields
    )
    return snapshot, dict(zip(names, length.tolist(), strict=True))


# --- the attack -------------------------------------------------------------------------------------------------------


def tables_of(folder: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".csv":
            yield path.name, pl.read_csv(path, infer_schema_length=None)
        elif path.suffix == ".parquet":
            yield path.name, pl.read_parquet(path)
        elif path.suffix == ".jsonl":
            yield path.name, pl.read_ndjson(path)


def guesses(folder: Path) -> dict[str, dict[str, float]]:
    """Everything in a release that could say how long a person took: by name, a figure for every pseudonym."""
    found: dict[str, dict[str, float]] = {}
    for file, frame in tables_of(folder):
        who = [name for name in ("rater", "verified_by") if name in frame.columns]
        for name in frame.columns if who else ():
            if name in who or name == "value":
                continue
            column = frame[name].cast(pl.String, strict=False) if not isinstance(frame[name].dtype, pl.List) else None
            if column is None:
                continue
            figure = column.str.extract(r"(\d+(?:\.\d+)?)").cast(pl.Float64, strict=False)
            if frame[name].dtype == pl.Boolean:
                figure = frame[name].cast(pl.Float64)
            elif isinstance(frame[name].dtype, pl.Datetime):
                figure = frame[name].dt.epoch("s").cast(pl.Float64)
            rows = pl.DataFrame({"who": frame[who[0]], "figure": figure}).drop_nulls()
            counted = rows.group_by("who").agg(
                pl.sum("figure"),
                pl.median("figure").alias("middle"),
                (pl.max("figure") - pl.min("figure")).alias("span"),
            )
            for way in ("figure", "middle", "span"):
                if counted[way].n_unique() > 1:
                    found[f"{file} {name} {way}"] = dict(counted.select("who", way).iter_rows())
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".md", ".json", ".tex", ".html", ".txt"}:
            by_place: dict[int, dict[str, float]] = defaultdict(dict)
            for line in path.read_text(encoding="utf-8").splitlines():
                for pseudonym in re.findall(r"p_[a-z2-7]{16}", line):
                    for place, figure in enumerate(re.findall(r"\d+\.\d+", line)):
                        by_place[place][pseudonym] = float(figure)
            found |= {f"{path.name} {place}": figures for place, figures in by_place.items() if len(figures) > 10}
    return found


def matched(folder: Path, lengths: Lengths) -> dict[str, tuple[int, int]]:
    """For everything that might tell: people whose row is the nearest by rank, and those whose row is among six."""
    who = dict(pl.read_csv(folder.with_name(f"{folder.name}-private") / "pseudonyms.csv").iter_rows())
    truth = [who[name] for name in sorted(lengths, key=lambda name: lengths[name])]
    out = {}
    for name, figures in guesses(folder).items():
        rng = np.random.default_rng(0)
        order = sorted(truth, key=lambda one: (figures.get(one, 0.0), rng.random()))
        apart = [abs(place - order.index(one)) for place, one in enumerate(truth)]
        # of the rows no further than the person's own, which are equally near, one is picked
        out[name] = (
            sum(gap == 0 for gap in apart),
            sum(gap <= 2 for gap in apart) + sum(gap == 3 for gap in apart) // 2,
        )
    return out


SEEDS = range(5)


def attacked(folder: Path, options: PublishOptions) -> dict[str, tuple[int, int]]:
    total: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for seed in SEEDS:
        snapshot, lengths = sessions(seed)
        published = publish(snapshot, folder / str(seed), replace(options, seed=seed))
        for name, (outright, six) in matched(published.folder, lengths).items():
            total[name] = (total[name][0] + outright, total[name][1] + six)
    return dict(total)


EVERYTHING = PublishOptions(analysis=False, figures=False, layouts=("huggingface", "csv", "webdataset"))


@pytest.mark.slow
def test_answer_times_match_nobody_better_than_chance(tmp_path: Path) -> None:
    """Sixty people five times: with a true chance of 1 in 60 (6 in 60) no column matches more than chance would."""
    shown = attacked(tmp_path / "shown", replace(EVERYTHING, seconds=0.1))
    trials = PEOPLE * len(SEEDS)
    worst = max(shown.values())
    assert worst[0] > 0.1 * trials, "the attack finds people where times are published"
    assert max(six for _, six in shown.values()) > 0.5 * trials
    hidden = attacked(tmp_path / "hidden", EVERYTHING)
    level = 0.01 / (2 * max(1, len(hidden)))
    outright = stats.binom.isf(level, trials, 1 / PEOPLE)
    among_six = stats.binom.isf(level, trials, 6 / PEOPLE)
    assert {name: hits for name, hits in hidden.items() if hits[0] > outright or hits[1] > among_six} == {}


@pytest.mark.slow
def test_what_answer_times_reveal_is_said_where_they_are_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot, _ = sessions(1, 12, 6)
    snapshot.write(tmp_path / "source")
    where = [str(tmp_path / "source"), str(tmp_path / "out"), "--no-analysis", "--layout", "csv"]
    assert main(["publish", *where, "--seconds", "0.5"]) == 0
    said = capsys.readouterr().out
    assert "whoever knows that can find the person" in said
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Answer times are published" in card[card.index("## Limits") :]
    record = json.loads((tmp_path / "out" / "publication.json").read_text(encoding="utf-8"))
    assert any("can find the person" in step["about"] for step in record["steps"])
    shown = heartfelt.load(tmp_path / "out" / "snapshot")
    assert {"seconds", "plays", "late"} <= set(shown.ratings.columns)
    where[1] = str(tmp_path / "without")
    assert main(["publish", *where]) == 0
    card = (tmp_path / "without" / "README.md").read_text(encoding="utf-8")
    assert "Answer times are published" not in card
    assert "how many answers" in card[card.index("## Limits") :]


# --- the parts --------------------------------------------------------------------------------------------------------


def test_nothing_that_grows_with_time_is_left() -> None:
    draft = Draft.of(sessions(2, 12, 4)[0])
    public = answer_times(draft, 0.0)
    assert set(public.tables["ratings"].columns) == {
        "rater", "stimulus", "question", "value", "position", "at", "batch"
    }  # fmt: skip
    assert not {"seconds", "keystrokes"} & set(public.tables["fields"].columns)
    assert set(public.tables["ledger"]["reason"]) == {WITHOUT_FIGURES}
    assert [step.lost for step in public.steps if step.about == LEFT_OUT] == [1.0] * 11
    reasons = pl.Series("reason", ["Always answers 5. Took 40 min.", None, "Excluded by hand."] * 4)
    kept = answer_times(draft.changed(ledger=draft.tables["ledger"].with_columns(reasons)), 0.0)
    assert kept.tables["ledger"]["reason"].to_list()[:3] == [
        f"Always answers 5. {WITHOUT_FIGURES}", None, "Excluded by hand."
    ]  # fmt: skip
    assert kept.steps[-1].rows == 4


@pytest.mark.parametrize(
    ("step", "expected"),
    [(0.1, [1.2, 2.0, 0.1]), (0.5, [1.0, 2.0, 0.0]), (2.0, [2.0, 2.0, 0.0]), (0.25, [1.25, 2.0, 0.0])],
)
def test_durations_are_rounded_to_the_nearest(step: float, expected: list[float]) -> None:
    draft = Draft.of(sessions(2, 12, 4)[0])
    times = draft.tables["ratings"].head(3).with_columns(seconds=pl.Series([1.19, 1.96, 0.06]))
    public = answer_times(draft.changed(ratings=times), step)
    assert public.tables["ratings"]["seconds"].to_list() == expected
    assert public.tables["ratings"]["plays"].to_list() == times["plays"].to_list()
    assert public.tables["ledger"].equals(draft.tables["ledger"])
    assert all(each.lost is None for each in public.steps)


def test_columns_that_hold_the_length_of_a_session() -> None:
    snapshot, _ = sessions(3, 12, 6)
    draft = Draft.of(snapshot)
    assert session_lengths(draft) == ["Duration (in seconds)", "sessionMinutes", "effort"]
    others = draft.tables["raters"].select(
        "rater",
        pl.col("effort").alias("about_practice_minutes"),
        pl.lit("part-time").alias("working_time"),
        pl.int_range(pl.len()).alias("time_zone"),
        pl.int_range(pl.len()).alias("age"),
        pl.lit("00:12:30").alias("timeTaken"),
    )
    assert session_lengths(draft.changed(raters=others)) == ["timeTaken"]
    few = draft.tables["raters"].head(9).select("rater", "effort")
    assert session_lengths(draft.changed(raters=few)) == []


def test_figures_that_agree_with_the_length_of_sessions_are_found() -> None:
    snapshot, _ = sessions(4, 12, 3)
    draft = Draft.of(snapshot)
    names = draft.tables["raters"]["rater"].to_list()
    ratings = draft.tables["ratings"].select("rater", "stimulus", "question", "value")
    timed = ratings.with_columns(
        seconds=pl.col("rater").replace_strict({name: float(at) for at, name in enumerate(names)})
    )
    swapped = [4, 1, 2, 3, 0, 5, 6, 11, 8, 9, 10, 7]  # a rank correlation of .776; with one exchange less it is .888
    columns = {
        "far": swapped,
        "near": [4, 1, 2, 3, 0, 5, 6, 7, 8, 9, 10, 11],
        "three": [1] * 4 + [2] * 4 + [3] * 4,
        "two": [0] * 6 + [1] * 6,
    }
    raters = pl.DataFrame({"rater": names, **columns})
    assert session_lengths(draft.changed(ratings=timed, raters=raters)) == ["near", "three"]
    untimed = raters.select("rater", pl.col("far").alias("minutes"), pl.col("far").alias("age"))
    assert session_lengths(draft.changed(ratings=ratings, raters=untimed)) == ["minutes"]
    came = raters.select("rater", "near").with_columns(arrived=pl.lit(START), last_seen=pl.lit("later"))
    assert session_lengths(draft.changed(ratings=timed, raters=came)) == ["near"]
    stayed = came.with_columns(last_seen=pl.col("arrived") + pl.duration(seconds="near"))
    assert session_lengths(draft.changed(ratings=ratings, raters=stayed)) == ["near"]
    asked = stayed.rename({"near": "before_near"})
    assert session_lengths(draft.changed(ratings=ratings, raters=asked)) == []
    alike = timed.with_columns(seconds=pl.lit(3.0))
    assert session_lengths(draft.changed(ratings=alike, raters=raters)) == [], "all took as long"
    worded = ratings.with_columns(first_play=pl.lit("3 s"))
    assert "first_play" not in answer_times(draft.changed(ratings=worded), 0.0).tables["ratings"].columns
    assert "first_play" in answer_times(draft.changed(ratings=worded), 0.1).tables["ratings"].columns
