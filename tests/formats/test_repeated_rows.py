"""Rows that share a key: advice that keeps every row which differs, and works when it is followed."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.formats.proposals.guided import UnclearTableError
from tests.facts import mentions

CATEGORIES = ("A", "D", "F")
MODALITIES = ("audio", "video", "audiovisual")


def crema(tmp_path: Path, *, numbered: bool, modality: bool) -> Path:
    """Votes on each clip in three modalities, told apart by a first column without a name, by a modality, or not at all."""
    rows = []
    for m, kind in enumerate(MODALITIES):
        for clip in range(4):
            votes = [(clip + m + k) % 4 for k in range(len(CATEGORIES))]
            row = {"": str(100_000 * m + clip + 1)} if numbered else {}
            row |= {**dict(zip(CATEGORIES, map(str, votes), strict=True)), "fileName": f"10{clip}_IEO"}
            row |= {"numResponses": str(sum(votes)), "meanLevel": f"{60 + m + clip / 10:.2f}"}
            rows.append(row | ({"modality": kind} if modality else {}))
    path = tmp_path / "votes.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


@pytest.mark.parametrize(
    ("columns", "advised"),
    [
        ({"numbered": True, "modality": False}, "column_1"),
        ({"numbered": False, "modality": True}, "fileName+modality"),
        ({"numbered": True, "modality": True}, "fileName+modality"),
    ],
)
def test_the_advice_keeps_every_modality(tmp_path: Path, columns: dict[str, bool], advised: str) -> None:
    path = crema(tmp_path, **columns)
    with pytest.raises(InputError, match=r"fileName.*'100_IEO'") as caught:
        heartfelt.read(path, "votes", categories=CATEGORIES)
    assert f'stimulus="{advised}"' in caught.value.fix
    assert "Keep one row" not in caught.value.fix
    snapshot = heartfelt.read(path, "votes", categories=CATEGORIES, stimulus=advised)
    assert snapshot.counts["stimuli"] == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "stimulus"),
    [({"numbered": True, "modality": False}, "column_1"), ({"numbered": False, "modality": True}, "fileName+modality")],
)
def test_counts_with_their_sum_are_recognised(tmp_path: Path, columns: dict[str, bool], stimulus: str) -> None:
    with pytest.raises(UnclearTableError) as caught:
        heartfelt.read(crema(tmp_path, **columns))
    proposal = caught.value.proposal
    assert (proposal.format, proposal.options) == ("votes", {"stimulus": stimulus, "categories": "A,D,F"})
    snapshot = heartfelt.read(crema(tmp_path, **columns), proposal.format, **proposal.options)
    assert snapshot.counts["stimuli"] == 12


def test_rows_that_nothing_tells_apart_are_not_to_be_removed(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        heartfelt.read(crema(tmp_path, numbered=False, modality=False), "votes", categories=CATEGORIES)
    assert mentions(caught.value.fix, "columns", 'stimulus="A+B"', "rows")


def test_copies_may_be_removed() -> None:
    frame = pl.DataFrame({"stimulus": ["a", "a", "b"], "joy": [1, 1, 2], "fear": [2, 2, 1]})
    with pytest.raises(InputError, match=r"row.*stimulus.*rows"):
        heartfelt.read(frame, "votes")


@pytest.mark.parametrize("format", ["means", "wide"])
def test_other_layouts_with_one_row_each(format: str) -> None:
    key, first = {"means": ("stimulus", "mean"), "wide": ("id", "valence_s1")}[format]
    frame = pl.DataFrame({key: ["a", "a"], "modality": ["x", "y"], first: [3.5, 4.0], "valence_s2": [1.0, 2.0]})
    options = {"id": "id"} if format == "wide" else {}
    with pytest.raises(InputError) as caught:
        heartfelt.read(frame, format, **options)
    setting = re.search(rf'{key}="(\w+\+\w+)"', caught.value.fix)
    assert setting is not None
    assert setting[1] == f"{key}+modality"
    assert heartfelt.read(frame, format, **{**options, key: setting[1]}).counts["stimuli"] == 2


def test_repeated_ratings_name_the_column_that_tells_them_apart() -> None:
    rows = [(f"r{r}", f"s{s}", kind, (r + s) % 5 + 1) for r in range(3) for s in range(4) for kind in MODALITIES]
    frame = pl.DataFrame(rows, schema=["rater", "clip", "modality", "value"], orient="row")
    with pytest.raises(InputError, match=r"12 ratings.*more") as caught:
        heartfelt.read(frame, "long", stimulus="clip", scale="1-5")
    assert mentions(caught.value.fix, "'modality'", 'stimulus="clip+modality"', 'repeat="order"')
    assert heartfelt.read(frame, "long", stimulus="clip+modality", scale="1-5").counts["ratings"] == 36


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("votes", {"categories": "a,b"}),
        ("means", {"mean": "m", "system": "maker"}),
        ("long", {"rater": "who", "value": "a", "system": "maker"}),
    ],
)
def test_a_column_may_be_named_like_a_role_that_another_plays(format: str, options: dict[str, str]) -> None:
    frame = pl.DataFrame(
        {"stimulus": ["x", "x"], "question": ["p", "q"], "system": ["s", "t"], "key": ["k", "l"], "maker": ["u", "v"]}
    ).with_columns(who=pl.lit("r"), a=pl.lit(1), b=pl.lit(2), m=pl.lit(2.5))
    assert heartfelt.read(frame, format, stimulus="key", **options).stimuli["stimulus"].to_list() == ["k", "l"]
