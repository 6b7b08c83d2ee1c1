"""Media are opened once: what was probed is remembered, and noticed when it changes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.web.studies import write_study

from heartfelt.errors import InputError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.media import probe as media
from heartfelt.media.probe import CACHE_FILE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = write_study(tmp_path / "study")
    old = time.time() - 3600
    for path in (home / "media").iterdir():
        os.utime(path, (old, old))
    return home


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were opened to be probed."""
    seen: list[str] = []
    probe = media.probe

    def watched(path: Path) -> Any:
        seen.append(path.name)
        return probe(path)

    monkeypatch.setattr(media, "probe", watched)
    return seen


def settle(folder: Path) -> None:
    """Let the cache hold no file that was changed just before."""
    cache = pl.read_parquet(folder / CACHE_FILE)
    cache.with_columns(pl.lit(None, pl.String).alias("hash")).write_parquet(folder / CACHE_FILE)


def test_the_second_time_nothing_is_opened(folder: Path, opened: list[str]) -> None:
    first = open_study(folder)
    assert len(opened) == 12
    messages: list[tuple[int, int]] = []
    second = open_study(folder, lambda _, done, total: messages.append((done, total)))
    assert len(opened) == 12
    assert second.stimuli.equals(first.stimuli)
    assert messages == [(12, 12)]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["longer", "same size", "same size and time", "gone", "broken"])
def test_a_change_is_noticed(folder: Path, opened: list[str], how: str) -> None:
    import soundfile

    before = open_study(folder).stimuli
    name = before["path"][0]
    path = folder / "media" / name
    status = path.stat()
    opened.clear()
    if how == "longer":
        soundfile.write(path, [0.1] * 4000, 8000)
    elif how == "gone":
        path.unlink()
    elif how == "broken":
        path.write_bytes(b"x" * status.st_size)
    else:
        content = bytearray(path.read_bytes())
        content[24:28] = (16000).to_bytes(4, "little")  # the sampling rate in the header
        path.write_bytes(bytes(content))
    if how == "same size and time":
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = open_study(folder)
    assert opened == [name]
    row = after.stimuli.filter(path=name).row(0, named=True)
    expected = {"longer": 0.5, "same size": 0.125, "same size and time": 0.125, "gone": None, "broken": None}
    assert row["duration"] == expected[how]
    assert (name.removesuffix(".wav") in after.missing_media) == (how in {"gone", "broken"})


def test_a_file_changed_in_the_moment_it_was_probed_is_compared_by_its_hash(folder: Path, opened: list[str]) -> None:
    """Within the grain of the clock size and times say nothing; the content does."""
    open_study(folder)
    cache = pl.read_parquet(folder / CACHE_FILE)
    assert cache["hash"].null_count() == 0, "the inode times are of just now"
    cache.with_columns(pl.lit("another").alias("hash")).write_parquet(folder / CACHE_FILE)
    opened.clear()
    open_study(folder)
    assert len(opened) == 12
    settle(folder)
    opened.clear()
    open_study(folder)
    assert opened == []


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"not parquet", None])
def test_a_cache_that_is_no_use(folder: Path, opened: list[str], content: bytes | None) -> None:
    open_study(folder)
    if content is None:
        pl.DataFrame({"path": ["x"]}).write_parquet(folder / CACHE_FILE)
    else:
        (folder / CACHE_FILE).write_bytes(content)
    opened.clear()
    open_study(folder)
    assert len(opened) == 12
    opened.clear()
    open_study(folder)
    assert opened == []


def test_a_path_out_of_the_folder_is_refused_though_it_is_cached(folder: Path) -> None:
    open_study(folder)
    text = (folder / "stimuli.csv").read_text(encoding="utf-8")
    (folder / "secret.wav").write_bytes(b"x")
    (folder / "stimuli.csv").write_text(text + "out,Quillbox,zestful,../secret.wav\n", encoding="utf-8")
    with pytest.raises(InputError):
        open_study(folder)
