"""Somebody else's tables: ratings in one file, what is known about stimuli and raters in others, with names of their own."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from heartfelt import load, read
from heartfelt.cli.app import app
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.formats.workbook_files import write_xlsx

CLIPS = [f"clip{number}" for number in range(6)]
PEOPLE = [f"p{number}" for number in range(5)]


def ratings() -> pl.DataFrame:
    """One answer per row, of people and clips only."""
    rows = [
        (person, clip, (row + 2 * place) % 7 + 1)
        for row, person in enumerate(PEOPLE)
        for place, clip in enumerate(CLIPS)
    ]
    return pl.DataFrame(rows, schema=["listener", "wavname", "score"], orient="row")


def clips() -> pl.DataFrame:
    """What the clips are, under other names, with one that nobody heard."""
    names = [*CLIPS, "unheard"]
    return pl.DataFrame(
        {
            "wavname": names,
            "generator_name": [f"gen{number % 2}" for number in range(7)],
            "mood": [f"mood{number % 3}" for number in range(7)],
            "words": [f"prompt {number}" for number in range(7)],
            "tempo": [90 + number for number in range(7)],
        }
    )


def write(frame: pl.DataFrame, path: Path) -> str:
    """The frame as a file of the kind its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".xlsx":
        write_xlsx(path, {"Clips": [frame.columns, *frame.rows()]})
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path.name


NAMED = {"rater": "listener", "stimulus": "wavname", "value": "score", "scale": "1-7"}
ABOUT = {"system": "generator_name", "intent": "mood", "prompt": "words"}


def facts(snapshot: Snapshot) -> dict[str, tuple[str | None, str | None, str | None]]:
    """System, intent and prompt of every stimulus."""
    rows = snapshot.stimuli.select("stimulus", "system", "intent", "prompt").iter_rows()
    return {stimulus: (system, intent, prompt) for stimulus, system, intent, prompt in rows}


EXPECTED = {row[0]: row[1:4] for row in clips().rows()}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx", "parquet"])
def test_columns_are_looked_for_in_the_table_of_stimuli(tmp_path: Path, suffix: str) -> None:
    write(ratings(), tmp_path / "answers.csv")
    name = write(clips(), tmp_path / f"clips.{suffix}")
    snapshot = read(tmp_path / "answers.csv", "long", stimuli=name, **NAMED, **ABOUT)
    assert facts(snapshot) == EXPECTED
    assert {system.id for system in snapshot.study.systems} == {"gen0", "gen1"}
    assert snapshot.stimuli["tempo"].to_list() == clips()["tempo"].to_list()
    assert "generator_name" not in snapshot.stimuli.columns


def test_the_command_does_the_same(tmp_path: Path) -> None:
    write(ratings(), tmp_path / "answers.csv")
    write(clips(), tmp_path / "clips.csv")
    maps = {**NAMED, **ABOUT, "stimuli": "clips.csv"}
    pairs = [part for name, value in maps.items() for part in ("--map", f"{name}={value}")]
    done = CliRunner().invoke(app, ["import", "long", str(tmp_path / "answers.csv"), str(tmp_path / "out"), *pairs])
    assert done.exit_code == 0, done.output
    assert facts(load(tmp_path / "out")) == EXPECTED


def test_what_the_ratings_say_is_kept_and_fills_gaps(tmp_path: Path) -> None:
    systems = dict(zip(CLIPS, clips()["generator_name"].to_list(), strict=False))
    told = ratings().with_columns(pl.col("wavname").replace_strict(systems).alias("generator_name"))
    write(told, tmp_path / "answers.csv")
    write(clips().drop("generator_name"), tmp_path / "clips.csv")
    snapshot = read(tmp_path / "answers.csv", "long", stimuli="clips.csv", **NAMED, **ABOUT)
    assert facts(snapshot) == {**EXPECTED, "unheard": (None, *EXPECTED["unheard"][1:])}
    listed = clips().with_columns(
        pl.when(pl.col("wavname") == "clip0").then(None).otherwise("generator_name").alias("generator_name")
    )
    write(listed.filter(pl.col("wavname") != "clip3"), tmp_path / "clips.csv")
    both = read(tmp_path / "answers.csv", "long", stimuli="clips.csv", **NAMED, **ABOUT)
    assert facts(both)["clip0"] == EXPECTED["clip0"]
    assert facts(both)["clip3"] == ("gen1", None, None)


def test_a_name_in_neither_table_names_the_columns_of_both(tmp_path: Path) -> None:
    write(ratings(), tmp_path / "answers.csv")
    write(clips(), tmp_path / "clips.tsv")
    with pytest.raises(InputError) as refused:
        read(tmp_path / "answers.csv", "long", stimuli="clips.tsv", system="generator_nam", **NAMED)
    assert mentions(refused.value.problem, "answers.csv", "clips.tsv", "'generator_nam'")
    assert mentions(
        refused.value.fix, "'generator_name'? answers.csv", "listener, wavname, score", "clips.tsv", "generator_name"
    )
    with pytest.raises(InputError) as alone:
        read(tmp_path / "answers.csv", "long", system="scor", **NAMED)
    assert "has no column 'scor'" in alone.value.problem
    assert "Did you mean 'score'?" in alone.value.fix


def test_columns_of_raters_are_looked_for_in_theirs(tmp_path: Path) -> None:
    write(ratings(), tmp_path / "answers.csv")
    write(pl.DataFrame({"listener": PEOPLE, "age": range(20, 25)}), tmp_path / "who.csv")
    snapshot = read(tmp_path / "answers.csv", "long", raters="who.csv", rater_columns="age", **NAMED)
    assert snapshot.raters["age"].to_list() == list(range(20, 25))
    with pytest.raises(InputError, match=r"who\.csv.*'agee'") as refused:
        read(tmp_path / "answers.csv", "long", raters="who.csv", rater_columns="agee", **NAMED)
    assert "Did you mean 'age'?" in refused.value.fix
    stated = read(write_beside(tmp_path), "long", stimuli="clips.csv", stimulus_columns="tempo", **NAMED)
    assert stated.stimuli["tempo"][0] == 90


