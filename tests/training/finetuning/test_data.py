"""What is trained on: parts that share nothing, a ledger of what cannot be used, several sources, users' own recipes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError, UnknownNameError
from heartfelt.media.audio import read_audio, write_audio
from heartfelt.scoring.grouping import StimulusGrouping
from heartfelt.snapshot import Snapshot
from heartfelt.training.finetuning import (
    FineTuneSettings,
    TrainingData,
    gather_data,
    is_fine_tuning,
    recipe_named,
    recipe_names,
)
from heartfelt.training.finetuning.recipe import Level
from heartfelt.training.finetuning.stimuli.parts import parts_of
from tests.facts import mentions
from tests.training.finetuning.studies import tones

pytestmark = pytest.mark.slow


@dataclass
class Plain:
    """A recipe that is only asked what it can learn."""

    levels: tuple[Level, ...] = ("interval", "nominal")
    name: str = "plain"
    about: str = ""
    media: str = "audio"
    questions: tuple[str, ...] = ()
    settings: type[FineTuneSettings] = FineTuneSettings

    def build(self, data: Any, settings: Any) -> Any:
        raise NotImplementedError

    def load(self, folder: Any, outputs: Any) -> Any:
        raise NotImplementedError


def gathered(*sources: Snapshot, recipe: Plain | None = None, published: bool = False, **settings: Any) -> TrainingData:
    recipe = recipe or Plain()
    return gather_data(list(sources), recipe, FineTuneSettings(**settings), policy="none", published=published)


def rebuilt(study: Snapshot, stimuli: pl.DataFrame | None = None, ratings: pl.DataFrame | None = None) -> Snapshot:
    return Snapshot.build(
        study.study,
        stimuli=study.stimuli if stimuli is None else stimuli,
        ratings=study.ratings if ratings is None else ratings,
        source=study.source,
    )


def test_labels_without_media_and_media_without_labels_are_in_the_ledger(tmp_path: Path) -> None:
    study = tones(tmp_path, 32)
    (tmp_path / "clip003.wav").unlink()
    (tmp_path / "clip004.wav").write_bytes(b"no sound")
    data = gathered(rebuilt(study, ratings=study.ratings.filter(pl.col("stimulus") != "clip005")))
    reasons = dict(data.ledger.select("stimulus", "reason").iter_rows())
    assert "not available" in reasons.pop("clip003")
    assert "clip004.wav" in reasons.pop("clip004")
    assert "no label" in reasons.pop("clip005")
    assert not reasons
    assert {example.stimulus for example in data.examples} == {
        f"clip{at:03d}" for at in range(32) if at not in (3, 4, 5)
    }
    every = [*data.parts.train, *data.parts.validation, *data.parts.tested]
    assert sorted(every) == list(range(29))
    # The mean of the four ratings of the first clip, and the shares of its categories.
    first = study.ratings.filter((pl.col("stimulus") == "clip000") & (pl.col("question") == "impression"))
    impression, _, pitch = data.targets
    assert impression.values[0] == pytest.approx(first["value"].mean())
    assert pitch.values[1].tolist() == [0.0, 1.0, 0.0]
    assert list(pitch.output.categories) == ["low", "middle", "high"]


def test_copies_of_scored_stimuli_are_taken_out_of_training(tmp_path: Path) -> None:
    """The same bytes under another name, and the same sound at another level and rate."""
    study = tones(tmp_path, 40, seconds=3.0)
    parts = dict(study.stimuli.select("stimulus", "split").iter_rows())
    assert parts["clip039"] == "test"
    assert parts["clip000"] == parts["clip001"] == "train"
    shutil.copy(tmp_path / "clip039.wav", tmp_path / "clip000.wav")
    loud = read_audio(tmp_path / "clip038.wav")
    write_audio(tmp_path / "clip001.wav", (0.6 * loud.samples).astype(np.float32), loud.rate)
    data = gathered(study, published=True)
    reasons = dict(data.ledger.select("stimulus", "reason").iter_rows())
    assert set(reasons) == {"clip000", "clip001"}
    assert all("of the scored part" in why for why in reasons.values())
    names = np.array([example.stimulus for example in data.examples])
    assert set(names[data.parts.test["test"]]) == {name for name, part in parts.items() if part == "test"}
    assert set(names[data.parts.validation]) == {name for name, part in parts.items() if part == "dev"}
    assert "clip000" not in names[data.parts.train]
    # Without a published split they are simply in one group.
    free = gathered(study)
    assert free.grouping.duplicates == 2
    assert not free.parts.dropped


def test_one_category_only_is_not_trained_and_a_single_stimulus_of_one_is_noted(tmp_path: Path) -> None:
    uniform = gathered(tones(tmp_path / "one", 24, one_kind=True))
    assert [output.question for output in uniform.outputs] == ["impression", "alignment"]
    reason = "every stimulus has the same label (middle): there is nothing to tell apart"
    assert f"'pitch' is not trained: {reason}." in uniform.notes
    assert ("question", "pitch", reason) in uniform.ledger.select("what", "question", "reason").rows()
    with pytest.raises(InputError, match=r"nothing to learn.*'pitch': every stimulus has the same label"):
        gathered(tones(tmp_path / "alone", 24, one_kind=True), questions=("pitch",))
    study = tones(tmp_path / "single", 24)
    value = pl.when((pl.col("question") == "pitch") & (pl.col("value") == 2) & (pl.col("stimulus") != "clip002"))
    single = rebuilt(study, ratings=study.ratings.with_columns(value.then(1.0).otherwise("value").alias("value")))
    data = gathered(single)
    assert [note for note in data.notes if "'high' is the label of one stimulus only" in note]
    assert data.examples[2].stimulus == "clip002"
    assert 2 in data.parts.train


def test_a_left_out_system_is_scored_and_the_parts_never_meet() -> None:
    groups = np.repeat(np.arange(20), 3)
    systems = [f"s{at % 4}" for at in range(60)]
    grouping = StimulusGrouping(groups=groups, by="prompt")
    alone = np.arange(60)
    left = parts_of(grouping, alone, systems=systems, left_out_system="s2", seed=3)
    assert {systems[at] for at in left.test["test"]} == {"s2"}
    assert len(left.test["test"]) == 15
    for seed in range(5):
        parts = parts_of(grouping, alone, systems=systems, seed=seed)
        sets = [set(groups[part]) for part in (parts.train, parts.validation, parts.test["test"])]
        assert not sets[0] & sets[1] | sets[0] & sets[2] | sets[1] & sets[2]
        assert sum(part.size for part in (parts.train, parts.validation, parts.tested)) == 60
    only_dev = ["train"] * 50 + ["dev"] * 10
    published = parts_of(grouping, alone, systems=systems, published=only_dev)
    assert published.test["dev"].tolist() == list(range(50, 60))
    assert set(published.validation) <= set(range(50))


def test_sources_with_the_same_questions_are_put_together(tmp_path: Path, study: Snapshot) -> None:
    other = tones(tmp_path / "other", 24, seed=9)
    data = gathered(study, other)
    assert len(data.examples) == 60
    assert data.origin.tolist() == [0] * 36 + [1] * 24
    assert {example.source for example in data.examples} == {"tones 1", "tones 2"}
    changed = other.study.changed(scales={**other.study.scales, "five": {"type": "points", "points": 7}})
    ratings = other.ratings
    seven = Snapshot.build(changed, stimuli=other.stimuli, ratings=ratings, source=other.source)
    with pytest.raises(InputError, match=r"scale.*'impression'"):
        gathered(study, seven)
    with pytest.raises(InputError, match="is for image"):
        gathered(study, recipe=Plain(media="image"))
    with pytest.raises(InputError, match="20 are needed"):
        gathered(tones(tmp_path / "few", 8))


def test_a_recipe_of_ones_own_is_found_and_what_is_none_is_named(my_package: Path) -> None:
    assert recipe_named("my_package:recipe").name == "spectrum"
    assert is_fine_tuning("my_package:recipe")
    assert is_fine_tuning("clap-mos")
    assert not is_fine_tuning("va-audio")
    assert {"va-audio", "mos-audio", "clap-mos", "soft-mos"} <= set(recipe_names())
    with pytest.raises(UnknownNameError, match=r"training.*'clap-moss'") as error:
        is_fine_tuning("clap-moss")
    assert mentions(error.value.fix, "mean", "'clap-mos'")
    with pytest.raises(UnknownNameError, match="has no 'recipee'"):
        recipe_named("my_package:recipee")
    with pytest.raises(InputError, match="it is a class"):
        recipe_named("my_package:SpectrumRecipe")
    with pytest.raises(InputError, match="without name, about"):
        recipe_named("my_package:RATE")
    with pytest.raises(UnknownNameError, match="cannot be imported"):
        recipe_named("no_such_package:recipe")
    assert (my_package / "my_package.py").is_file()


def test_labels_that_cannot_be_used_are_said_and_those_off_the_scale_refused(tmp_path: Path) -> None:
    study = tones(tmp_path, 32)

    def with_means(**columns: dict[int, float]) -> Snapshot:
        """Published means of both questions with numbers: 1 to 5 in turn, but for these stimuli."""
        rows = [
            {"stimulus": name, "question": question, "mean": changed.get(at, 1.0 + at % 5)}
            for question, changed in columns.items()
            for at, name in enumerate(study.stimuli["stimulus"])
        ]
        return Snapshot.build(study.study, stimuli=study.stimuli, means=pl.DataFrame(rows), source=study.source)

    nan = float("nan")
    data = gathered(with_means(impression=dict.fromkeys(range(6), nan), alignment=dict.fromkeys(range(32), 3.0)))
    assert [output.question for output in data.outputs] == ["impression"]
    assert mentions(data.label_words, "labels", "published", "means")
    assert mentions(data.notes, "6 of 32 stimuli", "'impression'")
    assert any(note.startswith("'alignment' is not trained: every stimulus has the same") for note in data.notes)
    with pytest.raises(InputError, match=r"1.*5.*7.*clip000"):
        gathered(with_means(impression={0: 7.0}))
    with pytest.raises(InputError, match=r"'impression'.*3 of 32 labels.*2"):
        gathered(with_means(impression={at: 2.0 for at in range(32) if at not in (3, 4, 5)} | {3: 3.0, 4: 3.0}))
    (tmp_path / "clip001.wav").write_bytes((tmp_path / "clip000.wav").read_bytes())
    (note,) = [note for note in gathered(with_means(impression={0: 1.0, 1: 5.0})).notes if "contradictory" in note]
    assert "clip000 (1) and clip001 (5)" in note


def test_a_training_part_with_one_label_is_refused(tmp_path: Path) -> None:
    study = tones(tmp_path, 40)
    train = study.stimuli.filter(pl.col("split") == "train")["stimulus"].to_list()
    rows = [
        {"stimulus": name, "question": "impression", "mean": 2.0 if name in train else 1.0 + at % 5}
        for at, name in enumerate(study.stimuli["stimulus"])
    ]
    means = Snapshot.build(study.study, stimuli=study.stimuli, means=pl.DataFrame(rows), source=study.source)
    with pytest.raises(InputError, match=r"28 stimuli.*'impression'"):
        gathered(means, published=True)


def test_too_little_is_counted_with_the_first_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^1 stimulus has both a label and a file that can be read; 20 are needed"):
        gathered(tones(tmp_path / "one", 1))
    study = tones(tmp_path / "gone", 30)
    shutil.rmtree(tmp_path / "gone")
    with pytest.raises(InputError, match=r"^0 stimuli have both .* The first reason: its media file is not available"):
        gathered(study)
