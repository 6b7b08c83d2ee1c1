"""A secret in every place of a sound or film: cleaning removes it and every sample stays."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tests.cases import check_all
from tests.media.metadata.planted_sounds import DATES, FILMS, PLAIN, SAMPLES, SOUNDS, UNPLAYABLE, ogg_pages
from tests.media.metadata.test_planted_pictures import cleaned, holds

from heartfelt.media.metadata import has_metadata


@check_all("name", SOUNDS)
def test_a_secret_is_gone_and_every_sample_is_there(tmp_path: Path, name: str) -> None:
    content = SOUNDS[name]()
    sent = cleaned(tmp_path / name, content)
    assert not holds(sent)
    assert b"Zq7-" not in sent
    before, rate = soundfile.read(io.BytesIO(PLAIN[Path(name).suffix]()))
    after, same = soundfile.read(io.BytesIO(sent))
    assert rate == same
    assert np.array_equal(before, after)
    clean = tmp_path / f"clean-{name}"
    clean.write_bytes(sent)
    assert not has_metadata(clean), "cleaning it once more changes nothing"


@pytest.mark.parametrize("name", UNPLAYABLE)
def test_pages_of_other_streams_stay(tmp_path: Path, name: str) -> None:
    content = UNPLAYABLE[name]()
    sent = cleaned(tmp_path / name, content)
    assert not holds(sent)
    assert ogg_pages(sent) == ogg_pages(content)
    start = ogg_pages(content)[-1][0]
    assert sent[start:] == content[start:]
    assert sent[:40] in content or sent[27:40] in content


@check_all("name", FILMS)
def test_a_secret_is_gone_and_every_offset_is_right(tmp_path: Path, name: str) -> None:
    content = FILMS[name]()
    sent = cleaned(tmp_path / name, content)
    assert not holds(sent)
    assert b"Zq7" not in sent.replace(b"Zq7t", b"")
    for date in DATES:
        assert struct.pack(">I", date) not in sent
    assert len(sent) == len(content) - (7 if name == "behind.m4a" else 0)
    assert sent.index(SAMPLES) == content.index(SAMPLES)
    for kind in (b"soun", b"vide", b"stsz", b"stsc", b"co64", b"elst", b"esds", b"avcC", b"dfLa", b"frma"):
        if name != "text-track.m4a":
            assert sent.count(kind) == content.count(kind)
    clean = tmp_path / f"clean-{name}"
    clean.write_bytes(sent)
    assert not has_metadata(clean), "cleaning it once more changes nothing"


def test_every_file_holds_the_secret_to_begin_with() -> None:
    scattered = {"behind.m4a", "wide-dates.m4a"}
    files = {**SOUNDS, **FILMS, **UNPLAYABLE}
    assert [name for name, build in files.items() if name not in scattered and not holds(build())] == []
