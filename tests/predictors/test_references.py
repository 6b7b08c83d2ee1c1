"""Where the reference of a stimulus comes from: a column, a hidden reference that was rated, the rule for sets."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from heartfelt.predictors import Case, cases
from heartfelt.predictors.measures.references import references_of
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.predictors.studies import snapshot

SETS = """
heartfelt: 1
name: codecs
media: audio
systems: [{id: original}, {id: low}, {id: high}, {id: bad}]
prompts: [{id: a, text: one}, {id: b, text: two}]
scales: {quality: {type: grade, low: 0, high: 100}}
questions: [{id: quality, text: "How good is it?", scale: quality}]
sets: {type: mushra, reference: original, anchors: [bad]}
design: {ratings_per_item: 1, minimum_ratings: 1}
"""


def with_stimuli(data: Snapshot, stimuli: pl.DataFrame) -> Snapshot:
    return Snapshot.build(data.study, stimuli=stimuli, ratings=data.scan_ratings(), source=data.source)


def with_column(folder: Path, values: list[str | None]) -> Snapshot:
    data = snapshot(folder, len(values))
    return Snapshot.build(
        data.study,
        stimuli=data.stimuli.with_columns(pl.Series("reference", values, pl.String)),
        ratings=data.scan_ratings(),
        source=data.source,
    )


def references(found: list[Case]) -> dict[str, str | None]:
    return {case.stimulus: case.reference.path.name if case.reference else None for case in found}


def test_a_column_names_a_stimulus_or_a_file(tmp_path: Path) -> None:
    data = with_column(tmp_path, ["clip_002.wav", "original.wav", "gone.wav", None])
    (tmp_path / "media" / "original.wav").write_bytes(b"sound")
    assert references(cases(data)) == {
        "clip_000.wav": "clip_002.wav",
        "clip_001.wav": "original.wav",
        "clip_002.wav": None,
        "clip_003.wav": None,
    }
    assert references(cases(snapshot(tmp_path / "without", 4))) == dict.fromkeys(
        [f"clip_00{at}.wav" for at in range(4)]
    )


def mushra(ratings: pl.DataFrame | None = None, sets: bool = True) -> Snapshot:
    study = parse_study(
        SETS if sets else SETS.replace("sets: {type: mushra, reference: original, anchors: [bad]}\n", ""), "codecs"
    )
    rows = [
        {"stimulus": f"{prompt}-{system}", "system": system, "prompt": prompt, "path": f"{prompt}-{system}.wav"}
        for prompt in "ab"
        for system in ("original", "low", "high", "bad")
    ]
    table = pl.DataFrame(rows)
    empty = pl.DataFrame(schema={"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64})
    return Snapshot.build(study, stimuli=table, ratings=empty if ratings is None else ratings)


def test_the_rule_for_sets_names_the_reference_of_every_member() -> None:
    found = references_of(mushra())
    assert found == {f"{p}-{s}": f"{p}-original.wav" for p in "ab" for s in ("original", "low", "high", "bad")}


def rated(references: dict[str, str]) -> pl.DataFrame:
    """One rater's trials; each has a hidden reference, a member and an anchor."""
    return pl.DataFrame([
        {"rater": "r", "stimulus": stimulus, "question": "quality", "value": 50.0}
        | {"trial": trial, "set": trial, "place": place, "role": role}
        for trial, reference in references.items()
        for place, (stimulus, role) in enumerate(
            [(reference, "hidden-reference"), ("a-low", "member"), (f"{trial}-bad", "anchor")], 1
        )
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": "a-original"}, {"a-low": "a-original.wav", "a-bad": "a-original.wav", "a-original": "a-original.wav"}),
        # Rated beside two different references, it has none.
        (
            {"a": "a-original", "b": "b-original"},
            {name: f"{name[0]}-original.wav" for name in ("a-bad", "a-original", "b-bad", "b-original")},
        ),
    ],
)  # fmt: skip
def test_the_hidden_reference_of_a_trial_is_the_reference_of_what_was_rated_beside_it(
    given: dict[str, str], expected: dict[str, str]
) -> None:
    assert references_of(mushra(rated(given), sets=False)) == expected


def test_a_part_of_a_study_whose_rule_makes_no_set_has_no_references() -> None:
    data = mushra()
    part = Snapshot.build(
        data.study,
        stimuli=data.stimuli.filter(pl.col("system") == "low"),
        ratings=data.scan_ratings(),
        source=data.source,
    )
    assert references_of(part) == {}
