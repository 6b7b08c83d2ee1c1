"""Folds keep together what belongs together: themes, prompts, near-duplicates; and say which grouping they used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image, ImageEnhance, ImageFilter

from heartfelt.errors import InputError
from heartfelt.report.pages.training import write_evaluation
from heartfelt.scoring.grouping import StimulusGrouping, grouping_of, near_duplicates, picture_hash
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.stimulus_groups import stem_of
from heartfelt.streams import stream
from heartfelt.training import TrainOptions, train
from heartfelt.training.heads.fitting import folds
from tests.facts import mentions
from tests.training.studies import WIDTH, planted, value_of


def table(names: list[str], **columns: Sequence[str | None]) -> pl.DataFrame:
    return pl.DataFrame({"stimulus": names, "path": [f"{name}.jpg" for name in names], **columns})


def grouped(frame: pl.DataFrame, by: str = "auto") -> StimulusGrouping:
    empty = np.zeros((frame.height, 0), np.float32)
    return grouping_of(frame, [f"{at}" for at in range(frame.height)], empty, by=by)


def together(result: StimulusGrouping, frame: pl.DataFrame, values: list[str]) -> bool:
    """Whether the groups are exactly those of these values."""
    pairs = set(zip(result.groups.tolist(), values, strict=True))
    return len(pairs) == result.count == len(set(values))


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("Dog 12", "Dog"),
        ("Dog_12", "Dog"),
        ("Dog (3)", "Dog"),
        ("Dog-07", "Dog"),
        ("Dog12", "Dog"),
        ("Car crash 4", "Car crash"),
        ("Dog", "Dog"),
        ("1984", "1984"),
        ("a/Dog_1", "a/Dog"),
        ("mp3 player 2", "mp3 player"),
    ],
)
def test_a_name_without_its_number(name: str, stem: str) -> None:
    assert stem_of(name) == stem


def test_file_names_that_differ_in_their_number_belong_together() -> None:
    themes = [f"theme {chr(97 + at % 12)}" for at in range(48)]
    frame = table([f"{theme} {at}" for at, theme in enumerate(themes)])
    result = grouped(frame)
    assert result.by == "file name"
    assert together(result, frame, themes)
    assert "Folds are by file name" in result.words
    assert "12 groups" in result.words


def test_a_numbered_theme_column_is_read_without_its_numbers() -> None:
    """OASIS names every picture in its column 'theme': 'Acorns 1', 'Acorns 2'."""
    themes = [f"t{chr(97 + at % 12)}" for at in range(48)]
    frame = table([f"x{at}y" for at in range(48)], theme=[f"{theme} {at}" for at, theme in enumerate(themes)])
    result = grouped(frame)
    assert result.by == "theme"
    assert together(result, frame, themes)


def test_a_column_goes_before_the_file_name_and_the_users_choice_before_both() -> None:
    prompts = [f"P{at % 16:03}p" for at in range(48)]
    spaces = [f"room{at % 11}" for at in range(48)]
    frame = table([f"a{at % 12}b_{at}" for at in range(48)], prompt=prompts, room=spaces)
    assert grouped(frame).by == "prompt"
    assert together(grouped(frame, "room"), frame, spaces)
    assert grouped(frame, "none").by == ""
    assert grouped(frame, "none").count == 48
    with pytest.raises(InputError, match="no column 'rom'") as caught:
        grouped(frame, "rom")
    assert "room" in caught.value.fix


def test_the_cell_of_a_generated_clip_is_no_theme() -> None:
    """Suno_calm_3 belongs to the cell of Suno and calm, which has a reading of its own; a prompt per intent says no more."""
    rows = [(system, intent, at) for system in "ABCD" for intent in ("calm", "sad", "glad") for at in range(6)]
    names = [f"{system}_{intent}_{at}" for system, intent, at in rows]
    frame = table(
        names,
        system=[row[0] for row in rows],
        intent=[row[1] for row in rows],
        prompt=[f"prompt of {row[0]} and {row[1]}" for row in rows],
    )
    assert grouped(frame).by == ""
    assert "Folds are by stimulus" in grouped(frame).words


def test_too_few_or_too_large_groups_are_not_taken() -> None:
    few = table([f"{'abcd'[at % 4]} {at}" for at in range(40)])
    assert grouped(few).by == ""
    large = table([f"{'z' if at % 2 else chr(97 + at % 24)} {at}" for at in range(48)])
    assert grouped(large).by == ""


def test_stimuli_without_a_value_stand_alone() -> None:
    values: list[str | None] = [f"p{at % 12}q" if at < 40 else None for at in range(48)]
    assert grouped(table([f"n{at}x" for at in range(48)], prompt=values)).count == 12 + 8


def test_folds_keep_groups_whole_and_are_even() -> None:
    rng = stream(1, "groups")
    groups = rng.integers(0, 40, 300)
    plan = folds(groups, 5, 0, "x")
    assert all(np.unique(plan[groups == group]).size == 1 for group in np.unique(groups))
    sizes = np.bincount(plan)
    assert sizes.size == 5
    assert sizes.max() - sizes.min() <= 15
    assert np.unique(folds(np.repeat([0, 1, 2], 9), 5, 0, "x")).size == 3


def test_folds_of_single_stimuli_are_the_even_ones() -> None:
    order = stream(0, "train", "folds", "x").permutation(23)
    expected = np.empty(23, np.int64)
    expected[order] = np.arange(23) % 5
    assert np.array_equal(folds(np.arange(23), 5, 0, "x"), expected)


def noise_picture(seed: int) -> Image.Image:
    """A picture with shapes large enough to survive being made smaller."""
    rng = stream(seed, "picture")
    coarse = Image.fromarray(rng.integers(0, 255, (9, 12, 3), dtype=np.uint8).astype(np.uint8), "RGB")
    return coarse.resize((480, 360), Image.Resampling.BICUBIC)


@pytest.mark.slow
def test_a_picture_saved_again_is_a_near_duplicate(tmp_path: Path) -> None:
    base = [noise_picture(seed) for seed in range(12)]
    variants = {
        "quality": base[0],
        "smaller": base[1].resize((200, 150)),
        "brighter": ImageEnhance.Brightness(base[2]).enhance(1.2),
        "softer": base[3].filter(ImageFilter.GaussianBlur(2)),
    }
    paths = []
    for at, picture in enumerate(base):
        paths.append(tmp_path / f"{at}.png")
        picture.save(paths[-1])
    for name, picture in variants.items():
        paths.append(tmp_path / f"{name}.jpg")
        picture.save(paths[-1], quality=30)
    hashes = [picture_hash(path) for path in paths]
    result = near_duplicates([path.name for path in paths], np.zeros((len(paths), 0), np.float32), None, hashes)
    assert result.tolist() == [*range(12), 0, 1, 2, 3]
    (tmp_path / "broken.png").write_text("no picture")
    assert picture_hash(tmp_path / "broken.png") is None


def test_equal_files_and_close_embeddings_are_near_duplicates() -> None:
    rng = stream(2, "embeddings")
    rows = rng.normal(0, 1, (60, 400)).astype(np.float32)
    rows[50] = rows[3] + rng.normal(0, 0.3, 400)
    rows[51] = rows[50] + rng.normal(0, 0.3, 400)
    contents = [f"{at}" for at in range(60)]
    contents[59] = "7"
    result = near_duplicates(contents, rows, 0.85)
    assert result[50] == result[51] == result[3] == 3
    assert result[59] == 7
    assert np.unique(result).size == 57
    assert np.unique(near_duplicates(contents, rows, None)).size == 59


def test_near_duplicates_join_their_groups() -> None:
    frame = table([f"{chr(97 + at % 12)} {at}" for at in range(48)])
    contents = [f"{at}" for at in range(48)]
    contents[13] = contents[0]  # 'b 13' is the same file as 'a 0'
    result = grouping_of(frame, contents, np.zeros((48, 0), np.float32))
    assert result.count == 11
    assert result.duplicates == 1
    assert result.groups[0] == result.groups[1] == result.groups[13]
    assert mentions(result.words, "1", "fold")


def themed(folder: Path, n_themes: int = 24, per_theme: int = 6) -> Snapshot:
    """Labels that depend on the theme alone; what tells themes apart says nothing about the label of a new one."""
    base = planted(folder, 1)
    rng = stream(9, "themed")
    stimuli, ratings = [], []
    for theme in range(n_themes):
        centre, label = rng.normal(0, 2, WIDTH), float(rng.uniform(2, 8))
        for at in range(per_theme):
            name = f"theme{chr(97 + theme)}_{at}.wav"
            np.savetxt(folder / name, centre + rng.normal(0, 0.2, WIDTH), fmt="%.6f")
            stimuli.append({"stimulus": name, "path": name})
            for rater in range(4):
                value = float(np.clip(np.round(label + rng.normal(0, 0.6)), 1, 9))
                ratings.append({"rater": f"r{rater}", "stimulus": name, "question": "valence", "value": value})
    study = base.study.model_copy(update={"systems": [], "intents": []})
    return Snapshot.build(study, stimuli=pl.DataFrame(stimuli), ratings=pl.DataFrame(ratings), source=base.source)


@pytest.mark.slow
def test_a_theme_does_not_leak_across_folds(tmp_path: Path) -> None:
    """By stimulus the head remembers the theme; by theme there is nothing to remember."""
    data = themed(tmp_path / "media")
    scores = {}
    for group in ("none", "auto"):
        options = TrainOptions(
            recipe="digits", policy="none", heads=("kernel",), group=group, features=tmp_path / "features"
        )
        made = train(data, options)
        (row,) = [row for row in made.evaluation.rows if row.protocol == "five-fold"]
        scores[group] = value_of(row.pearson)
        if group == "auto":
            assert row.reading == "five folds by file name"
            assert made.model.facts.grouping is not None
            assert made.model.facts.grouping.groups == 24
            card = made.model.card
            assert "by 0 systems" not in card
            assert "systems that were left out" not in card
            assert "stimuli whose file name was left out" in card
            assert "Folds are by file name" in card
            write_evaluation(made, tmp_path / "evaluation")
            page = (tmp_path / "evaluation" / "report.html").read_text()
            assert "five folds by file name" in page
            plan: dict[str, set[int]] = {}
            for line in made.evaluation.predictions.to_dicts():
                plan.setdefault(line["stimulus"].split("_")[0], set()).add(line["fold"])
            assert all(len(seen) == 1 for seen in plan.values())
        else:
            assert "stimuli that were left out" in made.model.card
    assert scores["none"] > 0.8
    assert abs(scores["auto"]) < 0.6
    assert scores["none"] - scores["auto"] > 0.4


@pytest.mark.slow
def test_a_published_split_trains_on_its_training_part_alone(tmp_path: Path) -> None:
    base = planted(tmp_path / "media")
    parts = ["train", "train", "train", "dev", "test", None]
    split = pl.Series("split", [parts[at % 6] for at in range(base.stimuli.height)], dtype=pl.String)
    data = Snapshot.build(
        base.study, stimuli=base.stimuli.with_columns(split), ratings=base.ratings, source=base.source
    )
    options = TrainOptions(recipe="digits", policy="none", split="published", features=tmp_path / "features")
    made = train(data, options)
    by_part = {name: set(data.stimuli.filter(pl.col("split") == name)["stimulus"]) for name in ("train", "dev", "test")}
    assert set(made.material.stimuli) == by_part["train"]
    assert {retained.stimulus for retained in made.model.out_of_fold.values()} == by_part["train"]
    rows = {row.protocol: row for row in made.evaluation.rows}
    for part in ("dev", "test"):
        row = rows[f"published {part}"]
        assert row.n == len(by_part[part])
        assert row.reading == f"published split, {part}"
        assert value_of(row.pearson) > 0.8
        assert row.bare_means.why_missing
    assert rows["five-fold"].n == len(by_part["train"])
    write_evaluation(made, tmp_path / "evaluation")
    assert "published split, test" in made.model.card
    with pytest.raises(InputError, match="no published split"):
        train(base, options)
    with pytest.raises(InputError, match=r"split.*'own'"):
        TrainOptions(split="own")
