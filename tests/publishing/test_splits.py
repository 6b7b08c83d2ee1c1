"""Splits of a release: grouped, hashed, published ones as they are, and what lies on both sides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.labels.benchmark import load_benchmark
from heartfelt.media.audio import write_audio
from heartfelt.media.sounds.recordings import RATE
from heartfelt.publishing.hiding.hold_out import hold_out
from heartfelt.publishing.release.release import PublishedMedium
from heartfelt.publishing.release.splits import (
    UNASSIGNED,
    assignment_hash,
    check_split,
    freeze_release,
    placement,
    release_split,
    split_options,
)
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.media.test_recordings import melody
from tests.publishing.releases import release_of, small_snapshot, with_stimuli, without_benchmark


@pytest.mark.slow
def test_stimuli_are_divided_by_prompt_and_every_part_is_filled(tmp_path: Path) -> None:
    snapshot = small_snapshot()
    release = release_of(snapshot, tmp_path)
    placed = placement(release)
    assert release.benchmark is not None
    assert release.benchmark.split.by == "prompt"
    assert set(placed["split"]) == {"train", "dev", "test"}
    prompts = placed.group_by("group").agg(pl.n_unique("split"))
    assert prompts["split"].to_list() == [1] * 6
    # The same in any order of rows; another seed is another assignment with another name.
    turned = release_of(with_stimuli(snapshot, snapshot.stimuli.reverse()), tmp_path)
    assert assignment_hash(placement(turned)) == assignment_hash(placed)
    other = release_of(snapshot, tmp_path, {"by": "prompt", "seed": "5"})
    assert assignment_hash(placement(other)) != assignment_hash(placed)
    assert placement(without_benchmark(release)).equals(placed)


@pytest.mark.slow
def test_a_published_split_is_used_and_stays_valid_on_disk(tmp_path: Path) -> None:
    snapshot = small_snapshot()
    own = ["train"] * 6 + ["dev"] * 2 + ["test"] * 3 + [None]
    published = with_stimuli(snapshot, snapshot.stimuli.with_columns(pl.Series("split", own)))
    release = release_of(published, tmp_path)
    assert placement(release)["split"].to_list() == [name or UNASSIGNED for name in own]
    assert release.benchmark is not None
    release.benchmark.write(tmp_path / "benchmark")
    assert load_benchmark(tmp_path / "benchmark").hash == release.benchmark.hash
    # A part without labels keeps its stimuli.
    unrated = Snapshot.build(
        snapshot.study,
        stimuli=published.stimuli,
        ratings=snapshot.ratings.filter(~pl.col("stimulus").is_in(["clip08", "clip09", "clip10"])),
    )
    assert placement(release_of(unrated, tmp_path))["split"].to_list() == placement(release)["split"].to_list()
    # Held-out parts are those of the published split too; a stimulus it leaves out is in none of them.
    held = hold_out(published, "test", release_split(published))
    assert set(snapshot.stimuli["stimulus"]) - set(held.snapshot.survey.stimuli) == {"clip08", "clip09", "clip10"}
    by_system = freeze_release(published, settings={"by": "system", "train": ".5", "test": "0.5"})
    assert by_system.split.by == "system"
    assert set(by_system.parts) == {"train", "test"}


@pytest.mark.slow
def test_media_and_groups_on_both_sides_are_reported(tmp_path: Path) -> None:
    snapshot = small_snapshot()
    release = release_of(snapshot, tmp_path)
    check = check_split(release, tmp_path)
    assert not check.crossings
    assert check.compared == 12
    assert check.divided["prompt"] == 0
    assert check.divided["intent"] == 2, "both intents are in several parts, which the record says"
    split, media = check.steps
    assert split.settings["hash"] == assignment_hash(placement(release))
    assert "2 intents" in split.about
    assert "No identical or nearly identical media" in media.about
    part = dict(placement(release).select("stimulus", "split").rows())
    names = list(part)
    other = next(name for name in names if part[name] != part[names[0]])
    pictures = {}
    for name, (size, quality) in {names[0]: (64, 95), other: (48, 40)}.items():
        path = tmp_path / f"{name}.jpg"
        picture = Image.linear_gradient("L").rotate(30).resize((64, 64)).resize((size, size))
        picture.save(path, quality=quality)
        pictures[name] = PublishedMedium(stimulus=name, sha256=name, bytes=1, path=f"{name}.jpg")
    near = check_split(replace(release, media=pictures), tmp_path)
    assert [set(each.stimuli) for each in near.crossings] == [{names[0], other}]
    assert not near.crossings[0].identical
    assert mentions(near.steps[1].about, "1 group", "identical")
    sound = melody(1, 4.0)
    recordings = {}
    for name, cut in {names[0]: sound[: 3 * RATE], other: sound[RATE:] * np.float32(0.3)}.items():
        write_audio(tmp_path / f"{name}.ogg", cut, RATE)
        recordings[name] = PublishedMedium(stimulus=name, sha256=name, bytes=1, path=f"{name}.ogg")
    cuts = check_split(replace(release, media=recordings), tmp_path)
    assert [set(each.stimuli) for each in cuts.crossings] == [{names[0], other}], "cut elsewhere, coded again"
    known = snapshot.stimuli.with_columns(duplicate_of=pl.when(pl.col("stimulus") == other).then(pl.lit(names[0])))
    prepared = Snapshot.build(snapshot.study, stimuli=known, ratings=snapshot.ratings)
    told = check_split(replace(release, snapshot=prepared, media={}), None)
    assert [set(each.stimuli) for each in told.crossings] == [{names[0], other}], "crops that do not overlap"
    same = dict.fromkeys((names[0], other), "a" * 64)
    twins = {name: PublishedMedium(stimulus=name, sha256=digest, bytes=1) for name, digest in same.items()}
    exact = check_split(replace(release, media=twins), None)
    assert exact.crossings[0].identical
    assert set(exact.crossings[0].parts) == {part[names[0]], part[other]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "prmpt"}, "no column 'prmpt'"),
        ({"by": "prompt", "seed": "x"}, "not a number"),
        ({"train": "0.7"}, "add up to"),
        ({"by": "published"}, "no published split"),
        ({"folds": "3", "train": "1"}, "folds or named shares"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_options(small_snapshot().stimuli, settings)
    with_split = small_snapshot().stimuli.with_columns(pl.lit("train").alias("split"))
    with pytest.raises(InputError, match="its own parts"):
        split_options(with_split, {"by": "published", "seed": "2"})