def write_beside(folder: Path) -> Path:
    """The ratings with the table of clips next to them."""
    write(clips(), folder / "clips.csv")
    write(ratings(), folder / "answers.csv")
    return folder / "answers.csv"


def test_pairs(tmp_path: Path) -> None:
    rows = [(p, a, b, "first") for p in PEOPLE for a, b in itertools.pairwise(CLIPS)]
    write(pl.DataFrame(rows, schema=["listener", "a", "b", "won"], orient="row"), tmp_path / "pairs.csv")
    write(clips(), tmp_path / "clips.csv")
    named = {"rater": "listener", "first": "a", "second": "b", "winner": "won", "stimuli": "clips.csv"}
    assert facts(read(tmp_path / "pairs.csv", "long", **named, **ABOUT)) == EXPECTED
    with pytest.raises(InputError, match=r"clips\.csv.*'generatr'"):
        read(tmp_path / "pairs.csv", "long", system="generatr", **named)


def test_best_and_worst(tmp_path: Path) -> None:
    rows = [(p, *CLIPS[:4], CLIPS[0], CLIPS[3]) for p in PEOPLE]
    table = pl.DataFrame(rows, schema=["listener", "c1", "c2", "c3", "c4", "best", "worst"], orient="row")
    write(table, tmp_path / "quads.csv")
    write(clips(), tmp_path / "clips.csv")
    named = {"rater": "listener", "members": "c1,c2,c3,c4", "best": "best", "worst": "worst"}
    assert facts(read(tmp_path / "quads.csv", "long", stimuli="clips.csv", **named, **ABOUT)) == EXPECTED
    with pytest.raises(InputError, match=r"clips\.csv.*'generatr'"):
        read(tmp_path / "quads.csv", "long", stimuli="clips.csv", system="generatr", **named)


def test_traces(tmp_path: Path) -> None:
    rows = [(p, clip, t, (t % 3) - 1) for p in PEOPLE for clip in CLIPS for t in range(4)]
    write(pl.DataFrame(rows, schema=["listener", "wavname", "t", "v"], orient="row"), tmp_path / "samples.csv")
    write(clips(), tmp_path / "clips.csv")
    named = {"rater": "listener", "stimulus": "wavname", "time": "t", "value": "v", "stimuli": "clips.csv"}
    assert facts(read(tmp_path / "samples.csv", "long", **named, **ABOUT)) == EXPECTED
    with pytest.raises(InputError, match=r"clips\.csv.*'generatr'"):
        read(tmp_path / "samples.csv", "long", system="generatr", **named)


def test_the_hidden_reference_is_a_system_of_the_table_of_stimuli(tmp_path: Path) -> None:
    rows = [(p, f"item{n // 3}", clip, 20 * (n % 3)) for p in PEOPLE for n, clip in enumerate(CLIPS)]
    write(pl.DataFrame(rows, schema=["listener", "item", "wavname", "grade"], orient="row"), tmp_path / "m.csv")
    codecs = clips().with_columns(pl.Series("codec", ["original", "low", "new"] * 2 + ["new"]))
    write(codecs, tmp_path / "clips.csv")
    snapshot = read(
        tmp_path / "m.csv", "long", rater="listener", stimulus="wavname", value="grade", trial="item",
        scale="grade:0-100", stimuli="clips.csv", system="codec", hidden_reference="original", low_anchors="low",
    )  # fmt: skip
    roles = dict(snapshot.ratings.select("stimulus", "role").unique().iter_rows())
    assert roles["clip0"] == roles["clip3"] == "hidden-reference"
    assert roles["clip1"] == "anchor"
    assert roles["clip2"] == "member"
    assert "\0system" not in snapshot.ratings.columns


def test_surveys(tmp_path: Path) -> None:
    survey = ratings().pivot("wavname", index="listener", values="score")
    survey = survey.rename({clip: f"valence_{clip}" for clip in CLIPS})
    write(survey, tmp_path / "survey.csv")
    write(clips(), tmp_path / "clips.csv")
    named = {"pattern": "{question}_{stimulus}", "scale": "1-7"}
    snapshot = read(tmp_path / "survey.csv", "wide", id="listener", stimuli="clips.csv", **named, **ABOUT)
    assert facts(snapshot) == EXPECTED
    with pytest.raises(InputError, match=r"row.*rater.*'listener'"):
        read(tmp_path / "survey.csv", "wide", system="listener", **named)
    with pytest.raises(InputError, match=r"column.*'generator_name'"):
        read(tmp_path / "survey.csv", "wide", system="generator_name", **named)
    by_clip = clips().head(6).with_columns(pl.Series(f"r{person}", [1, 2, 3, 4, 5, 6]) for person in PEOPLE)
    write(by_clip, tmp_path / "by-clip.csv")
    columns = {"rows": "stimulus", "id": "wavname", "pattern": "r{rater}", "question": "valence", "scale": "1-7"}
    turned = read(tmp_path / "by-clip.csv", "wide", **columns, **ABOUT)
    assert facts(turned) == {clip: EXPECTED[clip] for clip in CLIPS}


def test_auto(tmp_path: Path) -> None:
    write(ratings(), tmp_path / "answers.csv")
    write(clips(), tmp_path / "clips.csv")
    snapshot = read(tmp_path / "answers.csv", scale="1-7", stimuli="clips.csv", **ABOUT)
    assert facts(snapshot) == EXPECTED
