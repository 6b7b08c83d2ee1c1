"""Published data of every kind: pairs, MUSHRA grades, traces. Counts are those of the files themselves."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import members, pairs
from heartfelt.snapshot.folder import load
from tests.facts import mentions


def comes_back(snapshot: Snapshot, folder: Path, format: str = "long") -> None:
    heartfelt.export(snapshot, format, folder)
    again = heartfelt.read(folder, format)
    assert again.table_hashes["ratings"] == snapshot.table_hashes["ratings"]
    assert again.traces.equals(snapshot.traces)
    assert again.study.hash == snapshot.study.hash


def test_musav(shared_data: Path, tmp_path: Path) -> None:
    snapshot = heartfelt.read(shared_data / "musav" / "annotations.arousal.all")
    assert snapshot.source.format == "musav"
    table = pairs(snapshot.ratings, "arousal")
    assert dict(table["value"].value_counts().rows()) == {1.0: 2687, 0.0: 2638, 0.5: 897}
    assert snapshot.ledger["reason"].to_list() == ["no answer"] * 33
    assert (snapshot.raters.height, snapshot.stimuli.height, table["set"].n_unique()) == (21, 2092, 2085)
    comes_back(snapshot, tmp_path / "long")
    comes_back(snapshot, tmp_path / "arena", "arena")


def test_sisec(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "sisec08" / "SiSEC08_anonymized.csv"
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "webmushra"
    rows = members(snapshot.ratings, "quality")
    assert (rows.height, rows["rater"].n_unique(), rows["set"].n_unique()) == (2156, 14, 14)
    assert dict(rows.group_by("role").len().rows()) == {"hidden-reference": 196, "anchor": 196, "member": 1764}
    raw = pl.read_csv(path)
    means = rows.join(snapshot.stimuli, on="stimulus").group_by("system").agg(pl.mean("value")).sort("system")
    expected = raw.group_by("Condition").agg(pl.mean("Ratingscore")).sort("Condition")
    assert means["value"].to_list() == pytest.approx(expected["Ratingscore"].to_list())
    comes_back(snapshot, tmp_path / "long")


def test_vgmidi(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "vgmidi" / "vgmidi_raw_1.json"
    snapshot = heartfelt.read(path)
    assert (snapshot.traces.height, snapshot.ratings.height, snapshot.stimuli.height) == (6012, 6012, 99)
    assert "rate" not in snapshot.traces.columns  # one sample per measure
    assert snapshot.ledger.height == 0
    raw = json.loads(path.read_text(encoding="utf-8"))["annotations"]["piece81_1"]
    row = snapshot.traces.filter(
        (pl.col("rater") == "piece81_1") & (pl.col("stimulus") == "piece81") & (pl.col("question") == "valence")
    )
    if row.height:  # the listener's first annotation names them
        assert row["samples"][0].to_list() == pytest.approx(raw["valence"], abs=1e-6)
    sizes = snapshot.traces["samples"].list.len()
    assert sizes.sum() == 265_542
    assert any("piece81" in note for note in snapshot.source.notes)
    assert snapshot.ratings.group_by("rater").len()["len"].max() == 8  # four pieces, two questions
    alone = heartfelt.read(path, listeners="annotations")
    assert alone.raters.height == 3006
    assert dict(alone.traces.select(pl.concat_str("rater", "question"), pl.col("samples").list.len()).rows()) != {}
    comes_back(snapshot, tmp_path / "long")


def damaged(tmp_path: Path, **annotations: object) -> Path:
    path = tmp_path / "raw.json"
    path.write_text(json.dumps({"annotations": annotations, "pieces": {}}), encoding="utf-8")
    return path


def test_traces_of_any_shape(tmp_path: Path) -> None:
    path = damaged(
        tmp_path,
        piece1_1={"valence": [0.1, None, 0.3], "arousal": [0.5, 0.5]},
        piece1_2={"valence": [], "arousal": [2.0]},
        piece1_3={"valence": "high", "arousal": [None]},
        piece1_4=None,
        nonsense={"valence": [0.0], "arousal": [0.0]},
    )
    snapshot = heartfelt.read(path, "vgmidi")
    assert snapshot.traces.select("rater", "question").rows() == [("piece1_1", "valence"), ("piece1_1", "arousal")]
    assert snapshot.ratings["value"].to_list() == pytest.approx([0.2, 0.5])
    again = load(snapshot.write(tmp_path / "written"))
    assert mentions(again.source.inferred_raters, "questionnaires", "ids")
    assert snapshot.ledger["reason"].to_list() == [
        "valence: a trace without samples",
        "arousal: samples lie outside -1 to 1",
        "valence: no list of numbers",
        "arousal: a trace without samples",
        "not an annotation of a piece",
        "not an annotation of a piece",
    ]


def test_nothing_usable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no usable trace"):
        heartfelt.read(damaged(tmp_path, piece1_1={}), "vgmidi")
    path = tmp_path / "annotations.arousal.all"
    row = {"tripletid": "t", "songid_a": "x", "songid_b": "x", "annotator": "r", "type": "arousal", "higher_value": "a"}
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError, match=r"no row that can be used .*compared with itself"):
        heartfelt.read(path)


def test_both_questions_of_a_folder_share_their_trials(tmp_path: Path) -> None:
    for question in ("arousal", "valence"):
        rows = [
            {"tripletid": "t", "songid_a": a, "songid_b": b, "annotator": "r", "type": question, "higher_value": answer}
            for a, b, answer in (("x", "y", "a"), ("y", "z", "ab"), ("z", "x", "?"))
        ]
        text = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / f"annotations.{question}.all").write_text(text, encoding="utf-8")
    snapshot = heartfelt.read(tmp_path)
    assert snapshot.source.format == "musav"
    assert [question.id for question in snapshot.study.asked] == ["arousal", "valence"]
    assert (
        pairs(snapshot.ratings, "valence")["trial"].to_list() == pairs(snapshot.ratings, "arousal")["trial"].to_list()
    )
    assert snapshot.ledger["reason"].to_list() == ["the answer is none of a, b and ab"] * 2
