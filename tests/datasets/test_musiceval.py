"""MusicEval: the challenge release, the full release with single ratings, and ``ratings.csv``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

from heartfelt.datasets.musiceval.reader import MusicEvalFormat
from heartfelt.datasets.musiceval.writer import unquoted
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.study.model import AnchorProbe, RepeatProbe
from heartfelt.study.recipes import recipe_study
from tests.cases import check_all

CLIP = "audiomos2025-track1-{}.wav".format
FORMAT = MusicEvalFormat()


def release(folder: Path, **files: str) -> Path:
    """A release of the given files; ``__`` in a name stands for a folder, ``_txt`` and ``_csv`` for the ending."""
    root = folder / "MusicEval"
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_txt", ".txt").replace("_csv", ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return root


def again(snapshot: Snapshot, folder: Path) -> tuple[Snapshot, Path]:
    out = folder / "again"
    out.mkdir()
    FORMAT.write(snapshot, out)
    return FORMAT.read(out, {}), out


def test_the_challenge_release_is_means_without_raters(tmp_path: Path) -> None:
    root = release(
        tmp_path,
        sets__train_mos_list_txt=f"{CLIP('S002_P001')},3.6,4.0\n{CLIP('S001_P001')},2.4,3.0\n",
        sets__dev_mos_list_txt=f"{CLIP('S002_P002')},3.0,3.2\n",
        system_mos__system_mos_phase1_csv="S001,2.4,3.0\nS002,3.3,3.6\n",
        prompt_info_txt="id\ttext\nP001\tA bright piece\nP002\tSlow strings\n",
        demo_prompt_info_txt=f"id\ttext\n{CLIP('S001_P001')}\tWaltz for harp\n",
    )
    snapshot = FORMAT.read(root, {})
    assert snapshot.counts["ratings"] == 0
    assert snapshot.counts["raters"] == 0
    means = {(r["stimulus"], r["question"]): r["mean"] for r in snapshot.means.iter_rows(named=True)}
    assert means == {
        (CLIP("S002_P001"), "impression"): 3.6,
        (CLIP("S002_P001"), "alignment"): 4.0,
        (CLIP("S001_P001"), "impression"): 2.4,
        (CLIP("S001_P001"), "alignment"): 3.0,
        (CLIP("S002_P002"), "impression"): 3.0,
        (CLIP("S002_P002"), "alignment"): 3.2,
    }
    rows = {row["stimulus"]: row for row in snapshot.stimuli.iter_rows(named=True)}
    assert rows[CLIP("S002_P002")]["split"] == "dev"
    assert rows[CLIP("S002_P001")]["system"] == "S002"
    assert rows[CLIP("S002_P001")]["prompt_text"] == "A bright piece"
    assert rows[CLIP("S001_P001")]["prompt"] == CLIP("S001_P001")
    assert rows[CLIP("S001_P001")]["prompt_text"] == "Waltz for harp"
    assert (snapshot.study.systems[1].model_extra or {})["system_mos"] == {
        "system_mos_phase1": {"overall": 3.3, "textual": 3.6}
    }
    assert [question.id for question in snapshot.study.asked] == ["impression", "alignment"]
    assert snapshot.study.probes == []


@pytest.mark.slow
def test_the_example_comes_back_byte_for_byte(tmp_path: Path) -> None:
    source = FORMAT.example(tmp_path)
    snapshot = FORMAT.read(source, {})
    repeated, out = again(snapshot, tmp_path)
    assert repeated.hash == snapshot.hash
    names = sorted(p.relative_to(source).as_posix() for p in source.rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    for name in names:
        assert (out / name).read_bytes() == (source / name).read_bytes(), name


def test_single_ratings_number_the_repeats_and_name_the_probes(tmp_path: Path) -> None:
    snapshot = FORMAT.read(FORMAT.example(tmp_path), {})
    mine = snapshot.ratings.filter((pl.col("rater") == "1") & (pl.col("question") == "impression"))
    twice = mine.filter(pl.col("stimulus") == CLIP("S002_P001")).sort("repeat")
    assert twice["repeat"].to_list() == [0, 1]
    assert twice["position"].to_list() == [1, 4]
    assert twice["value"].to_list() == [4.0, 3.0]
    anchor, repeat = snapshot.study.probes
    assert isinstance(anchor, AnchorProbe)
    assert anchor.stimuli == ["real_1.wav"]
    assert anchor.at_least == 3
    assert isinstance(repeat, RepeatProbe)


PERSON = {
    "person_mos__train_person_mos_txt": f"{CLIP('S002_P001')},Rater01,4,4\r\n{CLIP('S002_P001')},Rater02,3,5\r\n",
    "person_mos__test_person_mos_txt": f"{CLIP('S003_P001')},Rater02,1,2",
    "person_mos__total_person_mos_txt": f"{CLIP('S002_P001')},Rater01,4,4\n{CLIP('S002_P001')},Rater02,3,5\n"
    f"{CLIP('S003_P001')},Rater02,1,2\n",
    "sets__total_mos_list_txt": f"{CLIP('S002_P001')},3.5,4.5\n{CLIP('S003_P001')},1,2\n",
}


@pytest.mark.slow
def test_the_full_release_has_raters(tmp_path: Path) -> None:
    source = release(tmp_path, **PERSON)
    snapshot = FORMAT.read(source, {})
    assert snapshot.counts["ratings"] == 6
    assert snapshot.raters["rater"].to_list() == ["Rater01", "Rater02"]
    assert dict(snapshot.stimuli.select("stimulus", "split").iter_rows()) == {
        CLIP("S002_P001"): "train",
        CLIP("S003_P001"): "test",
    }
    repeated, out = again(snapshot, tmp_path)
    assert repeated.hash == snapshot.hash
    for path in source.rglob("*.txt"):
        assert (out / path.relative_to(source)).read_bytes() == path.read_bytes(), path.name


def test_a_total_that_says_something_else_is_an_error(tmp_path: Path) -> None:
    other = PERSON["person_mos__total_person_mos_txt"].replace("Rater02,1,2", "Rater02,5,2")
    source = release(tmp_path, **{**PERSON, "person_mos__total_person_mos_txt": other})
    with pytest.raises(InputError, match=r"S003_P001.wav' is in another list .* with other scores"):
        FORMAT.read(source, {})


def test_one_list_can_be_read_alone(tmp_path: Path) -> None:
    source = FORMAT.example(tmp_path)
    assert FORMAT.read(source / "sets" / "dev_mos_list.txt", {}).counts["means"] == 2
    ratings = FORMAT.read(source / "ratings.csv", {})
    assert ratings.counts["means"] == 0
    assert ratings.counts["ratings"] == 16
    assert FORMAT.recognises(source)
    assert FORMAT.recognises(source / "ratings.csv")
    assert FORMAT.recognises(source / "sets" / "dev_mos_list.txt")
    assert not FORMAT.recognises(source / "prompt_info.txt")
    assert not FORMAT.recognises(source / "sets")


@pytest.mark.slow
def test_line_ends_marks_and_headers_change_nothing(tmp_path: Path) -> None:
    plain = f"{CLIP('S002_P001')},3.6,4.0\n{CLIP('S001_P001')},2.4,3.0\n"
    first = FORMAT.read(release(tmp_path / "a", sets__train_mos_list_txt=plain), {})
    for place, text in enumerate(
        ("\ufeff" + plain, plain.replace("\n", "\r\n"), "wavname,overall,textual\n" + plain, plain.replace(".wav", ""))
    ):
        other = FORMAT.read(release(tmp_path / f"b{place}", sets__train_mos_list_txt=text), {})
        assert other.hash == first.hash


def test_a_prompt_without_a_text_is_seen(tmp_path: Path) -> None:
    root = release(
        tmp_path,
        sets__train_mos_list_txt=f"{CLIP('S002_P001')},3.6,4.0\n{CLIP('S002_P009')},2.4,3.0\n",
        prompt_info_txt="P001\tA bright piece\n",
    )
    snapshot = FORMAT.read(root, {})
    assert snapshot.stimuli["prompt"].to_list() == ["P001", "P009"]
    assert snapshot.stimuli["prompt_text"].to_list() == ["A bright piece", None]
    _, out = again(snapshot, tmp_path)
    assert (out / "prompt_info.txt").read_text() == "P001\tA bright piece\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ['say "hello"', '"hello" and "bye"', '"all of it"', '""', "a  b", '"""', "tab\there", "semi;colon, comma"]
)
def test_prompts_keep_their_quotes(text: str, tmp_path: Path) -> None:
    quoted = '"' + text.replace('"', '""') + '"'
    assert unquoted(quoted) == text
    root = release(
        tmp_path,
        sets__train_mos_list_txt=f"{CLIP('S002_P001')},3.6,4.0\n",
        prompt_info_txt=f"id\ttext\nP001\t{quoted}\n",
    )
    snapshot = FORMAT.read(root, {})
    assert snapshot.study.prompts[0].text == text
    assert again(snapshot, tmp_path)[0].hash == snapshot.hash


