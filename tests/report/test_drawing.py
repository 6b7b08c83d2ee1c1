from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heartfelt.analysis import Analysis
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.report import plot
from heartfelt.report.charts import Axis, Chart, Columns, HistogramBar
from heartfelt.report.drawing.files import FORMATS, save
from heartfelt.report.drawing.processes import drawing, waiting_helper
from heartfelt.report.figures import FIGURES


def bars(label: str) -> Chart:
    panel = Columns(
        label,
        Axis(label=label),
        Axis(label=label, low=0.0, high=2.0, ticks=(0, 1, 2)),
        (HistogramBar(label, 1.0, "#0072b2", label),),
    )
    return Chart(title=label, caption=f"{label}.", panels=[panel], rows=[{"label": label, "value": 1.0}])


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [("conveyance", "perceived-maps"), ("conveyance", "deviation-maps"), ("conveyance", "deviation-by-system"),
     ("conveyance", "ceiling"), ("conveyance", "confusion"), ("conveyance", "sensitivity"), ("conveyance", "reliability-by-raters"),
     ("opinion", "system-ranking"), ("presence", "agreement")],
)  # fmt: skip
def test_every_type_of_chart_can_be_drawn(kind: str, name: str, request: pytest.FixtureRequest) -> None:
    analysis: Analysis = request.getfixturevalue(kind)
    drawn = plot(analysis, name)
    assert drawn.axes
    drawn.canvas.draw()


def test_a_figure_without_data_gives_the_reason(opinion: Analysis) -> None:
    with pytest.raises(InputError, match=r"'slopes'.*perceived"):
        plot(opinion, "slopes")


@pytest.mark.slow
def test_the_usual_figure_depends_on_the_kind_of_study(conveyance: Analysis, opinion: Analysis) -> None:
    assert [axes.get_title() for axes in plot(conveyance).axes] == ["Brassline", "Pluckbox", "Sinewood"]
    assert [axes.get_title() for axes in plot(opinion).axes][:2] == ["impression", "alignment"]


@pytest.mark.slow
def test_a_notebook_shows_a_figure(opinion: Analysis) -> None:
    shown = plot(opinion, "ceiling")._repr_png_()  # type: ignore[attr-defined]  # what a notebook calls
    assert shown.startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_same_chart_gives_the_same_bytes(conveyance: Analysis, tmp_path: Path) -> None:
    chart = FIGURES["slopes"].chart(conveyance)
    assert isinstance(chart, Chart)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert save(chart, tmp_path / name, "slopes") == [f"slopes.{kind}" for kind in FORMATS]
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


@pytest.mark.slow
def test_files_carry_no_dates_and_fonts_that_can_be_edited(tmp_path: Path) -> None:
    save(bars("a"), tmp_path, "a")
    svg, pdf = (tmp_path / "a.svg").read_text(), (tmp_path / "a.pdf").read_bytes()
    assert "<dc:date>" not in svg
    assert "<text" in svg, "letters were turned into outlines"
    assert b"CreationDate" not in pdf
    assert b"/Type3" not in pdf
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("label", ["$x_1$ & \\alpha", "이 음악", "a" * 80, "<b>", ""])
def test_names_of_any_kind_are_drawn_as_they_are(label: str, tmp_path: Path) -> None:
    save(bars(label), tmp_path, "odd")
    svg = (tmp_path / "odd.svg").read_text(encoding="utf-8")
    if label.startswith("$"):
        assert "$x_1$ &amp; \\alpha" in svg


@pytest.mark.slow
def test_a_reader_s_own_settings_neither_matter_nor_change(tmp_path: Path) -> None:
    import matplotlib

    (tmp_path / "usual").mkdir()
    (tmp_path / "own").mkdir()
    save(bars("a"), tmp_path / "usual", "a")
    with matplotlib.rc_context({"font.size": 30.0, "axes.grid": True, "savefig.dpi": 20}):
        save(bars("a"), tmp_path / "own", "a")
        assert matplotlib.rcParams["font.size"] == 30.0
    assert digests(tmp_path / "usual") == digests(tmp_path / "own")


def test_an_unknown_figure_names_the_known_ones(opinion: Analysis) -> None:
    with pytest.raises(UnknownNameError, match="slopes"):
        plot(opinion, "slops")


def several() -> dict[str, Chart]:
    return {f"f{place}": bars(f"f{place}") for place in range(4)}


@pytest.mark.slow
def test_the_helper_draws_what_this_process_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (tmp_path / "both").mkdir()
    (tmp_path / "alone").mkdir()
    seen: list[int] = []
    with drawing(several(), tmp_path / "both", lambda _, done, __: seen.append(done)):
        pass
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with drawing(several(), tmp_path / "alone"):
        pass
    assert len(digests(tmp_path / "both")) == 16
    assert digests(tmp_path / "both") == digests(tmp_path / "alone")
    assert seen[-1] == 4


@pytest.mark.slow
def test_a_helper_started_before_draws_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with waiting_helper() as helper:
        assert helper is not None
        with drawing(several(), tmp_path / "both", helper=helper):
            pass
    with waiting_helper() as gone:
        assert gone is not None
        gone.kill()
        gone.wait()
        with drawing(several(), tmp_path / "alone", helper=gone):
            pass
    assert len(digests(tmp_path / "both")) == 16
    assert digests(tmp_path / "both") == digests(tmp_path / "alone")


def test_a_helper_that_gets_nothing_to_draw_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with waiting_helper() as helper:
        assert helper is not None
    assert helper.poll() is not None
    with waiting_helper(wanted=False) as helper:
        assert helper is None


@pytest.mark.slow
def test_a_helper_that_fails_is_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    real = subprocess.Popen

    def broken(command: list[str], **options: object) -> object:
        return real([sys.executable, "-c", "raise SystemExit(3)"])

    monkeypatch.setattr(subprocess, "Popen", broken)
    with drawing(several(), tmp_path):
        pass
    assert len(list(tmp_path.iterdir())) == 16


@pytest.mark.slow
def test_without_a_helper_this_process_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> object:
        raise OSError("no processes left")

    monkeypatch.setattr(subprocess, "Popen", none)
    with drawing(several(), tmp_path):
        pass
    assert len(list(tmp_path.iterdir())) == 16


def test_a_helper_does_not_outlive_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def slow(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        started.append(real([sys.executable, "-c", "import time; time.sleep(60)"]))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", slow)
    with pytest.raises(ValueError, match="the page"), drawing(several(), tmp_path):
        raise ValueError("the page could not be written")
    assert started[0].poll() is not None
