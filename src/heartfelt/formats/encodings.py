"""The encoding of a text file: by its byte-order mark, by its bytes, or by what its letters suggest."""

from __future__ import annotations

import codecs
from pathlib import Path

_CHUNK = 1 << 24
_ENCODINGS = ["cp949", "cp932", "gb18030", "big5", "cp1252", "cp1250", "cp1251", "cp1253", "cp1254"]
_ENCODINGS += ["cp1255", "cp1256", "koi8_r"]
"""Encodings that spreadsheets and survey tools still write."""
_SAMPLE = 1 << 16
_ENOUGH_LETTERS = 4
"""Bytes outside ASCII below which an encoding cannot be detected."""


def detect_encoding(path: Path) -> str:
    """The encoding the file's letters outside ASCII suggest; Windows-1252 where it fits as well as another."""
    from charset_normalizer import from_bytes

    sample = b""
    with path.open("rb") as file:
        for line in file:
            if not line.isascii():
                sample += line
            if len(sample) > _SAMPLE:
                break
    foreign = sum(byte > 127 for byte in sample)
    matches = from_bytes(sample, cp_isolation=_ENCODINGS) if foreign >= _ENOUGH_LETTERS else None
    best = None if matches is None else matches.best()
    if matches is None or best is None:
        return "cp1252"
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    as_good = western is not None and (
        western.chaos <= best.chaos + 0.02 and western.coherence >= best.coherence - 0.05
    )
    return "cp1252" if as_good else str(best.encoding)


def bom_of(head: bytes) -> str | None:
    """The encoding that a byte-order mark at the beginning states; None without one."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None


def is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