HEAD = "expert,wavname,overall,textual,batch,position\n"


@pytest.mark.slow
@check_all(
    ("files", "problem", "fix"),
    [
        ({"ratings_csv": "experts,wavname,overall,textual\n1,a,3,3\n"}, "no column 'expert'", "Did you mean 'experts'"),
        ({"ratings_csv": "expert,wavname,overall,textual\n1,a,3,3\n1,a,4,4\n"}, "line 2: expert '1'", "Keep one row"),
        ({"ratings_csv": HEAD + "1,a,3,3,1,1\n1,a,4,4,1,1\n"}, "line 2: expert '1'", "Keep one row"),
        ({"ratings_csv": HEAD + "1,a,3,3,1,one\n"}, "line 2, column 'position': 'one' is not a number", "Correct"),
        ({"ratings_csv": HEAD + "1,../a.wav,3,3,1,1\n"}, "line 2, column 'wavname': the path", "inside"),
        ({"ratings_csv": HEAD + ",a.wav,3,3,1,1\n"}, "line 2: the column 'expert' is empty", "Fill in"),
        ({"ratings_csv": HEAD + "1,a.wav,6,3,1,1\n"}, "off its scale; the first is 6", "whole numbers from 1 to 5"),
        ({"ratings_csv": HEAD + "1,a.wav,3\n"}, "line 2: 3 fields where", "complete copy"),
        ({"sets__train_mos_list_txt": "a.wav,3,3\nb.wav,good,3\n"}, "line 2, column 'overall': 'good'", "Correct"),
        (
            {"sets__train_mos_list_txt": "a.wav,3,3\nb.wav,5.5,3\n"},
            "line 2, column 'overall': the score 5.5",
            "from 1 to 5",
        ),
        ({"sets__train_mos_list_txt": "a.wav,3,3\na.wav,4,3\n"}, "line 1: wavname 'a.wav'", "Keep one row"),
        (
            {"sets__train_mos_list_txt": "a.wav,3,3\n", "sets__dev_mos_list_txt": "a.wav,3,3\n"},
            "in another list",
            "one split",
        ),
        (
            {"sets__train_mos_list_txt": "a.wav,3,3\n", "prompt_info_txt": "id\ttext\nP001 no tab\n"},
            "line 2: there is no id",
            "tab",
        ),
        (
            {"sets__train_mos_list_txt": "a.wav,3,3\n", "prompt_info_txt": "P001\tone\nP001\ttwo\n"},
            "line 2: the prompt 'P001' is there twice",
            "Keep one",
        ),
        (
            {"person_mos__train_person_mos_txt": "a.wav,R,3,3\n", "ratings_csv": HEAD + "1,a,3,3,1,1\n"},
            "twice",
            "Point to",
        ),
        ({"person_mos__train_person_mos_txt": "a.wav,3,3\n"}, "line 1: 3 fields where", "complete copy"),
        ({"prompt_info_txt": "P001\tone\n"}, "holds none of", "Point to"),
    ],
)
def test_mistakes_are_told_with_file_and_line(files: dict[str, str], problem: str, fix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        FORMAT.read(release(tmp_path, **files), {})
    assert problem in caught.value.problem
    assert fix in caught.value.fix


@pytest.mark.slow
def test_the_audio_is_found_and_a_missing_folder_named(tmp_path: Path) -> None:
    source = FORMAT.example(tmp_path)
    (source / "wav").mkdir()
    soundfile.write(source / "wav" / CLIP("S002_P001"), np.zeros(8000), 16000)
    answers: list[tuple[str, int, int]] = []
    snapshot = FORMAT.read(source, {}, lambda *what: answers.append(what))
    result = dict(snapshot.stimuli.select("stimulus", "found").iter_rows())
    assert result[CLIP("S002_P001")] is True
    assert result[CLIP("S003_P001")] is False
    assert snapshot.stimuli.filter(pl.col("found"))["duration"].to_list() == [0.5]
    assert answers[-1] == ("probing media", 5, 5)
    assert snapshot.hash == FORMAT.read(release(tmp_path / "none", **_texts(source)), {}).hash
    with pytest.raises(InputError, match=r"There is no .*music"):
        FORMAT.read(source, {"media": "music"})


def _texts(source: Path) -> dict[str, str]:
    names = [p for p in source.rglob("*") if p.suffix in {".txt", ".csv"}]
    keys = {p: p.relative_to(source).as_posix().replace("/", "__").replace(".", "_") for p in names}
    return {key: path.read_text(encoding="utf-8") for path, key in keys.items()}


def test_another_study_is_written_as_a_release(tmp_path: Path) -> None:
    study = recipe_study("musiceval").changed(probes=[])
    stimuli = pl.DataFrame({"stimulus": ["x_S001_P001.wav", "b.wav"], "system": ["S001", "S002"]})
    rows = [("r1", "x_S001_P001.wav", 4.0, 2.0), ("r2", "x_S001_P001.wav", 3.0, 1.0), ("r1", "b.wav", 5.0, 5.0)]
    ratings = pl.DataFrame(
        [(r, s, q, v) for r, s, i, a in rows for q, v in (("impression", i), ("alignment", a))],
        schema=["rater", "stimulus", "question", "value"],
        orient="row",
    )
    snapshot = Snapshot.build(study, stimuli=stimuli, ratings=ratings)
    FORMAT.write(snapshot, tmp_path)
    assert (tmp_path / "sets" / "total_mos_list.txt").read_text() == "x_S001_P001.wav,3.5,1.5\nb.wav,5.0,5.0\n"
    assert (tmp_path / "system_mos" / "system_mos_phase1.csv").read_text() == "S001,3.5,1.5\nS002,5.0,5.0\n"
    back = FORMAT.read(tmp_path, {})
    assert back.table_hashes["ratings"] == snapshot.table_hashes["ratings"]


def test_a_study_with_other_questions_is_refused(tmp_path: Path) -> None:
    stimuli = pl.DataFrame({"stimulus": ["a"]})
    ratings = pl.DataFrame({"rater": ["r"], "stimulus": ["a"], "question": ["valence"], "value": [3.0]})
    snapshot = Snapshot.build(recipe_study("aimoclips"), stimuli=stimuli, ratings=ratings)
    with pytest.raises(InputError, match="no question 'impression'"):
        FORMAT.write(snapshot, tmp_path)
