"""What the names of stimuli say, answers that came again, and media in folders with files of one name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image

import heartfelt
from heartfelt.errors import InputError
from heartfelt.media.probe import media_by_path

LOG = """user,file,type,rating,time
1,,registered,-1,2022-09-26 15:41:38 547352
1,./stimuli/red/p01.png,appeal,4,2022-09-26 15:42:06 615170
1,./stimuli/blue/p01.png,appeal,2,2022-09-26 15:42:08 000001
2,./stimuli/red/p01.png,appeal,5,2022-09-26 15:43:06 000000
1,./stimuli/red/p01.png,appeal,1,2022-09-26 15:44:06 000000
1,./stimuli/red/p02.png,appeal,3,2022-09-26 15:45:06 000000
"""
OPTIONS = {
    "rater": "user",
    "stimulus": "file",
    "question": "type",
    "value": "rating",
    "at": "time",
    "where": "type=appeal",
    "repeat": "order",
    "names": "./stimuli/{system}/{prompt}.png",
    "scale": "1-5",
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for system in ("red", "blue"):
        (tmp_path / "images" / system).mkdir(parents=True)
        Image.new("RGB", (8, 6), system).save(tmp_path / "images" / system / "p01.jpg")
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path / "log.csv"


@pytest.mark.slow
def test_a_log_with_paths_and_repeats_is_read(log: Path) -> None:
    assert heartfelt.read(log, "long", **OPTIONS).stimuli["path"].to_list()[0] == "images/red/p01.jpg"
    snapshot = heartfelt.read(log, "long", media="images", **OPTIONS)
    assert snapshot.stimuli.select("stimulus", "system", "prompt", "path").rows() == [
        ("red/p01", "red", "p01", "red/p01.jpg"),
        ("blue/p01", "blue", "p01", "blue/p01.jpg"),
        ("red/p02", "red", "p02", None),
    ]
    mine = snapshot.ratings.filter(rater="1", stimulus="red/p01")
    assert mine.select("value", "repeat").rows() == [(4.0, 0), (1.0, 1)]
    assert mine["at"][0] == datetime(2022, 9, 26, 15, 42, 6, 615170, tzinfo=UTC)
    assert snapshot.ledger["reason"].to_list() == ["1 rows do not meet the condition 'type=appeal'"]
    assert snapshot.study.media == "image"


def test_prompts_have_their_texts(log: Path) -> None:
    (log.parent / "prompts.csv").write_text("ID,prompts,category\np01,A red car,cars\np02,A dog,dogs\np09,A cat,cats\n")
    snapshot = heartfelt.read(log, "long", media="images", prompts="prompts.csv", **OPTIONS)
    assert [(prompt.id, prompt.text) for prompt in snapshot.study.prompts] == [("p01", "A red car"), ("p02", "A dog")]
    (log.parent / "prompts.csv").write_text("ID,prompts\nq01,A red car\n")
    with pytest.raises(InputError, match="no column with the stimuli's prompts"):
        heartfelt.read(log, "long", media="images", prompts="prompts.csv", **OPTIONS)


def test_other_parts_describe_the_stimulus(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    options = OPTIONS | {"names": "./{folder}/{system}/{number}.png"}
    snapshot = heartfelt.read(log, "long", **options)
    assert snapshot.stimuli["stimulus"].to_list()[0] == "stimuli/red/p01"
    assert snapshot.stimuli["folder"].unique().to_list() == ["stimuli"]
    assert snapshot.stimuli["number"].to_list() == ["p01", "p01", "p02"]
    assert "prompt" not in snapshot.stimuli.columns


def test_names_that_do_not_fit_are_refused(log: Path) -> None:
    with pytest.raises(InputError, match=r"'./stimuli/red/p01.png' does not fit the pattern 'clips/\{system\}.wav'"):
        heartfelt.read(log, "long", **OPTIONS | {"names": "clips/{system}.wav"})
    with pytest.raises(InputError, match="has a column 'user' already"):
        heartfelt.read(log, "long", **OPTIONS | {"names": "./stimuli/{user}/{prompt}.png"})
    with pytest.raises(InputError, match="each of its names once"):
        heartfelt.read(log, "long", **OPTIONS | {"names": "./stimuli/"})
    with pytest.raises(InputError, match="more than once"):
        heartfelt.read(log, "long", **{k: v for k, v in OPTIONS.items() if k != "repeat"})


def test_media_of_one_name_are_found_by_path_or_not_at_all(log: Path) -> None:
    images = log.parent / "images"
    assert media_by_path(images)["red/p01"] == media_by_path(images)["red/p01.jpg"] == "red/p01.jpg"
    assert media_by_path(log.parent)["red/p01"] == "images/red/p01.jpg"
    assert "p01" not in media_by_path(images)
    plain = {key: value for key, value in OPTIONS.items() if key != "names"}
    with pytest.raises(InputError, match=r"media.*files.*'p01'"):
        heartfelt.read(log, "long", media="images", **plain)
