"""Rows about held-out stimuli by hand: comparisons, where the snapshot came from, and what is listed of media files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.labels import SplitOptions
from heartfelt.publishing.hiding.columns import _wins
from heartfelt.publishing.hiding.hold_out import hold_out
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import parse_study
from tests.facts import mentions
from tests.publishing.attacks import label_only, labels

COMPARED = parse_study(
    "name: t\nscales:\n  two: {type: choice}\nquestions:\n  - {id: better, text: B, scale: two}\n"
    "sets: {type: pair, rule: across-systems}\n"
)
PUBLISHED = SplitOptions(by="split", shares={"train": 0.75, "test": 0.25}, fixed={"train": "train", "test": "test"})


def pairs(*trials: tuple[str | None, str, str]) -> Snapshot:
    """One comparison per trial; ``a`` and ``b`` are the part 'train', ``c`` and ``d`` 'test'."""
    rows = [
        (rater, stimulus, "better", float(place == 1), f"t{at}", place)
        for at, (rater, *both) in enumerate(trials)
        for place, stimulus in enumerate(both, 1)
    ]
    texts = dict.fromkeys(("rater", "stimulus", "question", "trial"), pl.String)
    schema = {
        name: texts.get(name, pl.Float64) for name in ("rater", "stimulus", "question", "value", "trial", "place")
    }
    stimuli = pl.DataFrame({"stimulus": list("abcd"), "system": ["s", "t"] * 2, "split": ["train"] * 2 + ["test"] * 2})
    return Snapshot.build(COMPARED, stimuli=stimuli, ratings=pl.DataFrame(rows, schema=schema, orient="row"))


def test_comparisons_go_as_a_whole_also_where_nobody_is_named() -> None:
    result = hold_out(pairs(("r", "a", "b"), (None, "a", "c"), (None, "b", "a"), ("r", "c", "d")), "test", PUBLISHED)
    assert result.snapshot.ratings.select("trial", "stimulus").rows() == [
        ("t0", "a"),
        ("t0", "b"),
        ("t2", "b"),
        ("t2", "a"),
    ]


def test_a_part_without_any_comparison_cannot_be_held_out() -> None:
    with pytest.raises(InputError, match="no labels to hold out"):
        hold_out(pairs(("r", "a", "b")), "test", replace(PUBLISHED, fixed={"train": "train"}))
    assert hold_out(pairs(("r", "c", "d"), ("r", "a", "b")), "test", PUBLISHED).private.choices.height == 2


def test_what_is_published_comes_from_the_same_source_and_lists_facts_of_files(tmp_path: Path) -> None:
    columns: dict[str, Sequence[object]] = {
        "path": [f"{at}.wav" for at in range(40)],
        "found": [True] * 40,
        "duration": [1.0 + at * 7 % 13 for at in range(40)],
    }
    origin = Source(format="tables", name="x", media_root=tmp_path)
    raters = pl.DataFrame({"rater": ["somebody"]})
    source = label_only(labels(), columns=columns, source=origin)
    source = Snapshot.build(source.study, stimuli=source.stimuli, ratings=source.ratings, raters=raters, source=origin)
    result = hold_out(source, "test", PUBLISHED)
    assert result.snapshot.source == origin
    assert result.snapshot.raters["rater"].to_list() == ["somebody"]
    (listed,) = [step.about for step in result.steps if "columns" in step.settings]
    assert mentions(listed, "'test'", "stimulus, path, split, found and duration")
    (named,) = [
        step.about
        for step in hold_out(source, "test", PUBLISHED, columns=["duration"]).steps
        if "columns" in step.settings
    ]
    assert named.endswith("'test': stimulus, path, split, found and duration.")


def test_comparisons_without_labels_are_hidden_too() -> None:
    source = pairs(("r", "c", "d"), ("r", "d", "c"), ("s", "c", "d"), ("r", "a", "b"))
    source = Snapshot.build(
        COMPARED, stimuli=source.stimuli.with_columns(wins=pl.Series([1, 0, 2, 1])), ratings=source.ratings
    )
    private = hold_out(source, "test", PUBLISHED).private
    wins = {(row["stimulus"], row["split"]): row["label"] for row in _wins(private).iter_rows(named=True)}
    assert not private.items.height
    assert wins == {("a", "train"): 1.0, ("b", "train"): 0.0, ("c", "test"): 2 / 3, ("d", "test"): 1 / 3}
    with pytest.raises(InputError, match=r"test.*'wins'"):
        hold_out(source, "test", PUBLISHED, columns=["wins"])
