"""Tables of other people's, read without a word about them: what is proposed, and that the proposal works as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.formats.proposals.guided import UnclearTableError, propose
from heartfelt.formats.proposals.roles import Proposal
from tests.cases import check_all

RATERS, CLIPS, SYSTEMS = 6, 5, ("tango", "suno")


def long_table(header: str, *cells: str) -> str:
    """A row per rater and clip; each cell is a format string of the rater r, the clip c, the system and an answer v."""
    lines = [header]
    for r in range(RATERS):
        for c in range(CLIPS):
            facts = {"r": r, "c": c, "system": SYSTEMS[c % 2], "v": (3 * r + c * c) % 5 + 1, "w": (r + 2 * c) % 5 + 1}
            lines.append(",".join(cell.format(**facts) for cell in cells))
    return "\n".join(lines) + "\n"


READ: dict[str, tuple[str, str, dict[str, str]]] = {
    "winners and losers": (
        "winner,loser\n" + "".join(f"l{c},l{(c + 1 + c % 3) % 9}\n" for c in range(12)),
        "long",
        {"first": "winner", "second": "loser", "winner": "winner", "rater": "none"},
    ),
    "evaluator_id": (
        long_table("evaluator_id,clip_id,score", "e{r}", "clip{c}", "{v}"),
        "long",
        {"rater": "evaluator_id", "stimulus": "clip_id", "value": "score"},
    ),
    "listener_id": (
        long_table("listener_id,wav,system,mos", "L{r:02}", "a{c}.wav", "{system}", "{v}"),
        "long",
        {"rater": "listener_id", "stimulus": "wav", "system": "system", "value": "mos"},
    ),
    "camel case": (
        long_table("ResponseId,fileName,Rating", "R_{r}", "x{c}.png", "{v}"),
        "long",
        {"rater": "ResponseId", "stimulus": "fileName", "value": "Rating"},
    ),
    "spaces and capitals": (
        long_table("Worker ID,Image,Model,Quality Score", "A{r}X", "i{c}.png", "{system}", "{v}"),
        "long",
        {"rater": "Worker ID", "stimulus": "Image", "system": "Model", "value": "Quality Score"},
    ),
    "two questions in columns": (
        long_table("annotator,track,valence,arousal", "ann{r}", "t{c}", "{v}", "{w}"),
        "long",
        {"rater": "annotator", "stimulus": "track", "value": "valence,arousal"},
    ),
    "two rated columns": (
        long_table("subject_id,stimulus_file,naturalness_rating,similarity_rating", "s{r}", "t{c}.wav", "{v}", "{w}"),
        "long",
        {"rater": "subject_id", "value": "naturalness_rating,similarity_rating"},
    ),
    "a mean of the clip and the age of the rater are no answers": (
        long_table("WAV_PATH,MEAN,AGE,MOS,JUDGE", "n{c}.wav", "3.{c}", "2{r}", "{v}", "J{r}"),
        "long",
        {"rater": "JUDGE", "stimulus": "WAV_PATH", "value": "MOS"},
    ),
    "times are no answers": (
        long_table(
            "participant,filename,rating,rt,timestamp",
            "p{r}", "f{c}.wav", "{v}", "{r}{c}.5", "2024-01-0{w} 10:0{r}:00"),
        "long",
        {"rater": "participant", "stimulus": "filename", "value": "rating"},
    ),
    "the condition is part of the stimulus": (
        "listener,sentence_audio,condition,score\n"
        + "".join(
            f"l{r},s{c},{system},{(r + c + len(system)) % 5 + 1}\n"
            for r in range(4)
            for c in range(3)
            for system in SYSTEMS
        ),
        "long",
        {"rater": "listener", "stimulus": "sentence_audio+condition", "system": "condition", "value": "score"},
    ),
    "means": (
        "filename,system,mos,std,n\n" + "".join(f"a{c}.wav,{SYSTEMS[c % 2]},3.{c},0.{c},12\n" for c in range(6)),
        "means",
        {"stimulus": "filename", "mean": "mos", "sd": "std", "n": "n", "system": "system"},
    ),
    "means per question": (
        "image_id,valence_mean,valence_sd,arousal_mean\n" + "".join(f"i{c},3.{c},0.5,4.{c}\n" for c in range(6)),
        "means",
        {"stimulus": "image_id"},
    ),
    "votes": (
        "clip,happy,sad,angry\n" + "".join(f"c{c},{c},{8 - c},2\n" for c in range(6)),
        "votes",
        {"stimulus": "clip", "categories": "happy,sad,angry"},
    ),
    "votes by name": (
        "image,n_raters,happy_votes,sad_votes\n" + "".join(f"i{c}.png,9,{c},{7 - c}\n" for c in range(6)),
        "votes",
        {"stimulus": "image", "pattern": "{category}_votes"},
    ),
    "pairs": (
        "rater_id,clip_a,clip_b,preferred\n"
        + "".join(f"r{r},c{c},c{c + 1},{'AB'[(r + c) % 2]}\n" for r in range(4) for c in range(4)),
        "long",
        {"first": "clip_a", "second": "clip_b", "winner": "preferred", "rater": "rater_id"},
    ),
    "pairs of systems": (
        "user,system_1,system_2,winner\n"
        + "".join(f"u{r},tango,suno,{('tango', 'suno', 'tie')[(r + k) % 3]}\n" for r in range(4) for k in range(3)),
        "long",
        {"first_system": "system_1", "second_system": "system_2", "winner": "winner", "rater": "user"},
    ),
    "wide by rater": (
        "participant_id,age,clip1_valence,clip1_arousal,clip2_valence,clip2_arousal\n"
        + "".join(f"p{r},2{r},{r % 5 + 1},{(r + 1) % 5 + 1},{(r + 2) % 5 + 1},3\n" for r in range(6)),
        "wide",
        {"id": "participant_id", "rows": "rater", "pattern": "{stimulus}_{question}"},
    ),
    "wide by stimulus": (
        "filename,rater1,rater2,rater3\n" + "".join(f"a{c}.wav,{c % 5 + 1},{(c + 2) % 5 + 1},4\n" for c in range(6)),
        "wide",
        {"id": "filename", "rows": "stimulus", "pattern": "{rater}"},
    ),
}  # fmt: skip
"""Tables that are clear: text, format and some of the options they are read with."""

ASKED: dict[str, tuple[str, str, dict[str, str]]] = {
    "unnamed raters": (
        long_table("who,clip,score", "w{r}", "clip{c}", "{v}"),
        "long",
        {"rater": "who", "stimulus": "clip", "value": "score"},
    ),
    "unnamed stimuli": (
        long_table("judge,bottle,rating", "{r}", "{c}", "{v}"),
        "long",
        {"rater": "judge", "stimulus": "bottle", "value": "rating"},
    ),
    "unnamed answers": (
        long_table("rater,clip,x,y", "r{r}", "clip{c}", "{v}", "{w}"),
        "long",
        {"rater": "rater", "stimulus": "clip"},
    ),
    "nobody knows who rated": (
        long_table("clip,score", "clip{c}", "{v}"),
        "long",
        {"rater": "none", "stimulus": "clip", "value": "score"},
    ),
    "repeated answers": (
        long_table("rater,clip,score", "r{r}", "clip{c}", "{v}").rstrip() + "\nr0,clip0,5\n",
        "long",
        {"repeat": "order"},
    ),
    "rows without a stimulus": (
        long_table("user_ID,stimuli_file,rating", "{r}", "s{c}.png", "{v}") + "9,,-1\n",
        "long",
        {"where": "stimuli_file!="},
    ),
    "a name that needs quotes": (
        long_table("it's who,clip file,score,what else", "w{r}", "c {c}", "{v}", "{w}"),
        "long",
        {"rater": "it's who", "stimulus": "clip file"},
    ),
    "wins counted": (
        "j1,j2,win1,win2\nA,B,3,4\nA,C,1,0\nB,C,2,2\n",
        "long",
        {"first": "j1", "second": "j2", "votes": "win1,win2"},
    ),
    "means without a word": (
        "audio_file,model,valence,arousal,num_annotators\n"
        + "".join(f"a{c}.wav,{SYSTEMS[c % 2]},3.{c},4.{c},6\n" for c in range(6)),
        "means",
        {"stimulus": "audio_file", "mean": "valence,arousal", "n": "num_annotators"},
    ),
    "wide without ids": (
        "s1,s2,s3\n" + "".join(f"{r % 5 + 1},{(r + 1) % 5 + 1},{(r + 2) % 5 + 1}\n" for r in range(6)),
        "wide",
        {"rows": "rater", "pattern": "{stimulus}"},
    ),
}  # fmt: skip
"""Tables that could be read in more than one way: text, and what is proposed."""


def saved(tmp_path: Path, text: str, name: str = "their table.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def contains(options: dict[str, str], expected: dict[str, str]) -> bool:
    return expected.items() <= options.items()


@pytest.mark.slow
@check_all("name", READ)
def test_clear_tables_are_read(name: str, tmp_path: Path) -> None:
    text, format, expected = READ[name]
    snapshot = heartfelt.read(saved(tmp_path, text))
    assert snapshot.source.format == format
    assert contains(dict(snapshot.source.options), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_unclear_tables_get_a_command_that_works(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, format, expected = ASKED[name]
    path, folder = saved(tmp_path, text), tmp_path / "out folder"
    assert main(["import", "auto", str(path), str(folder)]) == 2
    shown = capsys.readouterr().err.strip().splitlines()
    command = shown[-1].removeprefix("If that is right: heartfelt ")
    assert command != shown[-1]
    arguments = shlex.split(command)
    assert arguments[:4] == ["import", format, str(path), str(folder)]
    mapped = dict(pair.split("=", 1) for pair in arguments[5::2])
    assert contains(mapped, expected)
    assert any(line.strip().startswith("not certain:") for line in shown)
    assert main(arguments) == 0, capsys.readouterr().err
    with pytest.raises(UnclearTableError) as caught:
        heartfelt.read(path)
    again = eval(caught.value.fix.removeprefix("If that is right: "), {"heartfelt": heartfelt})
    assert again.hash == heartfelt.read(folder).hash


def test_a_guess_has_evidence_and_a_runner_up(tmp_path: Path) -> None:
    frame = pl.read_csv(saved(tmp_path, long_table("who,kind,clip,score", "w{r}", "k{w}", "clip{c}", "{v}")))
    proposal = propose(frame)
    assert isinstance(proposal, Proposal)
    by_role = {guess.role: guess for guess in proposal.guesses}
    assert (by_role["rater"].column, by_role["rater"].runner_up) == ("who", "kind")
    assert "6 different texts in 30 rows" in by_role["rater"].evidence
    assert list(proposal.doubts) == ["rater"]


def test_what_a_person_states_settles_a_doubt(tmp_path: Path) -> None:
    path = saved(tmp_path, ASKED["unnamed raters"][0])
    snapshot = heartfelt.read(path, rater="who")
    assert snapshot.source.options["stimulus"] == "clip"
    assert snapshot.counts["raters"] == RATERS


def test_a_format_named_with_unclear_columns_gets_the_same_proposal(tmp_path: Path) -> None:
    path = saved(tmp_path, ASKED["unnamed raters"][0])
    with pytest.raises(UnclearTableError, match="no column is unmistakably the rater"):
        heartfelt.read(path, "long")
    assert heartfelt.read(saved(tmp_path, READ["evaluator_id"][0]), "long").counts["raters"] == RATERS


def test_a_table_of_nothing_rated_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, "ID,prompts,category\np1,a red car,x\np2,a blue bird,y\n")
    with pytest.raises(InputError, match="Cannot detect the format") as caught:
        heartfelt.read(path)
    assert "--format" not in caught.value.fix
    assert re.search(r"heartfelt\.read\('.*', FORMAT\)", caught.value.fix)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n \n", "is empty"),
        ("a.csv", b"rater,stimulus,value\n", "has no rows below its header"),
        ("a.csv", b"a,b\0c\n1,2\n", "is not a text file"),
        ("a.xlsx", b"not a workbook", "cannot be read as a spreadsheet"),
        ("a.parquet", b"PAR1 cut short", "a.parquet"),
    ],
)
def test_a_file_without_a_table_says_what_is_wrong_with_it(
    name: str, content: bytes, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem) as caught:
        heartfelt.read(path)
    assert "Cannot detect" not in str(caught.value)


def test_captions_serve_as_keys_where_nothing_else_names_the_stimulus() -> None:
    rows = [
        (f"l{r}", f"{'a dog barks and rain falls ' * 9}{s}", s % 3, 1 + (r + s) % 9) for r in range(4) for s in range(6)
    ]
    frame = pl.DataFrame(rows, schema=["listener", "caption", "split", "score"], orient="row")
    proposal = propose(frame)
    assert proposal is not None
    assert {guess.role: guess.column for guess in proposal.guesses}["stimulus"] == "caption"
    assert "stimulus" in proposal.doubts
    with pytest.raises(UnclearTableError, match=r"'is_anchor'.*anchors") as caught:
        heartfelt.read(frame.with_columns(is_anchor=pl.col("split") == 0))
    assert "stimulus='caption'" in caught.value.fix
