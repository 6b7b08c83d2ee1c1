"""The numbers on a bench's page and on the leaderboard are those of ``scores.json``."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.report.site import write_leaderboard
from tests.facts import mentions
from tests.report.pages import Cell, PageContent, Table, estimate, holds, number, p_value


class Bench:
    """A bench's folder: its page, and the numbers that belong on it."""

    def __init__(self, folder: Path) -> None:
        self.page = PageContent.read(folder / "report.html")
        self.said: dict[str, Any] = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
        self.items = pl.read_parquet(folder / "items.parquet")

    def scores(self, **where: Any) -> list[dict[str, Any]]:
        return [each for each in self.said["scores"] if all(each[key] == value for key, value in where.items())]

    def headline(self, task: dict[str, Any], model: str) -> dict[str, Any]:
        result, *_ = self.scores(task=task["id"], model=model, metric=task["headline"], aggregation="item")
        return result

    def title(self, metric: str) -> str:
        return str(self.said["metrics"][metric]["title"])


@pytest.fixture(scope="module")
def numbers(folder: Path) -> Bench:
    return Bench(folder)


@pytest.fixture(scope="module")
def sides(sided: Path) -> Bench:
    return Bench(sided)


def shown(table: Table, cells: list[Cell]) -> dict[str, Cell]:
    return dict(zip(table.columns, cells, strict=True))


def rank_range(rank: dict[str, Any]) -> str:
    if rank.get("beats_chance") is False:
        return "does not beat chance"
    if rank["best"] is None:
        return "–"
    return str(rank["best"]) if rank["best"] == rank["worst"] else f"{rank['best']}–{rank['worst']}"


@pytest.mark.slow
@pytest.mark.parametrize("which", ["numbers", "sides"])
def test_the_leaderboard_table(which: str, request: pytest.FixtureRequest) -> None:
    bench: Bench = request.getfixturevalue(which)
    for task in bench.said["tasks"]:
        table = bench.page.tables[f"{task['id'].replace('_', ' ')}: every model"]
        ranks = [rank for rank in bench.said["ranks"] if rank["task"] == task["id"]]
        ranks.sort(key=lambda rank: (rank["place"] is None, rank["place"] or 0))
        assert [cells[0].text for cells in table.rows] == [rank["model"] for rank in ranks]
        for cells, rank in zip(table.rows, ranks, strict=True):
            row, result = shown(table, cells), bench.headline(task, rank["model"])
            assert row["rank"].text == rank_range(rank)
            holds(row[bench.title(task["headline"])], result["with_failures"])
            covered = bench.said["coverage"][rank["model"]][task["id"]]
            assert row["answered"].text == f"{number(covered['answered'])} of {number(covered['items'])}"
            if covered["answered"] < covered["items"]:
                holds(row["on answered items only"], result["estimate"])
            else:
                assert row["on answered items only"].text == "the same"
            holds(row["over systems"], result["over_systems"])
            holds(row["chance"], result["chance"])
            share = row["share of the way from chance to the ceiling"]
            if rank.get("beats_chance") is False:
                assert share.text == "does not beat chance"
            else:
                holds(share, result["of_ceiling"])
            over = rank.get("over_systems") or {}
            assert row["rank for other systems"].text == rank_range({"best": None, "worst": None, **over})
            if task["kind"] == "numbers":
                (own,) = bench.scores(task=task["id"], model=rank["model"], metric="rmse", aggregation="item")
                holds(row[bench.title("rmse")], own["with_failures"])


