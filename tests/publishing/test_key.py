"""The private folder and its key: where they may be, what a key is, and what pseudonyms are made of."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.key import (
    KEYED,
    keyed_hash,
    private_folder,
    pseudonyms,
    read_key,
    refuse_inside,
    secret_key,
)

KEY = bytes(range(32))


def test_the_private_folder_lies_beside_the_release_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = private_folder(out, None)
    assert made == tmp_path / "out-private"
    assert made.stat().st_mode & 0o777 == 0o700
    chosen = private_folder(out, tmp_path / "a" / "b")
    assert chosen == tmp_path / "a" / "b"
    chosen.chmod(0o755)
    private_folder(out, chosen)
    assert chosen.stat().st_mode & 0o777 == 0o700
    for inside in (out, out / "private", out / "a" / ".." / "private"):
        with pytest.raises(InputError, match="is to be published"):
            private_folder(out, inside)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="Cannot write to"):
        private_folder(out, tmp_path / "file" / "private")


def test_a_key_is_made_once_and_read_again(tmp_path: Path) -> None:
    out, private = tmp_path / "out", private_folder(tmp_path / "out", None)
    first = secret_key(out, private, None)
    assert len(first) == 32
    assert secret_key(out, private, None) == first
    assert (private / "key").stat().st_mode & 0o777 == 0o600
    assert secret_key(out, tmp_path, private / "key") == first
    assert secret_key(tmp_path / "other", private_folder(tmp_path / "other", None), None) != first
    with pytest.raises(InputError, match="There is no key"):
        secret_key(out, private, tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
    with pytest.raises(InputError, match=r"The key .* is to be published"):
        secret_key(out, private, out / "key")


def test_a_folder_without_a_key_has_none(tmp_path: Path) -> None:
    assert read_key(tmp_path) == []
    assert read_key(tmp_path / "absent") == []
    (tmp_path / "key").write_text("ab" * 32 + "\n", encoding="utf-8")
    assert read_key(tmp_path) == [bytes.fromhex("ab" * 32)]


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    for text, good in (
        ("ab" * 16, True),
        ("AB" * 16 + "c", True),
        ("ab" * 15 + "c", False),
        ("xy" * 32, False),
        ("", False),
    ):
        path.write_text(f" {text}\n", encoding="utf-8")
        path.chmod(0o644)
        if good:
            assert secret_key(tmp_path / "out", tmp_path, path) == bytes.fromhex(text[:32])
            assert path.stat().st_mode & 0o777 == 0o600
        else:
            with pytest.raises(InputError, match="does not hold a key"):
                secret_key(tmp_path / "out", tmp_path, path)


def test_pseudonyms_are_keyed_by_kind_and_never_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pseudonyms(KEY, "person", ["ann", "bob", "ann"])
    assert table["id"].to_list() == ["ann", "bob"]
    digest = hmac.digest(KEY, b"heartfelt person\0ann", "sha256")[:10]
    assert table["pseudonym"][0] == "p_" + base64.b32encode(digest).decode().lower()
    assert pseudonyms(KEY, "trial", ["ann"])["pseudonym"][0].startswith("t_")
    assert pseudonyms(KEY, "set", ["ann"])["pseudonym"][0].startswith("s_")
    assert pseudonyms(bytes(32), "person", ["ann"])["pseudonym"][0] != table["pseudonym"][0]
    assert pseudonyms(KEY, "person", []).schema == {"id": pl.String, "pseudonym": pl.String}
    monkeypatch.setattr(hmac, "digest", lambda *_: bytes(32))
    with pytest.raises(InputError, match="same pseudonym"):
        pseudonyms(KEY, "person", ["ann", "bob"])


def test_a_keyed_hash_can_be_computed_by_hand_with_the_key() -> None:
    own = hmac.digest(KEY, b"heartfelt hash\0source snapshot", hashlib.sha256)
    assert keyed_hash(KEY, "source snapshot", "abc") == KEYED + hmac.digest(own, b"abc", hashlib.sha256).hex()


def test_a_release_lies_outside_of_its_source(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "table.csv").write_text("", encoding="utf-8")
    for out in (source, source / "out", source / "a" / "out", tmp_path / "other" / ".." / "source" / "out"):
        with pytest.raises(InputError, match="is inside"):
            refuse_inside(out, source, "which is to be published")
    for out in (tmp_path / "out", tmp_path / "source-out", tmp_path):
        refuse_inside(out, source, "which is to be published")
    refuse_inside(source / "table.csv" / "out", source / "table.csv", "which is a file")
    (tmp_path / "link").symlink_to(source)
    with pytest.raises(InputError, match="is inside"):
        refuse_inside(tmp_path / "link" / "out", source, "which is to be published")
