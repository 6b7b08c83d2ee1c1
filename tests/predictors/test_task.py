"""What is asked: cases of a study, the texts models are given, and where media are looked for."""

from __future__ import annotations

import pickle
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import HeartfeltError
from heartfelt.formats import FORMATS
from heartfelt.labels import freeze
from heartfelt.predictors import answer_names, answer_texts, cases
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from tests.datasets.emolia_data import dim, emo
from tests.predictors.studies import CountedMedia, snapshot


def asked(data: Snapshot, **options: object) -> list[tuple[str, str]]:
    result = cases(data, **options)  # type: ignore[arg-type]  # passed on as they are
    return [(case.stimulus, ask.question) for case in result for ask in case.asks]


def test_emolia_asks_with_its_own_sentence(tmp_path: Path) -> None:
    """SOURCE: the sentence and the reading of underscores as emolia-bench publishes them."""
    source = FORMATS["emolia-emo"].example(tmp_path)
    data = heartfelt.read(source, "emolia-emo")
    texts = {ask.question: ask.text for case in cases(data) for ask in case.asks}
    assert texts["Jealousy___Envy/affirmative"] == (
        "Speech audio in which the speaker expresses or conveys Jealousy / Envy."
    )
    assert texts["Anger/affirmative"] == "Speech audio in which the speaker expresses or conveys Anger."


@pytest.mark.slow
def test_emolia_levels_ask_with_their_text(tmp_path: Path) -> None:
    data = heartfelt.read(FORMATS["emolia-dim"].example(tmp_path), "emolia-dim")
    texts = {ask.question: ask.text for case in cases(data) for ask in case.asks}
    assert texts["TEMP/5/negative"] == "Fast: “words run together”."
    assert texts["LANG/European/positive"] == "Speech audio. Does this voice match level European of LANG?"


@pytest.mark.slow
def test_only_what_can_be_scored_is_asked_and_ties_of_ordered_answers_are(tmp_path: Path) -> None:
    data = emo(tmp_path / "emo")
    assert len(asked(data)) == 7  # f2, f3 and f7 are tied on three levels and not on present or absent
    assert ("f8.mp3", "Awe/affirmative") not in asked(data)
    assert ("f8.mp3", "Awe/affirmative") in asked(data, labelled=False)
    levels = dim(tmp_path / "dim")
    assert ("TEMP/5/positive/sample_00.mp3", "TEMP/5/positive") not in asked(levels)  # one yes, one no


@pytest.mark.slow
def test_questions_items_and_limit(tmp_path: Path) -> None:
    data = snapshot(tmp_path)
    assert len(asked(data)) == 24
    assert {question for _, question in asked(data, questions=["mood"])} == {"mood"}
    assert len(asked(data, limit=4)) == 4
    assert {question for _, question in asked(data, limit=4)} == {"valence", "fits", "mood"}
    assert asked(data, limit=24) == asked(data, limit=99) == asked(data)
    wanted = pl.DataFrame({"stimulus": ["clip_005.wav", "clip_002.wav"], "question": ["fits", "mood"]})
    assert asked(data, items=wanted) == [("clip_002.wav", "mood"), ("clip_005.wav", "fits")]
    with pytest.raises(HeartfeltError, match="no question 'valense'"):
        cases(data, ["valense"])
    with pytest.raises(HeartfeltError, match="limit of 0"):
        cases(data, limit=0)


@pytest.mark.slow
def test_a_benchmark_asks_the_same(tmp_path: Path) -> None:
    data = snapshot(tmp_path)
    frozen = freeze(data)
    assert cases(frozen)[0].media is not None
    assert [(c.stimulus, [a.text for a in c.asks], c.system, c.intent, c.prompt) for c in cases(frozen)] == [
        (c.stimulus, [a.text for a in c.asks], c.system, c.intent, c.prompt) for c in cases(data)
    ]


def test_texts_of_other_studies(tmp_path: Path) -> None:
    case = cases(snapshot(tmp_path, 4))[2]
    valence, fits, mood = case.asks
    assert case.prompt == "sad, instrumental"
    assert valence.text == "Music that is very pleasant."
    assert fits.text == "sad, instrumental"
    assert mood.text == "Music. Which mood does it convey? One of: joy, grief, calm."
    assert answer_texts(valence) == {1.0: "Music that is very unpleasant.", 9.0: "Music that is very pleasant."}
    assert answer_texts(mood) == {
        0.0: "Music that conveys joy.",
        1.0: "Music that conveys grief.",
        2.0: "Music that conveys calm.",
    }
    assert answer_texts(fits) == {1.0: "sad, instrumental"}
    assert answer_names(mood.scale) == {0.0: "joy", 1.0: "grief", 2.0: "calm"}
    assert fits.about["matches"] == "prompt"
    assert valence.about == {"media": "audio", "emotion": "perceived"}


@pytest.mark.slow
def test_media_are_looked_for_inside_the_root_only(tmp_path: Path) -> None:
    data = snapshot(tmp_path, 2)
    first = cases(data)[0]
    assert first.media is not None
    assert first.media.path == (tmp_path / "media" / "clip_000.wav").resolve()
    (tmp_path / "media" / "clip_001.wav").unlink()
    missing = cases(data)[1]
    assert missing.media is None
    assert missing.facts["path"] == "clip_001.wav"
    outside = data.stimuli.with_columns(pl.lit("../secret.wav").alias("path"))
    away = Snapshot.build(
        data.study,
        stimuli=outside,
        ratings=data.ratings,
        source=Source(format="tables", name="x", media_root=tmp_path / "media"),
    )
    with pytest.raises(HeartfeltError, match="leads out of"):
        cases(away)


def test_a_case_travels_with_its_path_and_without_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "large.wav"
    path.write_bytes(bytes(1_000_000))
    media = CountedMedia(path)
    CountedMedia.reads.clear()
    assert media.hash == CountedMedia(path).hash
    assert len(media.base64) == 1_333_336
    assert CountedMedia.reads == {"large.wav": 2}
    assert len(pickle.dumps(media)) < 1000
    media.release()
    assert set(vars(media)) == {"path", "hash"}


@pytest.mark.slow
def test_what_people_said_is_not_shown_unasked(tmp_path: Path) -> None:
    """The stimuli of AImoclips carry their published means: the labels themselves."""
    data = heartfelt.read(FORMATS["aimoclips"].example(tmp_path), "aimoclips")
    assert "mean_valence" in data.stimuli.columns
    assert {name for case in cases(data) for name in case.facts} == {"path"}
    assert cases(data, facts=["index"])[0].facts["index"] == "1"
    with pytest.raises(HeartfeltError, match="has no column 'indx'"):
        cases(data, facts=["indx"])


def test_questions_in_words_are_asked_where_somebody_answered(tmp_path: Path) -> None:
    source = FORMATS["aigiemo"].example(tmp_path)
    data = heartfelt.read(source, "aigiemo", **FORMATS["aigiemo"].example_options())
    levels = {question: data.study.scale_of(question).level for _, question in asked(data)}
    message = data.ratings.filter(pl.col("answer").is_not_null())["question"].unique()
    words = {q for q in message if data.study.scale_of(q).level == "text"}
    assert {question for question, level in levels.items() if level == "text"} == words
    assert words