@pytest.mark.slow
@pytest.mark.parametrize("which", ["numbers", "sides"])
def test_every_score(which: str, request: pytest.FixtureRequest) -> None:
    bench: Bench = request.getfixturevalue(which)
    for task in bench.said["tasks"]:
        table = bench.page.table(f"{task['id'].replace('_', ' ')}: every score")
        mine = bench.scores(task=task["id"])
        assert len(table.rows) == len(mine)
        for cells, each in zip(table.rows, mine, strict=True):
            row = shown(table, cells)
            assert (row["model"].text, row["metric"].text) == (each["model"], bench.title(each["metric"]))
            for column, key in (
                ("score, failures counted", "with_failures"),
                ("on answered items only", "estimate"),
                ("over systems", "over_systems"),
                ("chance", "chance"),
                ("ceiling", "ceiling"),
                ("share of the way from chance to the ceiling", "of_ceiling"),
            ):
                holds(row[column], each.get(key))


@pytest.mark.slow
def test_pairs_of_models(numbers: Bench) -> None:
    for task in numbers.said["tasks"]:
        pairs = [pair for pair in numbers.said["comparisons"] if pair["task"] == task["id"]]
        table = numbers.page.table(f"{task['id']}: for other clips like these")
        assert len(table.rows) == len(pairs) > 0
        for cells, pair in zip(table.rows, pairs, strict=True):
            assert cells[0].text == f"{pair['first']} − {pair['second']}"
            holds(cells[1], pair["difference"])
            assert cells[2].text == p_value(pair["p"]["value"])
            assert cells[3].text == p_value(pair["p_adjusted"])
            holds(cells[4], pair["difference_adjusted"])
            assert cells[5].text == ("yes" if pair["apart"] else "no")
            needed = pair["more_stimuli"]
            assert cells[6].text == (estimate(needed) if needed["value"] is None else number(int(needed["value"])))
        over = numbers.page.table(f"{task['id']}: for other systems")
        known = [pair for pair in pairs if pair["over_systems"]["difference"]["value"] is not None]
        assert len(over.rows) == len(known) > 0
        for cells, pair in zip(over.rows, known, strict=True):
            for start, key in ((1, "over_systems"), (5, "system_means")):
                part = pair[key]
                holds(cells[start], part["difference"])
                assert cells[start + 1].text == p_value(part["p"]["value"])
                assert cells[start + 2].text == p_value(part["p_adjusted"])
                assert cells[start + 3].text == ("yes" if part["apart"] else "no")


def test_slices_and_coverage(numbers: Bench) -> None:
    task = numbers.said["tasks"][0]
    mine = [
        entry
        for entry in numbers.said["slices"]
        if entry["task"] == task["id"] and entry["metric"] == task["headline"] and entry["column"] == "system"
    ]
    tables = [t for c, t in numbers.page.tables.items() if c == f"{numbers.title(task['headline'])} by system"]
    for each in mine:
        row = tables[-1].row(each["value"])
        assert row["items"].text == number(each["items"])
        assert each["model"] in row
    coverage = numbers.page.table("Coverage")
    for model, tasks in numbers.said["coverage"].items():
        for name, result in tasks.items():
            row = coverage.row(model, name)
            assert row["items"].text == number(result["items"])
            assert row["answered"].text == number(result["answered"])
            assert row["without label"].text == number(result["without_label"])
    assert coverage.row("poor", "valence")["why not answered"].text == "HTTP 500 (4)"


def test_the_verdict_gives_scores_ceiling_and_failures(numbers: Bench) -> None:
    task = numbers.said["tasks"][0]
    words = numbers.page.sections["verdict"]
    best = numbers.headline(task, "good <one>")
    assert f"good <one> has the best Pearson correlation (LCC), {estimate(best['with_failures'])}" in words
    assert f"The ceiling of these labels is {estimate(best['ceiling'])}" in words
    share = 100 * best["of_ceiling"]["value"]
    assert f"that is {share:.0f}% of the way from chance ({estimate(best['chance'])}) to it." in words
    poor = numbers.headline(task, "poor")
    assert mentions(words, "4 items", "36")
    assert estimate(poor["with_failures"]) in words
    assert f"on the 32 it answered it is {estimate(poor['estimate'])}." in words


