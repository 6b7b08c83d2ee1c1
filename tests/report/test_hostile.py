"""Names are text wherever they appear, missing numbers give their reason, and links say where they lead."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.report import write_analysis, write_overview
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import Points
from heartfelt.study.study import Intent, System
from tests.report.pages import PageContent

BAD = "</script><img src=x onerror=alert(1)>'\"&"


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures for print are tested elsewhere."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr("heartfelt.report.drawing.files.save", lambda *_: [])


def hostile(raters: int = 6) -> Snapshot:
    """A study in which every name a stranger can choose is markup."""
    systems = [f"{BAD}{place}" for place in range(2)]
    study = Study(
        name="bad",
        title=BAD,
        description=BAD,
        systems=[System(id=f"s{place}", name=name) for place, name in enumerate(systems)],
        intents=[
            Intent(id="up", reference={"valence": 8, "arousal": 7}),
            Intent(id="down", reference={"valence": 2, "arousal": 3}),
        ],
        scales={"s": Points(type="points", points=9)},
        questions=[Question(id=name, text=BAD, scale="s", axis=name) for name in ("valence", "arousal")],
    )
    stimuli = pl.DataFrame(
        [{"stimulus": f"{BAD}{k}", "system": f"s{k % 2}", "intent": ("up", "down")[k // 2 % 2]} for k in range(12)]
    )
    rows = [
        {
            "rater": f"{BAD}r{j}",
            "stimulus": f"{BAD}{k}",
            "question": question,
            "value": float((k * 3 + j * 5) % 9 + 1),
            "position": k,
        }
        for k in range(12)
        for j in range(raters)
        for question in ("valence", "arousal")
    ]
    return Snapshot.build(study, stimuli=stimuli, ratings=pl.DataFrame(rows), source=Source(format="t", name="t"))


class Attributes(HTMLParser):
    """The names of all attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  # the parser's own signature
        self.names.update(name for name, _ in attrs)


def harmless(html: str) -> None:
    pictures = re.findall(r"<img[^>]*>", html)
    assert all('src="figures/' in tag or 'id="player-image"' in tag for tag in pictures)
    assert html.count("<script") == html.count("</script>") == 2
    parser = Attributes()
    parser.feed(html)
    assert not [name for name in parser.names if name.startswith("on")]


@pytest.mark.slow
def test_markup_in_names_stays_text(tmp_path: Path) -> None:
    written = write_analysis(analyze(hostile(), AnalyzeOptions(resamples=100)), tmp_path / "out")
    html = (written / "report.html").read_text(encoding="utf-8")
    harmless(html)
    page = PageContent(html)
    assert f"{BAD}0" in page.table("Systems, with 95% intervals").texts("system")
    assert BAD in html.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'").replace("&#34;", '"').replace(
        "&amp;", "&"
    )
    listed: list[list[Any]] = page.data["stimuli"]["rows"]
    assert {row[0] for row in listed} == {f"{BAD}{k}" for k in range(12)}
    assert page.data["stimuli"]["names"]["s0"] == f"{BAD}0"


def test_markup_in_an_overview_stays_text(tmp_path: Path) -> None:
    html = write_overview(hostile(), tmp_path / "page.html").read_text(encoding="utf-8")
    harmless(html)
    assert "<title>&lt;/script&gt;&lt;img" in html


@pytest.mark.slow
def test_a_missing_number_gives_its_reason(tmp_path: Path) -> None:
    written = write_analysis(analyze(hostile(raters=1), AnalyzeOptions(resamples=100)), tmp_path / "out")
    summary = json.loads((written / "summary.json").read_text(encoding="utf-8"))
    page = PageContent.read(written / "report.html")
    held = summary["reliability"]["valence"]["alpha_interval"]
    assert held["value"] is None
    table = page.table("Reliability and ceiling")
    for row in table.rows:
        for cell in row[1:]:
            assert cell.text.startswith("none: ") or cell.value is not None
    assert table.row("Krippendorff's alpha (interval)")["valence"].text == f"none: {held['why_missing']}"
    absent = page.table("Not drawn")
    assert all(len(why) > 10 for why in absent.texts("why"))
    assert any("slopes" in names for names in absent.texts("figures")) or 'id="figure-slopes"' in page.html


def test_media_outside_the_folder_are_linked_by_quoted_relative_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.report import studies

    monkeypatch.setattr("heartfelt.report.layout.media.EMBED_AT_MOST", 10)
    snapshot = studies.conveyance(tmp_path / "my #1 tones")
    page = PageContent.read(write_overview(snapshot, tmp_path / "out" / "page.html"))
    name = snapshot.stimuli["stimulus"][0]
    assert page.data["media"][name] == f"../my%20%231%20tones/{name}.wav"


@pytest.mark.slow
def test_media_just_small_enough_are_put_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.report import studies

    snapshot = studies.conveyance(tmp_path / "tones")
    size = sum(path.stat().st_size for path in (tmp_path / "tones").iterdir())
    for limit, start in ((size, "data:audio/wav;base64,"), (size - 1, "tones/")):
        monkeypatch.setattr("heartfelt.report.layout.media.EMBED_AT_MOST", limit)
        page = PageContent.read(write_overview(snapshot, tmp_path / "page.html"))
        assert all(source.startswith(start) for source in page.data["media"].values())
