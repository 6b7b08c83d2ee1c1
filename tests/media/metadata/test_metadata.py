"""Every container that names its maker: the name is gone, what is heard and seen is the same, the file is untouched."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps, ImageSequence
from tests.cases import check_all
from tests.media.metadata.tagged import MARK, PICTURES, SOUNDS, m4a

from heartfelt.media.metadata import read_range, stripped
from heartfelt.media.metadata.images import only_orientation, orientation
from heartfelt.media.metadata.pieces import Pieces, Span


def serve_in_thread(path: Path) -> bytes:
    pieces = stripped(path)
    return read_range(path, pieces, 0, pieces.size)


@pytest.mark.parametrize("kind", SOUNDS)
def test_a_sound_loses_its_tags_and_nothing_else(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"clip.{kind}"
    SOUNDS[kind](path)
    before = path.read_bytes()
    assert MARK.encode() in before
    sent = serve_in_thread(path)
    assert MARK.encode() not in sent
    assert path.read_bytes() == before
    clean = tmp_path / f"clean.{kind}"
    clean.write_bytes(sent)
    first, rate = soundfile.read(path)
    second, same = soundfile.read(clean)
    assert (rate, len(first)) == (same, len(second))
    assert np.array_equal(first, second)
    with soundfile.SoundFile(clean) as file:
        assert MARK not in str(file.copy_metadata())


@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_loses_its_texts_and_keeps_its_turn(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"picture.{kind}"
    PICTURES[kind](path)
    before = path.read_bytes()
    assert MARK.encode() in before
    sent = serve_in_thread(path)
    assert MARK.encode() not in sent
    assert path.read_bytes() == before
    first, second = Image.open(io.BytesIO(before)), Image.open(io.BytesIO(sent))
    frames = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(first)]
    again = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(second)]
    assert len(frames) == len(again)
    assert all(np.array_equal(a, b) for a, b in zip(frames, again, strict=True))
    if kind != "gif":
        assert dict(second.getexif()) == {0x0112: 6}
        assert ImageOps.exif_transpose(second).size == ImageOps.exif_transpose(first).size == (32, 48)
    assert MARK not in str(second.info)


def test_an_m4a_keeps_every_offset(tmp_path: Path) -> None:
    path = tmp_path / "clip.m4a"
    m4a(path)
    before, sent = path.read_bytes(), serve_in_thread(path)
    assert len(sent) == len(before)
    assert MARK.encode() in before
    assert MARK.encode() not in sent
    assert b"\xda\x7e" not in sent, "no dates"
    assert sent.index(bytes(range(64))) == before.index(bytes(range(64)))
    assert sent.count(b"soun") == 1


def test_ogg_pages_have_right_checksums(tmp_path: Path) -> None:
    from heartfelt.media.metadata.ogg import checksum

    path = tmp_path / "clip.ogg"
    SOUNDS["oga"](path)
    sent, at, pages = serve_in_thread(path), 0, 0
    while at < len(sent):
        stop = at + 27 + sent[at + 26] + sum(sent[at + 27 : at + 27 + sent[at + 26]])
        page = sent[at : at + 22] + bytes(4) + sent[at + 26 : stop]
        assert checksum(page) == int.from_bytes(sent[at + 22 : at + 26], "little")
        at, pages = stop, pages + 1
    assert pages > 3


@pytest.mark.slow
@check_all("kind", [*SOUNDS, *PICTURES])
@check_all("cut", [1, 9, 30, 70, 200])
def test_a_damaged_file_is_sent_somehow(tmp_path: Path, kind: str, cut: int, caplog: pytest.LogCaptureFixture) -> None:
    """A rater whose clip does not play is told so by the page; the server has no opinion."""
    path = tmp_path / f"whole.{kind}"
    {**SOUNDS, **PICTURES}[kind](path)
    content = path.read_bytes()
    damaged = tmp_path / f"damaged.{kind}"
    damaged.write_bytes(content[:cut])
    with caplog.at_level(logging.ERROR):
        assert len(serve_in_thread(damaged)) <= max(cut + 64, len(content))
    damaged.write_bytes(content[: len(content) // 2] + bytes(40))
    assert len(serve_in_thread(damaged)) > 0


def test_an_unknown_file_is_sent_as_it_is_and_the_researcher_is_warned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "strange.bin"
    path.write_bytes(b"something else altogether")
    with caplog.at_level(logging.WARNING, logger="heartfelt.media.metadata"):
        assert serve_in_thread(path) == b"something else altogether"
    assert "metadata cannot be removed from a file of an unknown format" in caplog.text
    (tmp_path / "empty.wav").touch()
    assert serve_in_thread(tmp_path / "empty.wav") == b""


@pytest.mark.slow
@given(
    st.lists(st.one_of(st.binary(max_size=9), st.tuples(st.integers(0, 40), st.integers(0, 40))), max_size=6),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_ranges_of_pieces(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes | tuple[int, int]], start: int, stop: int
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "file"
    content = bytes(range(40))
    path.write_bytes(content)
    spans = [part if isinstance(part, bytes) else Span(min(part), max(part)) for part in parts]
    whole = b"".join(part if isinstance(part, bytes) else content[part.start : part.stop] for part in spans)
    pieces = Pieces.of(spans)
    assert pieces.size == len(whole)
    assert read_range(path, pieces, start, stop) == whole[start:stop]


@pytest.mark.parametrize("turned", range(2, 9))
def test_orientation_reads_back(turned: int) -> None:
    assert orientation(only_orientation(turned)) == turned
    assert orientation(b"II" + bytes(30)) is None
    assert orientation(b"nonsense") is None