def test_the_figure_of_the_leaderboard(numbers: Bench) -> None:
    for place, task in enumerate(numbers.said["tasks"]):
        (panel,) = numbers.page.data["figures"][f"leaderboard-{place}"]["panels"]
        for row in panel["rows"]:
            result = numbers.headline(task, row["label"].removesuffix(" (does not beat chance)"))["with_failures"]
            assert (row["value"], row["low"], row["high"]) == (result["value"], result["low"], result["high"])
            assert row["words"].split("\n")[1] == estimate(result, 2)
        values = [row["value"] for row in panel["rows"]]
        assert values == sorted(values, reverse=True)
        held = numbers.headline(task, "good <one>")
        at = [line["at"] for line in panel["lines"]]
        assert at == sorted(at)
        assert held["ceiling"]["value"] in at
        assert held["chance"]["value"] in at
        (shares,) = numbers.page.data["figures"][f"shares-{place}"]["panels"]
        for row in shares["rows"]:
            result = numbers.headline(task, row["label"].removesuffix(" (does not beat chance)"))["of_ceiling"]
            assert (row["value"], row["low"], row["high"]) == (result["value"], result["low"], result["high"])
        assert [(line["at"], line["label"]) for line in shares["lines"]] == [(0.0, "chance"), (1.0, "ceiling")]


def test_the_scatter_is_prediction_and_label(numbers: Bench) -> None:
    panel = numbers.page.data["figures"]["scatter-0"]["panels"][0]
    mine = numbers.items.filter(
        (pl.col("task") == "valence") & (pl.col("model") == panel["title"]) & pl.col("answered")
    )
    expected = {row["stimulus"]: (row["code"], row["truth"]) for row in mine.iter_rows(named=True)}
    assert {p["stimulus"]: (p["x"], p["y"]) for p in panel["points"]} == expected
    assert panel["diagonal"] is True


@pytest.mark.slow
def test_calibration_and_confusion(sides: Bench) -> None:
    detail = sides.said["details"][sides.said["tasks"][0]["id"]]["models"]["likely"]
    (panel,) = sides.page.data["figures"]["calibration-0"]["panels"]
    bins = [each for each in detail["calibration"]["bins"] if each["count"]]
    assert [(p["x"], p["y"], p["yl"], p["yh"]) for p in panel["points"]] == [
        (b["mean_probability"], b["share_true"]["value"], b["share_true"]["low"], b["share_true"]["high"]) for b in bins
    ]
    assert panel["note"] == f"error {estimate(detail['calibration']['error'])}"
    assert panel["links"] == [[k, k + 1] for k in range(len(bins) - 1)]
    confusion = next(p for p in sides.page.data["figures"]["confusion-0"]["panels"] if p["title"] == "likely")
    for cells, counts in zip(confusion["cells"], detail["confusion"]["matrix"], strict=True):
        total = sum(counts)
        for cell, count in zip(cells, counts, strict=True):
            assert cell["value"] == pytest.approx(count / total)
            assert cell["text"] == f"{100 * count / total:.0f}%"


def test_worst_misses_are_the_furthest_off(numbers: Bench) -> None:
    table = numbers.page.table("Worst misses")
    task = "arousal" if len([c for c in numbers.page.tables if c.startswith("Worst misses")]) == 1 else "valence"
    mine = numbers.items.filter((pl.col("task") == task) & pl.col("answered"))
    off = mine.with_columns((pl.col("code") - pl.col("truth")).abs().alias("off"))
    for model in ("good <one>", "poor", "flat"):
        worst = off.filter(pl.col("model") == model).sort("off", "stimulus", descending=[True, False]).head(10)
        listed = [shown(table, row) for row in table.rows if row[1].text == model]
        assert [row["stimulus"].text.removeprefix("▶") for row in listed] == worst["stimulus"].to_list()
        assert [row["off by"].value for row in listed] == [f"{value:.12g}" for value in worst["off"]]
        assert [row["label"].text for row in listed] == [number(value, 2) for value in worst["truth"]]


