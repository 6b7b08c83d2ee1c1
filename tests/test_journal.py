"""Files of lines that only grow: what a killed process leaves, two writers, a full disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heartfelt.errors import InputError
from heartfelt.journal import GrowingFile


def test_lines_are_read_again_and_a_line_that_was_cut_off_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lines.jsonl"
    file = GrowingFile(path)
    file.append(b"one\ntwo\n")
    file.append(b"three\n", sync=False)
    file.close()
    with path.open("ab") as other:
        other.write(b"fo")
    file = GrowingFile(path)
    assert file.was_cut_off
    assert file.read_lines() == [b"one", b"two", b"three"]
    file.append(b"four\n")
    file.close()
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\n"
    file = GrowingFile(path)
    assert not file.was_cut_off
    file.close()


def test_one_writes_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="this system has no such locks")
    file = GrowingFile(tmp_path / "lines")
    with pytest.raises(InputError, match="Another run is writing"):
        GrowingFile(tmp_path / "lines")
    file.close()
    GrowingFile(tmp_path / "lines").close()


def test_what_does_not_reach_the_disk_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = GrowingFile(tmp_path / "lines")
    file.append(b"one\n")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            file.append(b"two\n")
    file.append(b"three\n")
    assert file.read_lines() == [b"one", b"three"]
    file.close()


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(InputError, match="Cannot write to"):
        GrowingFile(tmp_path / "file" / "lines")
