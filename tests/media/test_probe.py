"""Media are found and probed; what is missing or broken is a reason, never an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.files import inside
from heartfelt.media.probe import find_media, probe, probe_stimuli


def test_audio_and_images(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros((8000, 2), np.float32), 16000)
    Image.new("RGB", (40, 30)).save(tmp_path / "b.png")
    sound, image = probe(tmp_path / "a.wav"), probe(tmp_path / "b.png")
    assert (sound.duration, sound.rate, sound.channels, sound.media_problem) == (0.5, 16000, 2, None)
    assert (image.width, image.height, image.media_problem) == (40, 30, None)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.wav", b"not audio", "not readable as audio"),
        ("b.png", b"not an image", "not readable as an image"),
        ("c.wav", b"", "empty"),
    ],
)
def test_broken_media_have_a_reason(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    facts = probe(tmp_path / name)
    assert facts.found
    assert reason in (facts.media_problem or "")


def test_missing_media_are_rows(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(800, np.float32), 8000)
    stimuli = pl.DataFrame({"stimulus": ["a", "b", "c"], "path": ["a.wav", "b.wav", None]})
    seen: list[tuple[int, int]] = []
    out = probe_stimuli(stimuli, tmp_path, "x", lambda _, done, total: seen.append((done, total)))
    assert out["found"].to_list() == [True, False, False]
    assert out["media_problem"].to_list() == [None, "file not found", "no path given"]
    assert seen[-1] == (3, 3)


def test_a_path_that_climbs_out_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'\.\./secret\.wav'.*leads"):
        probe_stimuli(pl.DataFrame({"stimulus": ["a"], "path": ["../secret.wav"]}), tmp_path, "stimuli.csv")


def test_two_files_of_one_stem_are_ambiguous(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "clip.wav").write_bytes(b"1")
    with pytest.raises(InputError, match=r"media.*files.*'clip'"):
        find_media(tmp_path)


def test_links_are_followed_as_in_a_hub_cache(tmp_path: Path) -> None:
    """A hub cache's snapshot is a folder of links to blobs beside it, without extensions."""
    blobs, root = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    blobs.mkdir()
    root.mkdir(parents=True)
    soundfile.write(blobs / "0123abcd", np.zeros(800), 8_000, format="WAV")
    (root / "a.wav").symlink_to(Path("..") / ".." / "blobs" / "0123abcd")
    (root / "linked").symlink_to(blobs)
    stimuli = pl.DataFrame({"stimulus": ["a", "b"], "path": ["a.wav", "linked/0123abcd"]})
    probed = probe_stimuli(stimuli, root, "table")
    assert probed["found"].to_list() == [True, True]
    assert inside(root, "a.wav", "table").suffix == ".wav"


@pytest.mark.parametrize(
    "path", ["../secret.wav", "a/../../secret.wav", "a/..", "/etc/passwd", "C:/x.wav", "..\\x.wav", "a\x00b"]
)
def test_a_table_cannot_name_what_is_outside(path: str, tmp_path: Path) -> None:
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "secret.wav").write_bytes(b"")
    with pytest.raises(InputError, match="leads out of"):
        inside(tmp_path / "root", path, "table")
