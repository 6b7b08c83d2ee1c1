"""Images that are broken, huge, animated, turned or in odd colours, through the whole command."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from heartfelt.cli import main
from heartfelt.formats.study_folder.drafts import read_drafts
from heartfelt.study import load_study
from tests.facts import mentions
from tests.predictors.drafts.studies import STUDY, chat_spec, completion, filled
from tests.predictors.servers import Reply, serving

RED = (200, 30, 30)
PIXELS = STUDY.replace("id: light", "id: brightness").replace("id: things", "id: colour")
REFUSED = {"cut.jpg", "text.png", "empty.png", "huge.png", "deep.png"}


def write_images(media: Path) -> None:
    """One file of each kind, all red where they can be read."""
    media.mkdir(parents=True)
    plain = Image.new("RGB", (40, 20), RED)
    plain.save(media / "plain.png")
    plain.save(media / "photo.jpg", quality=95)
    content = (media / "photo.jpg").read_bytes()
    (media / "cut.jpg").write_bytes(content[: len(content) // 2])
    (media / "text.png").write_text("<svg onload='alert(1)'/>")
    (media / "empty.png").touch()
    (media / "huge.png").write_bytes(_png(20_000, 20_000))
    Image.new("RGB", (20_000, 3), RED).save(media / "wide.png")
    frames = [Image.new("RGB", (40, 20), (0, 0, shade)) for shade in (50, 200)]
    plain.save(media / "animated.gif", save_all=True, append_images=frames)
    plain.save(media / "animated.webp", save_all=True, append_images=frames, lossless=True)
    plain.convert("CMYK").save(media / "cmyk.jpg", quality=95)
    Image.new("I;16", (40, 20), 40_000).save(media / "deep.png")
    Image.new("RGBA", (40, 20), (*RED, 0)).save(media / "clear.png")
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.new("RGB", (40, 20), RED).save(media / "turned.jpg", exif=turned, quality=95)


def _png(width: int, height: int) -> bytes:
    """A PNG that claims this size in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    write_images(folder / "media")
    names = sorted(path.name for path in (folder / "media").iterdir())
    pl.DataFrame({"stimulus": names, "path": names}).write_csv(folder / "stimuli.csv")
    (folder / "study.yaml").write_text(PIXELS, encoding="utf-8")
    return folder


def test_pixels_of_every_image_that_people_can_see(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draft", str(folder), "--no-cache"]) == 1
    drafts = read_drafts(folder, load_study(folder))
    have = {(row[0], row[1]): row[2] for row in drafts.select("stimulus", "question", "value").iter_rows()}
    names = {path.name for path in (folder / "media").iterdir()}
    assert {stimulus for stimulus, _ in have} == names - REFUSED
    red = {"plain.png", "photo.jpg", "wide.png", "animated.gif", "animated.webp", "turned.jpg"}
    values = {name: float(have[name, "brightness"]) for name in names - REFUSED}
    assert all(abs(values[name] - values["plain.png"]) <= 0.02 for name in red)
    assert values["clear.png"] == 1.0
    assert have["clear.png", "colour"] == "white"
    why = pl.read_csv(folder / "drafts_ledger.csv")
    assert set(why["stimulus"]) == REFUSED
    assert why.height == 2 * len(REFUSED)
    reasons = dict(why.select("stimulus", "reason").iter_rows())
    assert "more than 89,478,485 pixels" in reasons["huge.png"]
    assert "no known image format" in reasons["text.png"]
    assert "mode I;16, not colours" in reasons["deep.png"]
    shown = capsys.readouterr()
    assert "10 drafts are missing" in shown.out
    assert mentions(shown.out, "machine", "caption, atmosphere, clutter")
    assert "Traceback" not in shown.err


def test_a_model_is_sent_what_people_see(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    seen: list[Image.Image] = []

    def look(request: dict[str, Any], _: int) -> Reply:
        url = request["messages"][1]["content"][0]["image_url"]["url"]
        seen.append(Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))))
        return completion(filled(request))

    with serving(look) as served:
        arguments = ["--field", "caption", "--with", chat_spec(served), "--no-cache", "--no-duplicates"]
        assert main(["draft", str(folder), *arguments]) == 1
    assert len(seen) == len(list((folder / "media").iterdir())) - len(REFUSED)
    assert {image.mode for image in seen} <= {"RGB", "L"}
    sizes = [image.size for image in seen]
    assert (20, 40) in sizes, "turned as its camera says"
    assert max(max(size) for size in sizes) == 2_048
    ledger = pl.read_csv(folder / "drafts_ledger.csv")
    assert set(ledger["stimulus"]) == REFUSED
