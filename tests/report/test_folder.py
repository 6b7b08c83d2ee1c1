from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.errors import InputError
from heartfelt.report import FIGURES, write_analysis
from heartfelt.report.analysis import flat, full_ledger
from heartfelt.report.charts import Chart
from heartfelt.serialization import to_json
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import AnyScale, Categories, Points
from heartfelt.study.study import Intent

pytestmark = pytest.mark.slow  # what they look at takes seconds to make

FILES = {"summary.json", "labels.csv", "raters.csv", "ledger.csv", "figures", "report.html"}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_folder_is_complete(written: Path, conveyance: Analysis) -> None:
    assert {path.name for path in written.iterdir()} == FILES
    drawn = {name for name in FIGURES if isinstance(FIGURES[name].chart(conveyance), Chart)}
    expected = {f"{name}.{kind}" for name in drawn for kind in ("pdf", "svg", "png", "csv")}
    assert {path.name for path in (written / "figures").iterdir()} == expected
    assert all(path.stat().st_size > 10 for path in (written / "figures").iterdir())


def test_the_summary_is_strict_json(written: Path, conveyance: Analysis) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    result = json.loads((written / "summary.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert result == to_json(conveyance.summary)


def test_tables_have_a_row_each(written: Path, conveyance: Analysis) -> None:
    assert len(rows_of(written / "labels.csv")) == conveyance.labels.height
    raters = rows_of(written / "raters.csv")
    assert {row["rater"] for row in raters} == set(conveyance.all_ratings.raters["rater"])


def test_the_ledger_says_who_why_and_by_which_statistic(written: Path, conveyance: Analysis) -> None:
    result = rows_of(written / "ledger.csv")
    flags = conveyance.panel.flags.filter("flagged")
    noticed = [row for row in result if row["left_out"] == "false"]
    assert flags.height == len(noticed) > 0
    for row in noticed:
        assert row["rater"]
        assert row["rule"]
        assert row["statistic"]
        assert row["reason"].endswith(".")


def test_a_dropped_rater_is_left_out_in_the_ledger_once() -> None:
    from tests.report import studies

    result = analyze(studies.conveyance(), AnalyzeOptions(policy="default", resamples=100))
    assert result.panel.dropped
    ledger = full_ledger(result)
    gone = ledger.filter(pl.col("left_out") & (pl.col("what") == "rater"))
    assert set(gone["rater"]) == set(result.panel.dropped)
    assert not set(ledger.filter(~pl.col("left_out"))["rater"]) & set(result.panel.dropped)


def test_a_folder_that_is_not_empty_is_left_alone(conveyance: Analysis, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        write_analysis(conveyance, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_nothing_is_left_when_writing_fails(
    conveyance: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("full disk")

    monkeypatch.setattr("heartfelt.report.analysis.render", fail)
    with pytest.raises(RuntimeError):
        write_analysis(conveyance, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_lists_become_words() -> None:
    table = flat(pl.DataFrame({"a": [["x", "y"], []], "b": [[1, 2], None], "c": [1, 2]}))
    assert table.to_dicts() == [{"a": "x; y", "b": "1; 2", "c": 1}, {"a": "", "b": None, "c": 2}]


POINTS = Points(type="points", points=9)
BARE = [{"stimulus": f"x{i}"} for i in range(6)]
FULL = [{"stimulus": f"x{i}", "system": "AB"[i % 2], "intent": "ab"[i // 2 % 2]} for i in range(6)]


def odd(
    stimuli: list[dict[str, str]],
    rows: list[tuple[str | None, str, str, float]],
    scale: AnyScale = POINTS,
    *,
    references: bool = True,
) -> Snapshot:
    study = Study(
        name="odd",
        scales={"s": scale},
        questions=[
            Question(id=name, text="?", scale="s", axis=name if references else None) for name in ("valence", "arousal")
        ],
        intents=[
            Intent(id="a", reference={"valence": 8, "arousal": 7}), Intent(id="b", reference={"valence": 2, "arousal": 3})
        ] if references else [],
    )  # fmt: skip
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return Snapshot.build(study, stimuli=pl.DataFrame(stimuli), ratings=table, source=Source(format="t", name="t"))


def grid(raters: int, value: float | None = None) -> list[tuple[str | None, str, str, float]]:
    return [
        (f"r{j}", f"x{i}", question, value if value is not None else float((i * 3 + j * 5) % 9 + 1))
        for i in range(6) for j in range(raters) for question in ("valence", "arousal")
    ]  # fmt: skip


BAD: dict[str, Callable[[], Snapshot]] = {
    "nothing was rated": lambda: odd(FULL, []),
    "one rating": lambda: odd(FULL, [("r", "x0", "valence", 5.0)]),
    "one rater": lambda: odd(FULL, grid(1)),
    "everyone agrees": lambda: odd(FULL, grid(3, 5.0)),
    "nobody answered one question": lambda: odd(FULL, [row for row in grid(3) if row[2] == "valence"]),
    "no systems and no intents": lambda: odd(BARE, grid(3)),
    "nobody knows who rated": lambda: odd(FULL, [(None, f"x{i}", "valence", float(i + 1)) for i in range(6)], references=False),
    "categories without an order": lambda: odd(
        FULL, [(r, s, q, v % 3) for r, s, q, v in grid(3)], Categories(type="categories", categories=["a", "b", "c"]),
        references=False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_poor_data_make_a_page_with_reasons(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # How figures are drawn is tested elsewhere; here it is the page that must stand.
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr("heartfelt.report.drawing.files.save", lambda *_: [])
    written = write_analysis(analyze(BAD[case](), AnalyzeOptions(resamples=100)), tmp_path / "out")
    html = (written / "report.html").read_text(encoding="utf-8")
    body = html[html.index("<body>") : html.index("<script")]
    assert "All conclusions" in body
    assert "nan" not in re.findall(r"\w+", body.casefold())
    assert ">None<" not in body
