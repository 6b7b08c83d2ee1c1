"""AIGIEmo: what people judged are ratings, what a machine filled in are fields with their history."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from heartfelt.datasets.aigiemo.reader import AigiemoFormat
from heartfelt.datasets.aigiemo.records import EMOTIONS, FIELDS, TAGS, VERDICTS
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot, load
from heartfelt.study.recipes import recipe_study
from heartfelt.study.scales.scale import Tags
from tests.cases import check_all

FORMAT = AigiemoFormat()
GOOD: dict[str, Any] = {"image": "1.png", "emotion": "awe", "valence": 0.5, "arousal": 0.25}


def jsonl(folder: Path, *records: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "annotations.jsonl"
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def csv(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "annotations.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def again(snapshot: Snapshot, folder: Path) -> tuple[Snapshot, Path]:
    out = folder / "again"
    out.mkdir(parents=True)
    FORMAT.write(snapshot, out)
    return FORMAT.read(out, dict(snapshot.source.options)), next(out.iterdir())


def rows(snapshot: Snapshot, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return snapshot.table(table).select(columns).rows()


def test_a_decision_about_a_field_is_its_last_verification(tmp_path: Path) -> None:
    parts = {"machine": "forest", "verdict": "accepted", "final": "forest"}
    record = {
        **GOOD,
        "annotator": "7",
        "fields": {"scene": parts, "brightness": {"machine": "0.25", "verdict": "rejected"}},
    }
    snapshot = FORMAT.read(jsonl(tmp_path / "in", record), {})
    made = pl.DataFrame(
        {"stimulus": ["1.png"] * 3, "question": ["scene", "brightness", "emotion"], "value": [None, 0.1 + 0.2, 6.0],
         "answer": ["park", None, "fear"], "by": ["a1"] * 3}
    )  # fmt: skip
    decided = Snapshot.build(
        snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, raters=snapshot.raters,
        fields=snapshot.fields, adjudications=made, source=snapshot.source,
    )  # fmt: skip
    result, _ = again(decided, tmp_path)
    assert rows(result, "fields", "field", "machine", "final", "verified_by") == [
        ("scene", "forest", "forest", "7"),
        ("scene", None, "park", "a1"),
        ("brightness", "0.25", None, "7"),
        ("brightness", None, "0.3", "a1"),
    ]
    assert result.ratings.select("question", "rater").rows() == snapshot.ratings.select("question", "rater").rows()


def test_what_people_judged_are_ratings(tmp_path: Path) -> None:
    snapshot = FORMAT.read(FORMAT.example(tmp_path), {})
    mine = snapshot.ratings.filter(pl.col("rater") == "7")
    assert mine.select("question", "value", "answer").rows() == [
        ("emotion", 6.0, "fear"),
        ("valence", 0.2, None),
        ("arousal", 0.85, None),
        ("caption", None, "A ship in a storm; waves “like walls”."),
        ("reason", None, "The ship looks lost."),
    ]
    assert mine["seconds"].to_list() == [41.5] * 5
    final = snapshot.ratings.filter(pl.col("stimulus") == "a/0002.png")
    assert final["rater"].to_list() == [None] * 4
    assert snapshot.raters["rater"].to_list() == ["7", "8"]


def test_what_a_machine_filled_in_are_fields_with_their_history(tmp_path: Path) -> None:
    snapshot = FORMAT.read(FORMAT.example(tmp_path), {})
    result = rows(snapshot, "fields", "stimulus", "field", "machine", "source", "verdict", "final", "verified_by")
    assert result == [
        ("a/0001.png", "style", "oil painting", "Qwen2-VL-7B", "accepted", "oil painting", "7"),
        ("a/0001.png", "objects", "ship;wave;dog", "Qwen2-VL-7B", "fixed", "ship;wave", "7"),
        ("a/0001.png", "facial_expression", "smile", "Qwen2-VL-7B", "rejected", None, "7"),
        ("a/0001.png", "brightness", "0.31", "opencv", None, None, None),
        ("a/0001.png", "style", "oil painting", "Qwen2-VL-7B", "accepted", "oil painting", "8"),
        ("a/0002.png", "colour", None, None, None, "red;white", None),
        ("a/0002.png", "scene", None, None, None, "kitchen", None),
    ]


@pytest.mark.slow
def test_the_example_comes_back_byte_for_byte_also_through_a_snapshot_folder(tmp_path: Path) -> None:
    source = FORMAT.example(tmp_path)
    snapshot = FORMAT.read(source, {})
    snapshot.write(tmp_path / "snapshot")
    repeated, out = again(load(tmp_path / "snapshot"), tmp_path)
    assert repeated.hash == snapshot.hash
    assert out.read_bytes() == source.read_bytes()


@pytest.mark.slow
def test_nested_and_flat_say_the_same(tmp_path: Path) -> None:
    nested = {
        **GOOD,
        "annotator": "a",
        "fields": {
            "style": {
                "machine": "photo",
                "source": "M1",
                "verdict": "fixed",
                "final": "oil",
                "at": "2026-01-05T10:00:00Z",
            },
            "objects": {"machine": ["dog", "cat"], "source": "M1", "verdict": "accepted"},
            "colour": "red",
        },
    }
    flat = {
        "Image ID": "1.png",
        "Annotator": "a",
        "Emotion": "Awe",
        "Valence": "0,5",
        "Arousal": "0.25",
        "Visual Style": "oil",
        "visual_style_machine": "photo",
        "style.source": "M1",
        "style_verdict": "Edited",
        "style_at": "2026-01-05 10:00:00",
        "objects": '["dog", "cat"]',
        "objects_machine": "dog;cat",
        "objects_source": "M1",
        "objects_verdict": "accept",
        "color": "red",
    }
    each = FORMAT.read(jsonl(tmp_path / "a", nested), {})
    two = FORMAT.read(jsonl(tmp_path / "b", flat), {})
    quoted = [value.replace('"', '""') for value in flat.values()]
    three = FORMAT.read(
        csv(tmp_path / "c", ",".join(flat) + "\n" + ",".join(f'"{value}"' for value in quoted) + "\n"), {}
    )
    assert each.hash == two.hash == three.hash
    repeated, path = again(three, tmp_path)
    assert path.name == "annotations.csv"
    assert repeated.hash == three.hash


def test_a_caption_the_machine_wrote_is_no_rating(tmp_path: Path) -> None:
    record = {
        **GOOD,
        "caption": "A dog.",
        "caption_machine": "A cat.",
        "caption_source": "M1",
        "caption_verdict": "fixed",
    }
    snapshot = FORMAT.read(jsonl(tmp_path / "in", {**record, "reason": "It is nice."}), {})
    assert snapshot.ratings["question"].to_list() == ["emotion", "valence", "arousal", "reason"]
    assert rows(snapshot, "fields", "field", "machine", "verdict", "final") == [
        ("caption", "A cat.", "fixed", "A dog.")
    ]
    assert again(snapshot, tmp_path)[0].hash == snapshot.hash


@pytest.mark.slow
def test_two_machines_on_one_field_and_a_verifier_who_is_no_annotator(tmp_path: Path) -> None:
    style = [
        {"machine": "oil", "source": "M1", "verdict": "accepted", "verified_by": "boss"},
        {"machine": "ink", "source": "M2", "verdict": "rejected", "verified_by": "boss"},
    ]
    snapshot = FORMAT.read(jsonl(tmp_path / "in", {**GOOD, "fields": {"style": style, "mood": "dark"}}), {})
    assert rows(snapshot, "fields", "field", "source", "final", "verified_by") == [
        ("style", "M1", "oil", "boss"),
        ("style", "M2", None, "boss"),
        ("mood", None, "dark", None),
    ]
    assert again(snapshot, tmp_path)[0].hash == snapshot.hash


def test_further_keys_belong_to_the_image_or_to_the_record(tmp_path: Path) -> None:
    entries = {**GOOD, "annotator": "a", "seed": 7, "device": "phone", "palette": {"h": 1}}
    two = {**GOOD, "annotator": "b", "seed": 7, "device": "desk", "palette": {"h": 1}}
    snapshot = FORMAT.read(jsonl(tmp_path / "in", entries, two), {})
    assert rows(snapshot, "stimuli", "seed", "palette") == [(7, '{"h": 1}')]
    assert set(snapshot.ratings.select("rater", "device").rows()) == {("a", "phone"), ("b", "desk")}
    assert again(snapshot, tmp_path)[0].hash == snapshot.hash


def test_a_record_without_a_judgement_is_in_the_ledger(tmp_path: Path) -> None:
    empty = {"image": "2.png", "annotator": "a", "emotion": None, "fields": {"style": "oil"}}
    snapshot = FORMAT.read(jsonl(tmp_path / "in", GOOD, empty), {})
    assert rows(snapshot, "ledger", "what", "rater", "stimulus") == [("row", "a", "2.png")]
    assert snapshot.counts["unrated"] == 1
    assert again(snapshot, tmp_path)[0].hash == snapshot.hash


def test_another_range_is_stated_not_rescaled(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in", {**GOOD, "valence": 7, "arousal": -0.5})
    snapshot = FORMAT.read(path, {"range": "-1..9"})
    assert snapshot.study.scale_of("valence").bounds() == (-1.0, 9.0)
    assert snapshot.ratings["value"].to_list() == [1.0, 7.0, -0.5]
    assert FORMAT.read(jsonl(tmp_path / "b", GOOD), {}).study.scale_of("arousal").bounds() == (0.0, 1.0)
    with pytest.raises(InputError, match=r"valence 7.*0.*1"):
        FORMAT.read(path, {})
    for text in ("1-9", "9..1", "a..b"):
        with pytest.raises(InputError, match="is not a range"):
            FORMAT.read(path, {"range": text})


@check_all(
    ("record", "problem", "fix"),
    [
        ({**GOOD, "emotion": "amusment"}, "line 2: 'amusment' is not one of the eight emotions", "'amusement'"),
        ({**GOOD, "valence": "high"}, "line 2: the valence 'high' is not a number", "Write a number"),
        ({**GOOD, "arousal": True}, "line 2: the arousal 'True' is not a number", "Write a number"),
        ({**GOOD, "arousal": 1.5}, "line 2: the arousal 1.5 is not between 0 and 1", "range=1..9"),
        ({"emotion": "awe"}, "line 2: the record names no image", "'image'"),
        ({**GOOD, "image": "../1.png"}, "line 2: the path '../1.png' leads out", "inside"),
        ({**GOOD, "path": "C:\\x.png"}, "line 2: the path 'C:\\x.png' leads out", "inside"),
        ({**GOOD, "at": "noon"}, "line 2: 'noon' is not a date and time", "Write moments"),
        ({**GOOD, "image": "0.png"}, "line 2: image '0.png' is there already, on line 1", "Keep one record"),
        ({**GOOD, "fields": ["style"]}, "line 2: 'fields' is not an object", "Write an object"),
        ({**GOOD, "style": "a", "fields": {"style": "b"}}, "line 2: the field 'style' is there twice", "Keep one"),
        ({**GOOD, "emotion_category": "fear"}, "line 2: 'emotion_category' says 'fear'", "Keep one"),
        (
            {**GOOD, "fields": {"style": {"machnie": "oil"}}},
            "line 2: the field 'style' has no part 'machnie'",
            "'machine'",
        ),
        (
            {**GOOD, "style_machine": "oil", "style_verdict": "acepted"},
            "'acepted' is not a verdict on 'style'",
            "'accepted'",
        ),
        (
            {**GOOD, "style": "ink", "style_machine": "oil", "style_verdict": "accepted"},
            "line 2: 'style' was accepted, but the final 'ink' is not the machine's 'oil'",
            "'fixed'",
        ),
        (
            {**GOOD, "style": "ink", "style_machine": "oil", "style_verdict": "rejected"},
            "was rejected, yet has",
            "'fixed'",
        ),
        ({**GOOD, "style_machine": "oil", "style_verdict": "fixed"}, "was fixed, but has no final", "'rejected'"),
        ({**GOOD, "width": 3}, "has a key 'width'", "Rename"),
    ],
)
def test_mistakes_are_told_with_file_and_line(record: dict[str, Any], problem: str, fix: str, tmp_path: Path) -> None:
    path = jsonl(tmp_path, {**GOOD, "image": "0.png"}, record)
    with pytest.raises(InputError) as caught:
        FORMAT.read(path, {})
    assert problem in caught.value.problem
    assert str(path) in caught.value.problem
    assert fix in caught.value.fix


def test_a_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = jsonl(tmp_path, GOOD, {**GOOD, "image": "2.png"})
    whole = path.read_text()
    path.write_text(whole[:-20])
    with pytest.raises(InputError, match=r"line 2: this is not valid JSON .* last line: the file seems to be cut off"):
        FORMAT.read(path, {})
    path.write_text(whole.replace('"awe"', "NaN"))
    with pytest.raises(InputError, match=r"line 1.*JSON.*NaN"):
        FORMAT.read(path, {})
    path.write_text("[1, 2]\n")
    with pytest.raises(InputError, match=r"line 1.*list"):
        FORMAT.read(path, {})


def test_columns_that_are_missing_or_misspelt(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no 'valence'") as caught:
        FORMAT.read(csv(tmp_path, "image,emotion,valance,arousal\n1.png,awe,0.5,0.5\n"), {})
    assert "Did you mean 'valance'" in caught.value.fix
    with pytest.raises(InputError, match="header but no rows"):
        FORMAT.read(csv(tmp_path, "image,emotion,valence,arousal\n"), {})
    with pytest.raises(InputError, match=r"line 3: 3 fields"):
        FORMAT.read(csv(tmp_path, "image,emotion,valence,arousal\n1.png,awe,0.5,0.5\n2.png,awe,0\n"), {})
    with pytest.raises(InputError, match=r"line 2.*'1\.png'.*'B'.*'A'"):
        FORMAT.read(
            jsonl(tmp_path / "x", {**GOOD, "annotator": 1, "system": "A"}, {**GOOD, "annotator": 2, "model": "B"}), {}
        )


@pytest.mark.slow
def test_marks_and_line_ends_change_nothing(tmp_path: Path) -> None:
    text = 'image,annotator,emotion,valence,arousal,caption\n1.png,7,awe,0.5,0.5,"one, two"\n2.png,7,fear,,0.25,\n'
    first = FORMAT.read(csv(tmp_path / "a", text), {})
    assert first.ratings.height == 6
    for place, other in enumerate(("\ufeff" + text, text.replace("\n", "\r\n"), text.rstrip("\n"))):
        assert FORMAT.read(csv(tmp_path / f"b{place}", other), {}).hash == first.hash
    lines = jsonl(tmp_path / "j", GOOD)
    lines.write_bytes(b"\xef\xbb\xbf" + lines.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert FORMAT.read(lines, {}).hash == FORMAT.read(jsonl(tmp_path / "k", GOOD), {}).hash


def test_images_are_found_by_path_name_or_stem(tmp_path: Path) -> None:
    (tmp_path / "images" / "deep").mkdir(parents=True)
    for name in ("1.png", "deep/two.png", "three.jpg"):
        Image.fromarray(np.zeros((4, 6, 3), dtype=np.uint8)).save(tmp_path / "images" / name)
    records = [GOOD, {**GOOD, "image": "two"}, {**GOOD, "image": "3", "path": "three.jpg"}, {**GOOD, "image": "4.png"}]
    snapshot = FORMAT.read(jsonl(tmp_path, *records), {})
    facts = snapshot.stimuli.select("stimulus", "path", "found", "width", "height").rows()
    assert facts == [
        ("1.png", "1.png", True, 6, 4),
        ("two", "deep/two.png", True, 6, 4),
        ("3", "three.jpg", True, 6, 4),
        ("4.png", "4.png", False, None, None),
    ]
    assert FORMAT.read(tmp_path, {"media": "images"}).hash == snapshot.hash
    with pytest.raises(InputError, match="option 'media'"):
        FORMAT.read(tmp_path, {"media": "pictures"})


def test_a_folder_must_be_clear_about_its_file(tmp_path: Path) -> None:
    folder = jsonl(tmp_path / "a", {**GOOD, "style": "oil"}).rename(tmp_path / "a" / "mine.jsonl").parent
    assert FORMAT.recognises(folder)
    assert FORMAT.read(folder, {}).counts["stimuli"] == 1
    (folder / "other.csv").write_text("x\n")
    assert not FORMAT.recognises(folder)
    with pytest.raises(InputError, match=r"2 tables.*mine\.jsonl.*other\.csv"):
        FORMAT.read(folder, {})
    assert not FORMAT.recognises(jsonl(tmp_path / "b", GOOD))
    assert FORMAT.recognises(csv(tmp_path / "c", "image,emotion,valence,arousal,style_machine\n1,awe,0,1,oil\n"))


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, Any]]:
    word = (
        st.text("abcé“;, \"'{}[]", min_size=1, max_size=6)
        .map(str.strip)
        .filter(lambda text: any(letter.isalnum() for letter in text))
    )
    word = word | st.sampled_from(["a; b", "a;b;", "7", "1.50", "true"])
    made = []
    for image in range(draw(st.integers(1, 3))):
        for annotator in draw(st.lists(st.sampled_from([None, "a", "b"]), unique=True, min_size=1, max_size=3)):
            entries: dict[str, Any] = {
                "image": f"{image}.png",
                "emotion": draw(st.sampled_from(EMOTIONS)),
                "valence": 0.5,
                "arousal": 0,
            }
            if annotator:
                entries["annotator"] = annotator
            if draw(st.booleans()):
                entries["caption"] = draw(word)
            fields: dict[str, Any] = {}
            for name in draw(st.lists(st.sampled_from(FIELDS), unique=True, max_size=3)):
                verdict = draw(st.sampled_from(["accepted", "fixed", "rejected", None]))
                machine = draw(word)
                value = {"machine": machine, "source": f"M{annotator}", "verdict": verdict}
                value["final"] = {"accepted": machine, "fixed": draw(word)}.get(verdict or "")
                fields[name] = value if draw(st.booleans()) else draw(word)
            entries["fields"] = fields
            made.append(entries)
    return made


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(records())
def test_whatever_is_read_is_written_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, made: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("aigiemo")
    snapshot = FORMAT.read(jsonl(folder / "in", *made), {})
    assert snapshot.ratings.filter(pl.col("question") == "emotion").height == len(made)
    repeated, out = again(snapshot, folder)
    assert repeated.hash == snapshot.hash
    assert again(repeated, folder / "more")[1].read_bytes() == out.read_bytes()


def test_a_collected_study_is_written_in_this_layout(tmp_path: Path) -> None:
    stimuli = pl.DataFrame({"stimulus": ["a.png", "b.png"], "system": ["X", "Y"]})
    ratings = pl.DataFrame(
        {
            "rater": ["r", "r"],
            "stimulus": ["a.png"] * 2,
            "question": ["emotion", "valence"],
            "value": [1.0, 0.25],
            "answer": ["awe", None],
        }
    )
    fields = pl.DataFrame({"stimulus": ["b.png"], "field": ["style"], "machine": ["oil"], "source": ["M"]})
    snapshot = Snapshot.build(recipe_study("aigiemo"), stimuli=stimuli, ratings=ratings, fields=fields)
    FORMAT.write(snapshot, tmp_path)
    assert [json.loads(line) for line in (tmp_path / "annotations.jsonl").read_text().splitlines()] == [
        {"image": "a.png", "annotator": "r", "system": "X", "emotion": "awe", "valence": 0.25},
        {"image": "b.png", "system": "Y", "fields": {"style": {"machine": "oil", "source": "M"}}},
    ]
    plain = Snapshot.build(recipe_study("aimoclips"), stimuli=stimuli)
    with pytest.raises(InputError, match="no question 'emotion'"):
        FORMAT.write(plain, tmp_path)


@pytest.mark.slow
def test_evidence_on_drafts_survives(tmp_path: Path) -> None:
    """Verdicts, what was shown, first answers, times and provenance come back; what was planted is not among the fields."""
    at = datetime(2026, 1, 5, 10, tzinfo=UTC)
    shared = {
        "stimulus": "a.png",
        "verified_by": "r",
        "at": at,
        "version": "2",
        "prompt_hash": "ab12",
        "drafted_at": at,
    }
    rows: list[dict[str, Any]] = [
        {"field": "style", "machine": "oil", "source": "M", "verdict": "accepted", "final": "oil", "shown": "true"},
        {"field": "scene", "machine": "street", "source": "M", "final": "field", "shown": "hidden", "first": "wood"},
        {
            "field": "objects",
            "machine": "cat;dog",
            "source": "planted",
            "verdict": "fixed",
            "final": "boat",
            "shown": "planted",
        },
        {"field": "colour", "machine": "red", "source": "M", "verdict": "rejected", "final": None, "shown": "true"},
    ]
    more = {"seconds": 1.25, "keystrokes": 3, "confidence": 0.5}
    fields = pl.DataFrame([{**shared, **row, **more} for row in rows], infer_schema_length=None)
    stimuli = pl.DataFrame({"stimulus": ["a.png"]})
    given = {"rater": ["r"], "stimulus": ["a.png"], "question": ["emotion"], "value": [1.0], "answer": ["awe"]}
    snapshot = Snapshot.build(recipe_study("aigiemo"), stimuli=stimuli, ratings=pl.DataFrame(given), fields=fields)
    (tmp_path / "out").mkdir()
    FORMAT.write(snapshot, tmp_path / "out")
    (record,) = [json.loads(line) for line in (tmp_path / "out" / "annotations.jsonl").read_text().splitlines()]
    assert set(record["fields"]) == {"style", "scene", "colour"}
    assert record["planted"]["objects"]["machine"] == ["cat", "dog"]
    assert record["fields"]["scene"]["first"] == "wood"
    back = FORMAT.read(write_needed(tmp_path / "out"), {})
    columns = sorted(fields.columns)
    assert back.fields.select(columns).sort("field").equals(snapshot.fields.select(columns).sort("field"))
    kept = load(snapshot.write(tmp_path / "snapshot"))
    assert kept.hash == snapshot.hash
    assert kept.fields.equals(snapshot.fields)
    bad = {**GOOD, "fields": {"style": {"machine": "oil", "final": "oil", "shown": "perhaps"}}}
    with pytest.raises(InputError, match=r"'perhaps'.*'style'"):
        FORMAT.read(jsonl(tmp_path / "bad", bad), {})
    odd = FORMAT.read(jsonl(tmp_path / "odd", {**GOOD, "planted": "yes"}), {})
    assert odd.stimuli["planted"].to_list() == ["yes"], "a column of that name that is no object is kept"


def write_needed(folder: Path) -> Path:
    """Add the judgements that every file must have."""
    path = folder / "annotations.jsonl"
    records = [{"valence": None, "arousal": None, **json.loads(line)} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


@pytest.mark.slow
def test_tags_are_the_same_however_they_are_spaced(tmp_path: Path) -> None:
    ways: list[Any] = [["dog", "cat"], "dog;cat", " dog ; cat;", '["dog", "cat"]', {"final": ["dog", " cat"]}]
    hashes = {FORMAT.read(jsonl(tmp_path / str(n), {**GOOD, "objects": way}), {}).hash for n, way in enumerate(ways)}
    assert len(hashes) == 1


def test_codes_are_those_of_the_recipe() -> None:
    tags = {q.id for q in recipe_study("aigiemo").asked if isinstance(recipe_study("aigiemo").scale_of(q.id), Tags)}
    assert tags == set(TAGS)
    labels = recipe_study("aigiemo").scale_of("emotion").labels()
    assert [labels[float(code)] for code in range(8)] == list(EMOTIONS)
    assert set(VERDICTS.values()) == {"accepted", "fixed", "rejected"}
