"""Publishing as a whole: what a folder holds, and what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study

STUDY = """
name: small
scales:
  v: {type: points, points: 9}
questions:
  - {id: valence, text: "How pleasant?", scale: v}
"""


def small(raters: int = 12, stimuli: int = 6) -> Snapshot:
    names = [f"person-{number:03d}" for number in range(raters)]
    rows = [
        (rater, f"s{place}", "valence", float(1 + (number * 3 + place) % 9))
        for number, rater in enumerate(names)
        for place in range(stimuli)
    ]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    media = pl.DataFrame({"stimulus": [f"s{place}" for place in range(stimuli)]})
    return Snapshot.build(parse_study(STUDY), stimuli=media, ratings=ratings)


def test_a_snapshot_is_published_and_loads(tmp_path: Path) -> None:
    published = publish(small(), tmp_path / "out", PublishOptions(analysis=False, layouts=()))
    again = heartfelt.load(tmp_path / "out" / "snapshot")
    assert again.hash == published.record.published_hash
    assert again.counts["ratings"] == 72
    assert not set(again.raters["rater"]) & set(small().raters["rater"])
    assert (tmp_path / "out-private" / "key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out-private").stat().st_mode & 0o777 == 0o700


def test_the_same_key_gives_the_same_pseudonyms(tmp_path: Path) -> None:
    options = PublishOptions(analysis=False, layouts=(), private=tmp_path / "mine")
    first = publish(small(), tmp_path / "one", options)
    second = publish(small(14), tmp_path / "two", options)
    names = set(first.release.snapshot.raters["rater"])
    assert names < set(second.release.snapshot.raters["rater"])
    other = publish(small(), tmp_path / "three", PublishOptions(analysis=False, layouts=()))
    assert not names & set(other.release.snapshot.raters["rater"])


@pytest.mark.parametrize("what", ["private", "key"])
def test_a_key_inside_of_what_is_published_is_refused(tmp_path: Path, what: str) -> None:
    inside = tmp_path / "out" / "key"
    options = PublishOptions(key=inside) if what == "key" else PublishOptions(private=inside)
    with pytest.raises(InputError, match="is to be published"):
        publish(small(), tmp_path / "out", options)
    assert not (tmp_path / "out").exists()
