"""Experiments leave out questions that cannot be learned in some part, and say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.streams import stream
from heartfelt.training.experiments import ExperimentOptions, prepare
from heartfelt.training.experiments.pool import StimulusPool
from tests.facts import mentions
from tests.training.studies import labelled


def values(count: int, seed: int = 1) -> list[float]:
    return [round(float(value), 2) for value in stream(seed, "values").uniform(2, 8, count)]


def pooled(folder: Path, *sources: Snapshot, by: str = "") -> StimulusPool:
    options = ExperimentOptions(recipe="digits", policy="none", features=folder / "features", by=by)
    return prepare([(f"s{at}", source) for at, source in enumerate(sources)], options).pool


def test_a_question_with_one_label_in_a_part_is_left_out_and_told(tmp_path: Path) -> None:
    flat = [5.0 if at % 2 else value for at, value in enumerate(values(48))]
    source = labelled(tmp_path / "media", values(48, 2), flat, systems=("A", "B"))
    pool = pooled(tmp_path, source, by="system")
    assert pool.questions == ("valence",)
    assert set(pool.truth) == set(pool.targets) == {"valence"}
    reason = "in B, every stimulus has the same label (5): there is nothing to tell apart"
    assert f"'valence-again' is left out: {reason}." in pool.notes


def test_parts_without_a_question_to_learn_are_refused(tmp_path: Path) -> None:
    flat = [5.0 if at % 2 else value for at, value in enumerate(values(48))]
    source = labelled(tmp_path / "media", flat, systems=("A", "B"))
    with pytest.raises(InputError, match=r"labels.*'valence'") as raised:
        pooled(tmp_path, source, by="system")
    assert "column with fewer values" in raised.value.fix


def test_what_was_left_out_of_a_source_is_in_the_notes(tmp_path: Path) -> None:
    first = labelled(tmp_path / "a", [float("nan"), *values(30)])
    pool = pooled(tmp_path, first, labelled(tmp_path / "b", values(30, 3)))
    assert mentions(pool.notes, "s0", "1 of 31 stimuli", "'valence'")


def test_sources_that_share_only_what_cannot_be_learned_are_told(tmp_path: Path) -> None:
    first = labelled(tmp_path / "a", values(30), [5.0] * 30)
    other = labelled(tmp_path / "b", [5.0] * 30, values(30))
    with pytest.raises(InputError, match=r"s0.*'valence-again'"):
        pooled(tmp_path, first, other)
