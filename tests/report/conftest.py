"""Small analyses of every kind, made once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.report import write_analysis
from tests import compared as made
from tests.analysis.emotions import emotion_snapshot
from tests.report import studies
from tests.screening.verifying import Panel, verified_panel

FEW = AnalyzeOptions(resamples=100)


@pytest.fixture(scope="session")
def conveyance(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Two axes with references, tones to play, careless raters among them."""
    return analyze(studies.conveyance(tmp_path_factory.mktemp("tones")), FEW)


@pytest.fixture(scope="session")
def opinion() -> Analysis:
    """Scores without references, by two groups of raters."""
    return analyze(studies.opinion(), AnalyzeOptions(resamples=100, by="language"))


@pytest.fixture(scope="session")
def presence() -> Analysis:
    """Ordered categories."""
    return analyze(studies.presence(), FEW)


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Traces, with tones to play."""
    return analyze(studies.traced(tmp_path_factory.mktemp("clips")), FEW)


@pytest.fixture(scope="session")
def compared() -> Analysis:
    """Systems in pairs, with ties."""
    return analyze(made.arena(ties=0.1, order=0.4), FEW)


@pytest.fixture(scope="session")
def best_and_worst() -> Analysis:
    """Best and worst of four."""
    return analyze(made.sets_of_four("best-worst"), FEW)


@pytest.fixture(scope="session")
def graded() -> Analysis:
    """MUSHRA, with one careless listener."""
    return analyze(made.mushra(careless=1), FEW)


@pytest.fixture(scope="session")
def matched() -> Analysis:
    """ABX."""
    return analyze(made.abx(), FEW)


@pytest.fixture(scope="session")
def referenced() -> Analysis:
    """Ratings next to a reference."""
    return analyze(made.referenced(), FEW)


@pytest.fixture(scope="session")
def drafted() -> Analysis:
    """Drafts that people verified; one of them accepts everything."""
    return analyze(verified_panel(Panel(raters=10, images=24, fields=3, planted=0.15), 4), FEW)


@pytest.fixture(scope="session")
def written(conveyance: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the first analysis."""
    return write_analysis(conveyance, tmp_path_factory.mktemp("out") / "analysis")


@pytest.fixture(scope="session")
def page_data(written: Path) -> dict[str, Any]:
    """What the page's script is given."""
    html = (written / "report.html").read_text(encoding="utf-8")
    start = html.index(">", html.index('id="report-data"')) + 1
    results: dict[str, Any] = json.loads(html[start : html.index("</script>", start)])
    return results


@pytest.fixture(scope="session")
def emotional(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Emotions of images with tags, and a picture of each."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("pictures")
    snapshot = emotion_snapshot(media=folder)
    for place, name in enumerate(snapshot.stimuli["path"]):
        Image.new("RGB", (300, 200), (5 * place, 90, 200)).save(folder / name)
    (folder / "image-003.png").write_bytes(b"not an image")
    return analyze(snapshot, FEW)
