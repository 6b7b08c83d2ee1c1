"""A preview walks the real pages, says so on each, starts again at will, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import httpx
import pytest

from heartfelt.web.serve import preview
from tests.web.rater.studies import small_study


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def walk(address: str) -> str:
    """One visitor from the first page to the last; the ending."""
    with httpx.Client(base_url=address, follow_redirects=True, trust_env=False) as client:
        page = client.get("/")
        assert "Preview: nothing is stored." in page.text
        step = client.get("/rate/step").json()["step"]
        bodies = {"consent": {"agreed": True}, "demographics": {"answers": {"age": 30, "gender": "other"}}}
        while step["kind"] != "end":
            if step["kind"] == "trial":
                assert client.get(f"/media/{step['media']}").status_code == 200
                values = dict.fromkeys(step["questions"], 5)
                body = {"trial": step["trial"], "key": step["trial"], "values": values}
                step = client.post("/rate/answer", json=body).json()["then"]
            else:
                name = step["kind"] if step["kind"] in bodies else "ready"
                step = client.post(f"/rate/{name}", json=bodies.get(step["kind"], {})).json()["step"]
        assert client.get("/").text.count("screen-consent") == 1
        assert client.get("/rate/step").json()["step"]["kind"] == "consent", "a new visit starts again"
        assert client.get("/study", follow_redirects=False).status_code == 303
        return str(step["ending"])


@pytest.mark.slow
def test_a_preview_leaves_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_DATABASE", "sqlite:////nowhere/at/all.sqlite")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    folder = tmp_path / "study"
    small_study("aimoclips", folder, count=2, design={"ratings_per_item": 1})
    before = contents(folder)
    with preview(folder) as address:
        assert address.startswith("http://127.0.0.1:")
        for _ in range(3):
            assert walk(address) == "complete", "never full"
    assert contents(folder) == before
    assert not list(tmp_path.glob("heartfelt-preview-*"))
