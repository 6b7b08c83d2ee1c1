"""Splits by hand: how stimuli are divided, which parts there are, and what the check says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark
from heartfelt.labels.splits import SHARES, SplitOptions
from heartfelt.publishing.release.release import PublishedMedium, Release, ReleaseRecord
from heartfelt.publishing.release.splits import (
    UNASSIGNED,
    Crossing,
    SplitCheck,
    assignment_hash,
    check_split,
    file_of,
    parts_of,
    placed_by,
    split_of,
    split_options,
)
from heartfelt.publishing.statements.details import Details
from heartfelt.snapshot import Snapshot
from tests.facts import mentions


def stimuli(**columns: Sequence[str | None]) -> pl.DataFrame:
    count = len(next(iter(columns.values()))) if columns else 30
    return pl.DataFrame({"stimulus": [f"s{at:02}" for at in range(count)], **columns})


def test_what_stimuli_are_divided_by() -> None:
    prompts = [f"p{at % 10}" for at in range(30)]
    intents = [f"i{at % 3}" for at in range(30)]
    assert split_options(stimuli(prompt=prompts, intent=intents)).by == "prompt"
    assert split_options(stimuli(prompt=["p", "q"] * 15, intent=intents)).by == "intent"
    assert split_options(stimuli(prompt=["p", "q"] * 15, intent=["i", None] * 15)).by == "stimulus"
    assert split_options(stimuli(prompt=["p", "q"] * 15), {"train": "0.5", "test": "0.5"}).by == "prompt"
    assert split_options(stimuli(prompt=prompts, intent=intents), {"by": "intent"}).by == "intent"
    chosen = split_options(stimuli(prompt=prompts), {"folds": "4", "seed": "7"})
    assert (chosen.folds, chosen.seed, len(chosen.shares)) == (4, 7, 4)
    assert dict(split_options(stimuli(prompt=prompts)).shares) == SHARES
    assert dict(split_options(stimuli(prompt=prompts), {"a": "0.25", "b": "0.75"}).shares) == {"a": 0.25, "b": 0.75}


def test_the_first_seed_that_fills_every_part_is_taken_unless_one_is_asked_for() -> None:
    few = stimuli(prompt=["a", "b", "c"] * 4)
    chosen = split_options(few)
    fills = [
        seed
        for seed in range(200)
        if len({SplitOptions(by="prompt", shares=SHARES, seed=seed).part_of(group) for group in "abc"}) == 3
    ]
    assert chosen.seed == fills[0] > 0
    assert split_options(few, {"seed": "0"}).seed == 0
    assert split_options(stimuli(prompt=["a", "b"] * 4), {"by": "prompt"}).seed == 0, (
        "two groups cannot fill three parts"
    )


def test_a_published_split_is_taken_as_it_is() -> None:
    table = stimuli(split=["test", "train", "train", None, "", "train"])
    chosen = split_options(table)
    assert chosen.by == "split"
    placed = placed_by(table, chosen)
    assert placed.filter(stimulus="s00")["split"].item() == "test"
    assert placed.filter(stimulus="s03")["split"].item() == UNASSIGNED
    assert chosen.shares["train"] == 0.5
    assert split_options(table, {"by": "published"}).fixed == chosen.fixed
    assert split_options(table, {"by": "split"}).by == "split"
    assert split_options(table, {"seed": "3"}).by == "stimulus"
    assert split_options(table, {"folds": "2"}).by == "stimulus"
    assert split_options(table, {"train": "0.5", "test": "0.5"}).by == "stimulus"
    assert split_options(stimuli(split=[None] * 6)).by == "stimulus"
    for settings in ({"seed": "1"}, {"folds": "2"}, {"train": "1"}):
        with pytest.raises(InputError, match="has its own parts"):
            split_options(table, {"by": "published", **settings})
    with pytest.raises(InputError, match="folds or named shares"):
        split_options(table, {"by": "stimulus", "folds": "2", "train": "1"})
    with pytest.raises(InputError, match="seed is 'x'"):
        split_options(stimuli(), {"seed": "x"})


def test_placing_ignores_groups_that_are_not_there() -> None:
    split = SplitOptions(by="prompt", shares={"train": 0.5, "test": 0.5}, fixed={"a": "test", "gone": "train"})
    placed = placed_by(stimuli(prompt=["a", "a", None]), split)
    assert placed["split"].to_list()[:2] == ["test", "test"]
    assert placed["group"].to_list() == ["a", "a", "\x00stimulus s02"]
    assert parts_of(placed.head(2), split) == ("test",)
    every = placed.with_columns(split=pl.Series(["test", "train", "odd"]))
    assert parts_of(every, split) == ("train", "test", "odd")
    assert parts_of(every) == ("odd", "test", "train")
    assert assignment_hash(every) == assignment_hash(every.reverse())
    assert assignment_hash(every) != assignment_hash(every.with_columns(split=pl.lit("train")))


def checked(**changes: object) -> SplitCheck:
    facts: dict[str, object] = {
        "by": "prompt", "seed": 3, "hash": "h", "stimuli": {"train": 1200, "test": 1}, "groups": 4, "divided": {"prompt": 0},
        "crossings": (), "compared": 2, "by_content": False, **changes,
    }  # fmt: skip
    return SplitCheck(**facts)  # type: ignore[arg-type]  # facts by name


def test_what_the_check_says() -> None:
    split, media = checked().steps
    assert mentions(split.about, "1,200", "1")
    assert (split.rows, split.settings) == (1201, {"by": "prompt", "seed": "3", "hash": "h"})
    assert (split.kind, media.kind, media.rows) == ("split", "check", 0)
    assert mentions(media.about, "identical", "media", "2 files")
    assert "none are at hand" in checked(compared=0).steps[1].about
    several = checked(divided={"prompt": 1, "intent": 2})
    assert mentions(several.steps[0].about, "1 prompt", "2 intents")
    assert "No prompt" not in several.steps[0].about
    crossing = Crossing(tuple("abcdefg"), ("train", "test"), identical=True)
    seen = checked(crossings=(crossing,) * 6, by_content=True).steps[1]
    assert seen.rows == 6
    assert mentions(seen.about, "6 groups", "a, b, c, d and e")
    assert seen.about.count("(train, test)") == 5


def test_media_in_two_parts_and_where_files_lie(tmp_path: Path) -> None:
    table = stimuli(prompt=["a", "a", "b", "b"], intent=["i", "i", "i", None])
    split = SplitOptions(by="prompt", shares={"train": 0.5, "test": 0.5}, fixed={"a": "train", "b": "test"})
    digests = {"s00": "x", "s01": "x", "s02": "x", "s03": ""}
    media = {name: PublishedMedium(stimulus=name, sha256=digest, bytes=1) for name, digest in digests.items()} | {
        "gone": PublishedMedium(stimulus="gone", sha256="x", bytes=1)
    }
    snapshot = cast("Snapshot", SimpleNamespace(stimuli=table))
    record, details = (ReleaseRecord(source_hash="", published_hash="", version="", k=5, l=2, steps=()), Details())
    release = Release(
        snapshot=snapshot,
        benchmark=None,
        why_no_benchmark=None,
        analysis=None,
        panel=None,
        record=record,
        details=details,
        media=media,
        split=split,
    )
    assert split_of(release) is split
    frozen = cast("Benchmark", SimpleNamespace(split=SplitOptions()))
    assert split_of(replace(release, benchmark=frozen)) is frozen.split, "a benchmark's own split comes first"
    assert split_of(replace(release, split=None)).by == "stimulus"
    result = check_split(release)
    assert (result.by, result.groups, result.compared, result.by_content) == ("prompt", 2, 3, False)
    assert result.stimuli == {"train": 2, "test": 2}
    assert result.divided == {"prompt": 0, "intent": 1}
    assert result.crossings == (Crossing(("s00", "s01", "s02"), ("train", "test"), identical=True),)
    (tmp_path / "a.wav").write_bytes(b"x")
    (tmp_path / "out").mkdir()
    waiting = PublishedMedium(stimulus="s", sha256="", bytes=1, path="a.wav", source=tmp_path / "a.wav")
    assert file_of(waiting, tmp_path / "out") == tmp_path / "a.wav"
    assert file_of(waiting, tmp_path) == tmp_path / "a.wav"
    assert file_of(waiting, None) == tmp_path / "a.wav"
    assert (
        file_of(PublishedMedium(stimulus="s", sha256="", bytes=1, path="a.wav", source=tmp_path / "b.wav"), None)
        is None
    )
    assert file_of(PublishedMedium(stimulus="s", sha256="", bytes=1), tmp_path) is None
    (tmp_path / "out" / "a.wav").write_bytes(b"y")
    assert file_of(waiting, tmp_path / "out") == tmp_path / "out" / "a.wav"
