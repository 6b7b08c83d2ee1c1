"""The private folder and the key in it: the same key gives the same person the same pseudonym in every release.

Hashes of anything that is not published are keyed as well (:func:`keyed_hash`): a plain hash of few unknown values, such as ten
labels, can be found by trying them all.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import PRIVATE_FILE, PRIVATE_FOLDER, make_folders, write_text

_BYTES = 32
_LEAST_DIGITS = 32
PSEUDONYM = {"person": "p_", "trial": "t_", "set": "s_"}
KEYED = "hmac-sha256:"
"""How a keyed hash begins."""


def private_folder(out: Path, chosen: Path | None) -> Path:
    """The folder for what is never published, readable by its owner only; it is made if absent."""
    private = private_folder_of(out) if chosen is None else chosen
    _outside(private, out, "The private folder")
    try:
        make_folders(private, private=True)
        private.chmod(PRIVATE_FOLDER)
    except OSError as error:
        raise InputError(f"Cannot write to {private}: {error.strerror}.", "Choose another private folder.") from error
    return private


def private_folder_of(out: Path) -> Path:
    """Where what is private about a release lies unless another folder was chosen."""
    return out.with_name(f"{out.name}-private")


def _outside(path: Path, out: Path, label: str) -> None:
    if path.resolve() == out.resolve() or out.resolve() in path.resolve().parents:
        raise InputError(
            f"{label} {path} is inside {out}, which is to be published.", "Choose a place outside of that folder."
        )


def secret_key(out: Path, private: Path, chosen: Path | None) -> bytes:
    """The key in ``private``, or in a file of the researcher's own; a new one is made where there is none."""
    path = private / "key" if chosen is None else chosen
    _outside(path, out, "The key")
    if not path.exists():
        if chosen is not None:
            raise InputError(f"There is no key {chosen}.", "Leave the option out to have one made.")
        write_text(path, secrets.token_hex(_BYTES) + "\n", private=True)
    # A key that was copied from elsewhere may be readable by others.
    path.chmod(PRIVATE_FILE)
    return _key(path)


def read_key(private: Path) -> list[bytes]:
    path = private / "key"
    return [_key(path)] if path.is_file() else []


def _key(path: Path) -> bytes:
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    if len(text) < _LEAST_DIGITS or set(text.lower()) - set("0123456789abcdef"):
        raise InputError(
            f"{path} does not hold a key.", f"A key is {2 * _BYTES} hexadecimal digits; restore it, or remove the file."
        )
    return bytes.fromhex(text if len(text) % 2 == 0 else text[:-1])


def keyed_hash(key: bytes, purpose: str, digest: str) -> str:
    """A hash of something private that only the owner of the key can compute: HMAC-SHA256 of its plain hash.

    Every kind of value (``purpose``) has a key of its own, derived from the one in the private folder.
    """
    purpose_key = hmac.digest(key, f"heartfelt hash\0{purpose}".encode(), hashlib.sha256)
    return KEYED + hmac.digest(purpose_key, digest.encode(), hashlib.sha256).hex()


def refuse_inside(out: Path, source: Path, description: str) -> None:
    """Raise if a release would lie inside the folder it is made from: it would be read, published or deleted with it."""
    if source.is_dir() and (out.resolve() == source.resolve() or source.resolve() in out.resolve().parents):
        raise InputError(f"{out} is inside {source}, {description}.", "Choose a folder outside of it.")


def pseudonyms(key: bytes, kind: str, ids: Iterable[str]) -> pl.DataFrame:
    """``id, pseudonym`` of every id, each once: HMAC-SHA256 under the key, of which 80 bits are written."""
    names = list(dict.fromkeys(ids))
    start = f"heartfelt {kind}\0".encode()
    names_out = [
        PSEUDONYM[kind]
        + base64.b32encode(hmac.digest(key, start + name.encode(), hashlib.sha256)[:10]).decode().lower()
        for name in names
    ]
    if len(set(names_out)) < len(names_out):
        raise InputError(
            "Two ids have the same pseudonym under this key.", "Use another key; earlier releases will not match."
        )
    return pl.DataFrame({"id": names, "pseudonym": names_out}, schema={"id": pl.String, "pseudonym": pl.String})
