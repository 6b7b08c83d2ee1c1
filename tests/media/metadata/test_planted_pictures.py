"""A secret in every place of a picture: cleaning removes it and no pixel changes."""

from __future__ import annotations

import base64
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms, ImageSequence
from tests.cases import check_all
from tests.media.metadata.planted_pictures import PICTURES, SECRET

from heartfelt.media.metadata import has_metadata, read_range, without_metadata


def cleaned(path: Path, content: bytes) -> bytes:
    """What is published of a file."""
    path.write_bytes(content)
    pieces = without_metadata(path)
    return read_range(path, pieces, 0, pieces.size)


def inflated(content: bytes) -> Iterator[bytes]:
    """Every zlib stream in a file, wherever it begins."""
    for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", content):
        try:
            yield zlib.decompressobj().decompress(content[match.start() :], 1 << 20)
        except zlib.error:
            continue


def holds(content: bytes, secret: str = SECRET) -> bool:
    """Whether somebody who searches for a secret as text, in wide characters, base64 or compressed finds it."""
    texts = [secret.encode(), secret.encode("utf-16-le"), secret.encode("utf-16-be")]
    texts += [base64.b64encode(bytes(skipped) + secret.encode())[4:-4] for skipped in range(3)]
    return any(text in part for part in (content, *inflated(content)) for text in texts)


def frames(content: bytes) -> list[np.ndarray]:
    """The pixels of every frame or page."""
    with Image.open(io.BytesIO(content)) as image:
        return [np.asarray(frame.convert("RGBA")) for frame in ImageSequence.Iterator(image)]


def in_lab(content: bytes) -> np.ndarray | None:
    """The colours that the picture's profile describes."""
    with Image.open(io.BytesIO(content)) as image:
        if "icc_profile" not in image.info or image.mode not in {"RGB", "RGBA"}:
            return None
        shown = ImageCms.ImageCmsProfile(io.BytesIO(image.info["icc_profile"]))
        lab = ImageCms.createProfile("LAB")
        return np.asarray(ImageCms.profileToProfile(image.convert("RGB"), shown, lab, outputMode="LAB"))


@check_all("name", PICTURES)
def test_a_secret_is_gone_and_every_pixel_is_there(tmp_path: Path, name: str) -> None:
    content = PICTURES[name]()
    sent = cleaned(tmp_path / name, content)
    assert not holds(sent)
    before, after = frames(content), frames(sent)
    if name == "more-pictures.jpg":
        before = before[:1]  # of several pictures in a JPEG, browsers show the first
    assert len(before) == len(after)
    assert all(np.array_equal(first, second) for first, second in zip(before, after, strict=True))
    colours = in_lab(content) if "no-profile" not in name and "broken" not in name else None
    if colours is not None:
        shown = in_lab(sent)
        assert shown is not None
        assert np.array_equal(shown, colours), "the profile shows the same colours"
    with Image.open(io.BytesIO(content)) as old, Image.open(io.BytesIO(sent)) as new:
        turned = old.getexif().get(0x0112)
        assert new.getexif().get(0x0112) == turned
        assert new.mode == old.mode
        assert new.info.get("loop") == old.info.get("loop")
        assert new.info.get("duration") == old.info.get("duration")
    clean = tmp_path / f"clean-{name}"
    clean.write_bytes(sent)
    assert not has_metadata(clean), "cleaning it once more changes nothing"


def test_every_picture_holds_the_secret_to_begin_with() -> None:
    scattered = {"rows.bmp", "palette.bmp", "gap.bmp", "behind.avif", "thumbnail.jpg"}
    assert [name for name, build in PICTURES.items() if name not in scattered and not holds(build())] == []
