"""The files of a set, seen by somebody who has all their bytes and headers: nothing says which is the hidden reference."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.formats.study_folder.set_plan import plan_sets
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.facts import mentions
from tests.media.test_padding import PICTURES, decoded
from tests.media.test_padding import write as write_media
from tests.web.conftest import SECRET

SYSTEMS = ("Reference", "Quillbox", "Marrowtone")


def write_study(folder: Path, suffixes: tuple[str, str, str], kind: str) -> Path:
    """One page with the clip of each system; the reference is presented openly and hidden among the others."""
    (folder / "media").mkdir(parents=True)
    rows = ["stimulus,system,prompt,path"]
    for number, (system, suffix) in enumerate(zip(SYSTEMS, suffixes, strict=True)):
        file = write_media(folder / "media", suffix, seed=number)
        if number == 1 and suffix in {"wav", "png"}:
            file.write_bytes(file.read_bytes() + bytes(number))  # tags or other leftovers
        rows.append(f"{system}_p,{system},p,{file.name}")
    scale: dict[str, Any] = {"type": "grade"} if kind == "mushra" else {"type": "choice"}
    study = {
        "heartfelt": 1,
        "name": "hidden",
        "media": "image" if suffixes[0] in PICTURES else "audio",
        "scales": {"scale": scale},
        "questions": [{"id": "quality", "text": "How good?", "scale": "scale"}],
        "design": {"ratings_per_item": 3, "practice": 0, "listening": "free"},
        "sets": {"type": kind, **({"reference": "Reference"} if kind == "mushra" else {})},
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def fetched(folder: Path) -> list[tuple[str, bytes, dict[str, str]]]:
    """Name, content and headers of every member of a rater's first set."""
    options = CollectOptions(seed=1, durable=False)
    with (
        Collection.open(folder, options=options) as collection,
        TestClient(
            create_app(collection, WebOptions(secret=SECRET)),
            base_url="http://study.test",
            raise_server_exceptions=False,
        ) as client,
    ):
        client.get("/")
        step = client.post("/rate/ready", json={}).json()["step"]
        out = []
        for member in step["members"]:
            address = f"/media/{member['media']}"
            whole = client.get(address)
            assert whole.status_code == 200
            part = client.get(address, headers={"range": "bytes=1000-2999"})
            assert (part.status_code, part.content) == (206, whole.content[1000:3000])
            head = client.head(address)
            assert head.headers["content-length"] == str(len(whole.content))
            assert client.get(address).content == whole.content, "the same each time it is asked for"
            assert client.get(address, headers={"if-none-match": whole.headers["etag"]}).status_code == 304
            assert client.get(address[:-8]).status_code == 404, "no name without the set can be made of it"
            out.append((member["media"], whole.content, dict(whole.headers)))
        return out


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["wav", "flac", "mp3", "ogg", "opus"])
def test_a_hidden_reference_cannot_be_told_by_its_bytes(tmp_path: Path, suffix: str) -> None:
    members = fetched(write_study(tmp_path / "s", (suffix, suffix, suffix), "mushra"))
    assert len(members) == 4, "the reference twice"
    check(members)
    sounds = [decoded(content, suffix) for _, content, _ in members]
    assert len(set(sounds)) == 3, "it is heard as it is"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "jpg", "webp"])
def test_pictures_of_a_set_have_one_size(tmp_path: Path, suffix: str) -> None:
    members = fetched(write_study(tmp_path / "s", (suffix, suffix, suffix), "pair"))
    assert len(members) == 2
    check(members)
    assert len({decoded(content, suffix) for _, content, _ in members}) == 2


@pytest.mark.slow
def test_headers_do_not_tell_formats_apart(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "s", ("flac", "mp3", "mp3"), "mushra")
    check(fetched(folder))
    plan = plan_sets(open_study(folder))
    assert plan is not None
    assert mentions(plan.warnings, "1 sets", "files")


def check(members: list[tuple[str, bytes, dict[str, str]]]) -> None:
    sizes = {len(content) for _, content, _ in members}
    assert len(sizes) == 1, sizes
    hashes = [hashlib.sha256(content).hexdigest() for _, content, _ in members]
    assert len(set(hashes)) == len(members), "equal files are not equal bytes"
    assert len({len(name) for name, _, _ in members}) == 1
    told = [
        {name: value for name, value in headers.items() if name not in {"etag", "date"}} for _, _, headers in members
    ]
    assert all(headers == told[0] for headers in told), told
    assert "last-modified" not in told[0]
    assert len({headers["etag"] for _, _, headers in members}) == len(members)