def test_how_it_was_made_names_confidence_seed_and_chance(numbers: Bench) -> None:
    words = numbers.page.sections["method"]
    options = numbers.said["options"]
    assert "Intervals are at 95%" in words
    assert f"resample {number(options['resamples'])} times at most (seed {options['seed']})" in words
    chance = numbers.headline(numbers.said["tasks"][0], "good <one>")["chance"]
    assert f"valence: chance is {estimate(chance)}" in words


@pytest.fixture(scope="module")
def site(folder: Path, sided: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of two benches, one in a folder with a name that is markup."""
    home = tmp_path_factory.mktemp("site")
    shutil.copytree(folder, home / "plain")
    shutil.copytree(sided, home / "a & <b>")
    return write_leaderboard(home)


@pytest.mark.slow
def test_the_site_ranks_as_its_file_says(site: Path) -> None:
    boards = json.loads((site / "leaderboard.json").read_text(encoding="utf-8"))["boards"]
    page = PageContent.read(site / "index.html")
    for board in boards:
        for task in board["tasks"]:
            table = page.tables[f"{task['id'].replace('_', ' ')}: every model"]
            ranks = {rank["model"]: rank for rank in board["ranks"] if rank["task"] == task["id"]}
            assert {cells[0].text for cells in table.rows} == set(ranks)
            for cells in table.rows:
                assert shown(table, cells)["rank"].text == rank_range(ranks[cells[0].text])
    assert page.facts["benches"] == "2"
    assert page.facts["sources"] == "2"
    assert page.facts["models"] == "5"


def test_names_are_text_on_the_site(site: Path) -> None:
    html = (site / "index.html").read_text(encoding="utf-8")
    assert "<b>" not in html.replace("<body>", "")
    assert "a &amp; &lt;b&gt;" in html
    assert sorted(path.name for path in (site / "runs").iterdir()) == ["a-b.html", "plain.html"]


def test_a_run_links_to_its_own_report_outside_the_site(site: Path) -> None:
    page = (site / "runs" / "a-b.html").read_text(encoding="utf-8")
    (link,) = re.findall(r'href="([^"]*report\.html)"', page)
    assert link == "../../a%20%26%20%3Cb%3E/report.html"


@pytest.mark.slow
def test_the_layout_of_scores_is_checked(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "old")
    path = tmp_path / "old" / "scores.json"
    answer = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**answer, "heartfelt_scores": 9}), encoding="utf-8")
    with pytest.raises(InputError, match="layout 9"):
        write_leaderboard(tmp_path)


@pytest.mark.slow
def test_hidden_folders_and_the_site_itself_are_not_runs(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "run")
    shutil.copytree(folder, tmp_path / ".hidden")
    site = write_leaderboard(tmp_path)
    shutil.copytree(folder, site / "inside")
    assert write_leaderboard(tmp_path) == site
    assert [path.name for path in (site / "runs").iterdir()] == ["run.html"]


def test_agreement_by_part_is_shown(numbers: Bench) -> None:
    parts = numbers.said["parts"]
    task = numbers.said["tasks"][0]["id"]
    worth = numbers.page.tables[f"{task}: worth in ratings"]
    rows = [row for row in parts["worth"] if row["task"] == task]
    assert [cells[0].text for cells in worth.rows] == [row["model"] for row in rows]
    for row, cells in zip(rows, worth.rows, strict=True):
        if row["ratings"]["value"] is not None:
            holds(cells[1], row["ratings"])
    biases = numbers.page.tables[f"{task}: bias by system"]
    expected = [
        (calibration["model"], system["system"], system["bias"])
        for calibration in parts["calibrations"]
        if calibration["task"] == task
        for system in calibration["systems"]
    ]
    assert [(cells[0].text, cells[1].text) for cells in biases.rows] == [row[:2] for row in expected]
    for row, cells in zip(expected, biases.rows, strict=True):
        holds(shown(biases, cells)["bias"], row[2])
    errors = numbers.page.tables[f"{task}: errors by part"]
    assert len(errors.rows) == sum(row["task"] == task for row in parts["errors"])
