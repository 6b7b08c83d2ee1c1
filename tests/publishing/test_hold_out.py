"""Holding out a part: nothing public depends on what people said about it, and the private benchmark has it all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.labels import LabelOptions, SplitOptions, freeze, load_benchmark
from heartfelt.labels.splits import assigned, groups_of
from heartfelt.publishing.hiding.hold_out import hold_out
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study

RATED = parse_study(
    "name: t\nscales:\n  nine: {type: points, points: 9}\nquestions:\n  - {id: valence, text: V, scale: nine}\n"
)
COMPARED = parse_study(
    "name: t\nscales:\n  two: {type: choice}\nquestions:\n  - {id: better, text: B, scale: two}\n"
    "sets: {type: pair, rule: across-systems}\n"
)
SPLIT = SplitOptions(by="prompt", shares={"train": 0.6, "test": 0.4}, fixed={"p0": "test", "p1": "train"})


def made(change: float = 0.0) -> Snapshot:
    """Ratings, fields, means, adjudications and a ledger; ``change`` is added to every answer about a test stimulus."""
    rng = np.random.default_rng(3)
    names = [f"c{at:02}" for at in range(48)]
    stimuli = pl.DataFrame(
        {
            "stimulus": names,
            "prompt": [f"p{at % 16}" for at in range(48)],
            "system": [f"s{at % 3}" for at in range(48)],
            "tempo": rng.normal(100, 10, 48),
        }
    )
    placed = assigned(groups_of(stimuli, "prompt"), SPLIT)
    hidden = set(placed.filter(pl.col("split") == "test")["stimulus"])
    level = {name: float(rng.integers(2, 7)) + (change if name in hidden else 0.0) for name in names}
    single = [(f"r{r}", name, "valence", level[name] + r % 2) for r in range(5) for name in names]
    ratings = pl.DataFrame(single, schema=["rater", "stimulus", "question", "value"], orient="row")
    fields = pl.DataFrame(
        {
            "stimulus": names * 2,
            "field": ["mood"] * 96,
            "machine": ["calm"] * 96,
            "verdict": [None] * 48 + ["fixed" if change and name in hidden else "accepted" for name in names],
            "verified_by": [None] * 48 + ["r1"] * 48,
        }
    )
    table = pl.DataFrame({"stimulus": names, "question": ["valence"] * 48, "value": [level[n] for n in names]})
    return Snapshot.build(
        RATED,
        stimuli=stimuli.with_columns(pl.Series("published", [2 * level[name] - 1 for name in names]), placed["split"]),
        ratings=ratings,
        fields=fields,
        means=table.rename({"value": "mean"}),
        adjudications=table,
        ledger=pl.DataFrame(
            {"what": "item", "stimulus": names, "reason": [f"{level[n]}" for n in names], "stage": "s"}
        ),
    )


def compared(reverse: bool = False) -> Snapshot:
    """Pairs of stimuli, within and across parts; ``reverse`` turns around every choice that a test stimulus has a part in."""
    rng, stimuli = np.random.default_rng(5), made().stimuli.drop("published")
    placed = assigned(groups_of(stimuli, "prompt"), SPLIT)
    hidden = set(placed.filter(pl.col("split") == "test")["stimulus"])
    rows = []
    for at in range(400):
        first, second = (str(name) for name in rng.choice(stimuli["stimulus"].to_numpy(), 2, replace=False))
        won = bool(rng.integers(2)) ^ (reverse and bool({first, second} & hidden))
        rows += [(f"r{at % 5}", first, "better", float(won), f"t{at}", 1)]
        rows += [(f"r{at % 5}", second, "better", float(not won), f"t{at}", 2)]
    columns = ["rater", "stimulus", "question", "value", "trial", "place"]
    ratings = pl.DataFrame(rows, schema=columns, orient="row")
    return Snapshot.build(COMPARED, stimuli=stimuli, ratings=ratings)


@pytest.mark.slow
def test_a_comparison_is_held_out_if_either_of_its_stimuli_is() -> None:
    source = compared()
    first, second = hold_out(source, "test", SPLIT), hold_out(compared(reverse=True), "test", SPLIT)
    assert first.benchmark is not None
    assert second.benchmark is not None
    assert first.private.hash != second.private.hash
    assert first.snapshot.hash == second.snapshot.hash
    assert first.benchmark.hash == second.benchmark.hash
    hidden = first.to_predict["stimulus"].to_list()
    touched = source.ratings.filter(pl.col("stimulus").is_in(hidden).any().over("trial"))
    assert first.steps == second.steps
    assert first.steps[0].rows == len(set(hidden)), "not how many answers there were"
    assert first.snapshot.ratings.height == source.ratings.height - touched.height
    assert set(first.benchmark.choices["split"]) == {"train"}
    assert set(first.private.choices["split"]) == {"train", "test", None}


@pytest.mark.slow
def test_everything_public_is_the_same_whatever_was_said_about_the_part() -> None:
    results = [hold_out(made(change), "test", SPLIT) for change in (0.0, 2.0)]
    first, second = results
    assert first.private.hash != second.private.hash
    assert first.snapshot.hash == second.snapshot.hash
    assert first.benchmark is not None
    assert second.benchmark is not None
    assert first.benchmark.hash == second.benchmark.hash
    assert first.benchmark.notes == second.benchmark.notes
    assert first.steps == second.steps
    assert first.to_predict.equals(second.to_predict)


@pytest.mark.slow
def test_a_release_is_the_same_whatever_was_said_about_the_part(tmp_path: Path) -> None:
    """Every file of it, but for the keyed hash of the source, which is stated in three places."""
    files, hashes = [], []
    for at, change in enumerate((0.0, 2.0)):
        source, out = made(change), tmp_path / f"release{at}"
        key = None if at == 0 else tmp_path / "release0-private" / "key"
        publish(source, out, PublishOptions(hold_out="test", figures=False, key=key))
        files.append({path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.*")})
        hashes.append(json.loads(files[-1]["publication.json"])["source_hash"].encode())
    assert len(files[0]) > 30
    assert files[0].keys() == files[1].keys()
    for name in files[0].keys() - {"CHECKSUMS.sha256"}:
        first, second = (each[name].replace(own, b"") for each, own in zip(files, hashes, strict=True))
        assert first == second, name
    private = [load_benchmark(tmp_path / f"release{at}-private" / "benchmark") for at in (0, 1)]
    assert private[0].hash != private[1].hash


@pytest.mark.slow
def test_the_parts_are_complete_and_recorded(tmp_path: Path) -> None:
    source = made()
    result = hold_out(source, "test", SPLIT)
    hidden = set(result.to_predict["stimulus"])
    assert 6 < len(hidden) < 42
    assert {"c00", "c16"} <= hidden
    assert "c01" not in hidden
    public = result.snapshot
    assert public.stimuli.height == 48, "stimuli and media stay"
    for name in ("ratings", "means", "adjudications", "ledger", "traces"):
        assert not hidden & set(public.table(name)["stimulus"]), name
    assert public.ratings.height == 5 * (48 - len(hidden))
    inside = pl.col("stimulus").is_in(list(hidden))
    assert not public.fields.filter(inside).height
    copied = public.stimuli.filter(inside)
    for name in ("published", "tempo"):
        assert copied[name].null_count() == len(hidden), name
        assert public.stimuli[name].null_count() == len(hidden), name
    told = {(step.table, step.column) for step in result.steps}
    tables = {"ratings", "means", "adjudications", "fields", "ledger"}
    assert {(table, None) for table in tables} | {("stimuli", "published"), ("stimuli", "tempo")} <= told
    assert result.columns.names == ("stimulus", "prompt", "system", "split")
    # The private benchmark is that of the whole snapshot, and the public one is that of the rest with the same parts.
    assert result.private.hash == freeze(source, split=SPLIT).hash
    assert result.private.part("test").height == len(hidden)
    assert result.benchmark is not None
    written = load_benchmark(result.benchmark.write(tmp_path / "benchmark"))
    assert not written.part("test").height
    assert set(written.stimuli["stimulus"]) >= hidden
    train = written.items.sort("stimulus", "question")
    full = result.private.part("train").sort("stimulus", "question")
    assert train.equals(full)
    assert load_benchmark(result.private.write(tmp_path / "private")).hash == result.private.hash


def test_what_cannot_be_held_out() -> None:
    source = made()
    with pytest.raises(InputError, match="no part 'tset'"):
        hold_out(source, "tset", SPLIT)
    empty = SplitOptions(by="system", fixed={"s0": "train", "s1": "train", "s2": "dev"})
    with pytest.raises(InputError, match="no labels to hold out"):
        hold_out(source, "test", empty)
    every = SplitOptions(by="system", fixed=dict.fromkeys(("s0", "s1", "s2"), "test"))
    result = hold_out(source, "test", every, LabelOptions())
    assert result.benchmark is None
    assert result.why_no_benchmark
    assert not result.snapshot.ratings.height
