"""The numbers on the page are the numbers of ``summary.json``: value, interval and counts, table by table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from heartfelt.analysis import Analysis
from heartfelt.report import write_analysis
from tests.facts import mentions
from tests.report.pages import PageContent, Table, estimate, holds, number, p_value

SHOWN = {
    "alpha_interval": "Krippendorff's alpha (interval)",
    "alpha_ordinal": "Krippendorff's alpha (ordinal)",
    "icc1": "ICC(1), one rater",
    "icc1k": "ICC(1,k), mean of the raters",
    "icc2": "ICC(2,1), one rater",
    "icc2k": "ICC(2,k), mean of the raters",
    "icc3": "ICC(3,1), one rater",
    "icc3k": "ICC(3,k), mean of the raters",
    "split_half": "Split-half (Spearman-Brown)",
}
CEILING = {
    "correlation": "Ceiling of correlation",
    "rmse": "Floor of the error (RMSE)",
    "within_cells": "Ceiling of correlation within cells",
    "cell_means": "What bare cell means reach",
    "human": "What one rater reaches",
}
OF = {"signed": "signed deviation", "absolute": "absolute deviation", "value": "mean rating"}


@pytest.fixture(scope="module", autouse=True)
def undrawn() -> Any:
    """Pictures for print are tested elsewhere."""
    patch = pytest.MonkeyPatch()
    patch.setattr("os.cpu_count", lambda: 1)
    patch.setattr("heartfelt.report.drawing.files.save", lambda *_: [])
    yield
    patch.undo()


class Report:
    """A folder that was written: its page, and the numbers that belong on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.page = PageContent.read(folder / "report.html")
        self.summary: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))

    def table(self, start: str) -> Table:
        return self.page.table(start)

    def rows(self, part: str, **where: Any) -> list[dict[str, Any]]:
        return [row for row in self.summary[part] if all(row[key] == value for key, value in where.items())]


@pytest.fixture(scope="module")
def felt(written: Path) -> Report:
    return Report(written)


@pytest.fixture(scope="module")
def scored(opinion: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return Report(write_analysis(opinion, tmp_path_factory.mktemp("opinion") / "out"))


@pytest.fixture(scope="module")
def present(presence: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return Report(write_analysis(presence, tmp_path_factory.mktemp("presence") / "out"))


def test_facts_are_the_counts(felt: Report) -> None:
    counts = felt.summary["counts"]
    assert felt.page.facts["ratings"] == number(counts["answers"])
    assert felt.page.facts["trials"] == number(counts["ratings"])
    assert felt.page.facts["raters"] == number(counts["raters"])
    assert felt.page.facts["stimuli rated"] == f"{counts['rated']} of {counts['stimuli']}"
    assert felt.page.facts["systems"] == "3"
    assert felt.page.facts["intents"] == "12"
    assert felt.page.facts["policy"] == "flag-only"
    assert felt.page.facts["seed"] == "0"
    assert felt.page.facts["snapshot"] == felt.summary["hash"][:12]


@pytest.mark.slow
def test_facts_say_how_many_were_retained_of_how_many(conveyance: Analysis, tmp_path: Path) -> None:
    from heartfelt.analysis import AnalyzeOptions, analyze

    report = Report(
        write_analysis(analyze(conveyance.all_ratings, AnalyzeOptions(policy="default", resamples=100)), tmp_path / "o")
    )
    counts = report.summary["counts"]
    assert counts["raters_kept"] < counts["raters"]
    assert report.page.facts["raters"] == f"{counts['raters_kept']} of {counts['raters']}"
    assert report.page.facts["ratings"] == f"{counts['answers_kept']} of {counts['answers']}"
    assert report.page.facts["trials"] == f"{counts['ratings_kept']} of {counts['ratings']}"
    left = report.summary["screening"]["dropped_by_default"]
    assert f"The default policy excludes {len(left)}: {', '.join(left)}." in report.page.sections["raters"]


def test_reliability_and_ceilings(felt: Report) -> None:
    table = felt.table("Reliability and ceiling")
    assert table.columns == ["coefficient", "valence", "arousal"]
    known = {
        name: title
        for name, title in CEILING.items()
        if any(part["ceiling"][name]["value"] is not None for part in felt.summary["reliability"].values())
    }
    assert set(known) >= {"correlation", "rmse", "human"}
    assert table.texts("coefficient") == [*SHOWN.values(), *known.values()]
    for question in ("valence", "arousal"):
        part = felt.summary["reliability"][question]
        for name, title in SHOWN.items():
            holds(table.row(title)[question], part[name])
        for name, title in known.items():
            holds(table.row(title)[question], part["ceiling"][name])


def test_raters_needed_come_with_their_bounds(felt: Report) -> None:
    table = felt.table("Raters per item needed")
    for question in ("valence", "arousal"):
        part = felt.summary["reliability"][question]
        for target, column in (("0.7", "for .7"), ("0.8", "for .8"), ("0.9", "for .9")):
            needed, (low, high) = part["raters_needed"][target], part["raters_needed_between"][target]
            expected = f"{needed} ({low} to {high})" if high is not None else f"{low} or more, no upper bound"
            assert table.row(question)[column].text == expected


def test_variance_components_and_their_shares(felt: Report) -> None:
    table = felt.table("Variance of single ratings")
    for question in ("valence", "arousal"):
        part = felt.summary["reliability"][question]["variance_components"]
        for source in ("stimulus", "rater", "residual"):
            row = table.row(question, source)
            holds(row["variance"], part[source])
            assert row["share"].text == f"{100 * part[f'share_{source}']['value']:.1f}%"


def test_analyses_of_variance(felt: Report) -> None:
    table = felt.table("Analyses of variance")
    assert len(table.rows) == len(felt.summary["anova"]) > 4
    for cells, row in zip(table.rows, felt.summary["anova"], strict=True):
        shown = dict(zip(table.columns, (cell.text for cell in cells), strict=True))
        assert shown["question"] == row["outcome"]
        assert shown["of"] == OF[row["deviation"]]
        assert shown["effect"] == row["effect"].replace(":", " × ")
        assert shown["df"] == ", ".join(f"{d:,.0f}" for d in row["df"])
        assert shown["F"] == number(round(row["f"], 2))
        assert shown["p"] == p_value(row["p"])
        assert shown["η²"] == number(round(row["eta_squared"], 4))
        assert shown["ω²"] == number(round(row["omega_squared"], 4))
        assert shown["partial η²"] == estimate(row["partial_eta_squared"])


def test_pairwise_comparisons(felt: Report) -> None:
    tables = {caption: table for caption, table in felt.page.tables.items() if caption.startswith("Pairs of ")}
    families: dict[str, list[Any]] = {}
    for row in felt.summary["pairwise"]:
        families.setdefault(
            json.dumps([row[k] for k in ("factor", "outcome", "deviation", "method", "model")]), []
        ).append(row)
    assert len(tables) == len(families) > 1
    for (caption, table), rows in zip(tables.items(), families.values(), strict=True):
        _check_family(caption, table, rows)


def _check_family(caption: str, table: Table, rows: list[Any]) -> None:
    assert table.rows
    for cells, row in zip(table.rows, rows, strict=False):
        shown = dict(zip(table.columns, cells, strict=True))
        assert row["method"] in caption
        assert f"Pairs of {row['factor']}s, {row['outcome']} " in caption
        assert (shown["a"].text, shown["b"].text) == (row["a"], row["b"])
        assert shown["a less b"].text == estimate(
            {"value": row["difference"], "low": row["low"], "high": row["high"], "why_missing": "no reason given"}
        )
        assert shown["p"].text == p_value(row["p"])
        assert shown["significant"].text == ("yes" if row["significant"] else "no")


def test_mixed_models(felt: Report) -> None:
    table = felt.table("Mixed models of the single ratings")
    assert len(table.rows) == len(felt.summary["mixed"]) > 0
    for cells, row in zip(table.rows, felt.summary["mixed"], strict=True):
        shown = dict(zip(table.columns, cells, strict=True))
        assert shown["F"].text == number(round(row["f"], 2))
        assert shown["p"].text == p_value(row["p"])
        for column, source in (("variance of stimuli", "stimulus"), ("of raters", "rater"), ("residual", "residual")):
            holds(shown[column], row["variances"][source])


def test_ordinal_check(felt: Report) -> None:
    table = felt.table("Cumulative logit models")
    assert len(table.rows) == len(felt.summary["ordinal"]) > 0
    for cells, row in zip(table.rows, felt.summary["ordinal"], strict=True):
        shown = dict(zip(table.columns, cells, strict=True))
        assert shown["F"].text == number(round(row["f"], 2))
        assert shown["p"].text == p_value(row["p"])
        assert shown["p as numbers"].text == p_value(row["p_interval"])
        assert shown["pairs decided alike"].text == f"{row['pairs_alike']} of {row['pairs']}"


def test_systems_and_intents(felt: Report) -> None:
    table = felt.table("Systems, with 95% intervals")
    assert len(table.rows) == len(felt.summary["systems"]) == 6
    for row in felt.summary["systems"]:
        shown = table.row(row["system"], row["question"])
        for column, key in (
            ("mean", "mean"),
            ("deviation", "deviation"),
            ("absolute deviation", "absolute_deviation"),
            ("without rating noise", "absolute_deviation_corrected"),
        ):
            holds(shown[column], row[key])
        assert shown["stimuli"].text == number(row["n_stimuli"])
        assert shown["ratings"].text == number(row["n_ratings"])
    table = felt.table("Intents, with 95% intervals")
    assert len(table.rows) == len(felt.summary["intents"]) == 24
    for row in felt.summary["intents"]:
        shown = table.row(row["intent"], row["question"])
        assert shown["reference"].text == number(row["reference"])
        for column, key in (("mean", "mean"), ("deviation", "deviation"), ("absolute deviation", "absolute_deviation")):
            holds(shown[column], row[key])


def test_overlap_of_ellipses(felt: Report) -> None:
    table = felt.table("Overlap of the 95% ellipses")
    assert len(table.rows) == len(felt.summary["overlap"]) > 0
    assert set(table.texts("a")) <= {"HVHA", "LVHA", "LVLA", "HVLA"}
    for cells, row in zip(table.rows, felt.summary["overlap"], strict=True):
        assert cells[0].text == row["system"]
        holds(cells[3], row["overlap"])


def test_flags_are_those_of_the_panel(felt: Report, conveyance: Analysis) -> None:
    table = felt.table("Flags, the rater with the most evidence first")
    flags = conveyance.panel.flags.filter("flagged").drop_nulls("rater")
    assert len(table.rows) == flags.height
    order = [name for name in conveyance.panel.ranking["rater"].to_list() if name in set(flags["rater"])]
    assert list(dict.fromkeys(table.texts("rater"))) == order
    for row in flags.iter_rows(named=True):
        (shown,) = [
            cells
            for cells in (dict(zip(table.columns, r, strict=True)) for r in table.rows)
            if (cells["rater"].text, cells["rule"].text, cells["question"].text)
            == (row["rater"], row["rule"], row["question"] or "–")
            and cells["in words"].text == row["words"]
        ]
        assert shown["value"].text == ("–" if row["value"] is None else number(row["value"]))
        assert shown["limit"].text == ("–" if row["threshold"] is None else number(row["threshold"]))
        assert shown["p"].text == p_value(row["p"])


def test_rules_say_how_many_they_judged_and_flagged(felt: Report) -> None:
    table = felt.table("Rules of the policy 'flag-only'")
    rules = felt.summary["screening"]["rules"]
    assert table.texts("rule") == [rule["rule"] for rule in rules.values()]
    for rule in rules.values():
        shown = table.row(rule["rule"])
        assert shown["raters judged"].text == number(rule["judged"])
        assert shown["flagged"].text == number(rule["flagged"])
        assert shown["then"].text == rule["action"]
        assert shown["not judged"].text == (number(rule["not_judged"]) if rule["not_judged"] else "–")


def test_screening_in_a_sentence(felt: Report) -> None:
    words = felt.page.sections["raters"]
    screening = felt.summary["screening"]
    total = felt.summary["counts"]["raters"]
    controlled = {name for name, rule in screening["rules"].items() if rule["error_controlled"]}
    with (felt.folder / "ledger.csv").open(newline="") as lines:
        flagged = {row["rater"] for row in csv.DictReader(lines) if row["rule"] in controlled}
    assert f"{len(flagged)} of {total} raters are flagged by a rule with error control." in words
    together = sum(map(len, screening["collusion"]))
    count = len(screening["collusion"])
    assert f"{count} group{'s' * (count > 1)} of raters ({together} raters) answered in parallel" in words
    left = screening["dropped_by_default"]
    assert f"The default policy excludes {len(left)}: {', '.join(left)}." in words


def test_with_and_without_the_flagged_raters(felt: Report) -> None:
    table = felt.table("Headline figures")
    assert len(table.rows) == len(felt.summary["sensitivity"])
    for cells, row in zip(table.rows, felt.summary["sensitivity"], strict=True):
        shown = dict(zip(table.columns, cells, strict=True))
        for column, key in (("all raters", "with_all"), ("without them", "without")):
            if isinstance(row[key], dict):
                holds(shown[column], row[key])
            else:
                assert shown[column].text == ("–" if row[key] is None else number(row[key]))
    a, b = (felt.summary["sensitivity_counts"][side] for side in ("with_all", "without"))
    words = "; ".join(
        f"{number(b[key])} of {number(a[key])} {key}" for key in ("raters", "answers", "stimuli", "labels")
    )
    assert f"Without the raters flagged by the default policy: {words}." in felt.page.sections["raters"]


def test_held_out_agreement(felt: Report) -> None:
    table = felt.table("Agreement on held-out stimuli")
    assert f"({' and '.join(map(str, felt.summary['crossfit']['left_out']))} excluded)" in table.caption
    for cells, row in zip(table.rows, felt.summary["crossfit"]["questions"], strict=True):
        shown = dict(zip(table.columns, cells, strict=True))
        (same,) = felt.rows("sensitivity", question=row["question"], figure=row["figure"])
        holds(shown["all raters"], same["with_all"])
        holds(shown["without"], same["without"])
        for column, key in (("all raters, held out", "with_all"), ("without, held out", "without")):
            if isinstance(row[key], dict):
                holds(shown[column], row[key])
            else:
                assert shown[column].text == number(row[key])


def test_pairs_that_change(felt: Report) -> None:
    table = felt.table("Significant pairs")
    assert len(table.rows) == len(felt.summary["sensitivity_pairs"]) > 0
    for cells, row in zip(table.rows, felt.summary["sensitivity_pairs"], strict=True):
        shown = dict(zip(table.columns, (cell.text for cell in cells), strict=True))
        assert shown["pairs"] == number(row["pairs"])
        assert shown["differ, all raters"] == number(row["with_all"])
        assert shown["differ, without"] == number(row["without"])
        changed = [*row["only_with_all"], *row["only_without"]]
        assert shown["pairs that change"] == ("; ".join(" and ".join(pair) for pair in changed) or "–")


def test_groups_of_raters(scored: Report) -> None:
    result = scored.summary["by"]
    assert mentions(scored.page.sections["rater-groups"], "7 raters", "German")
    table = scored.table("Each group by itself")
    assert len(table.rows) == len(result["rows"]) == 4
    for row in result["rows"]:
        shown = table.row(row["question"], row["group"])
        assert (shown["raters"].text, shown["ratings"].text) == (number(row["n_raters"]), number(row["n_ratings"]))
        for column, key in (
            ("mean", "mean"),
            ("alpha", "alpha"),
            ("ICC(2,1), one rater", "icc2"),
            ("ICC(2,k)", "icc2k"),
        ):
            holds(shown[column], row[key])
    for title, rows in (
        ("Differences between groups on", [r for r in result["differences"] if r["system"] == "all"]),
        ("Differences by system", [r for r in result["differences"] if r["system"] != "all"]),
    ):
        table = scored.table(title)
        assert len(table.rows) == len(rows) > 0
        for cells, row in zip(table.rows, rows, strict=True):
            shown = dict(zip(table.columns, cells, strict=True))
            assert (shown["a"].text, shown["b"].text) == (row["a"], row["b"])
            holds(shown["a less b"], row["difference"])
            assert shown["p (Holm)"].text == p_value(row["p"])


def test_agreement_on_categories(present: Report) -> None:
    table = present.table("Agreement, with 95% intervals")
    titles = {
        "alpha_ordinal": "Krippendorff's alpha (ordinal)",
        "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
        "fleiss_kappa": "Fleiss' kappa",
        "cohen_kappa": "Cohen's kappa, mean of pairs",
        "gwet_ac1": "Gwet's AC1",
        "gwet_ac2": "Gwet's AC2",
        "exact_agreement": "All raters agree",
        "pairwise_accuracy": "Accuracy between two raters",
        "pairwise_balanced_accuracy": "Balanced accuracy between two raters",
        "leave_one_out": "One rater against the majority of the others",
    }
    assert table.columns == ["question", *titles.values()]
    for question in ("joy", "pride"):
        for name, title in titles.items():
            holds(table.row(question)[title], present.summary["agreement"][question][name])
    for name, row in present.summary["agreement_pooled"].items():
        holds(table.row(f"all: {name}")["Fleiss' kappa"], row["fleiss_kappa"])


def test_labels_by_what_is_known_of_the_items(present: Report) -> None:
    table = present.table("Labels of all items")
    (row,) = present.summary["breakdown"]["all"]
    (cells,) = table.rows
    shown = dict(zip(table.columns, cells, strict=True))
    for column, key in (
        ("items", "n_items"),
        ("ratings", "n_ratings"),
        ("labels", "n_labels"),
        ("ties", "n_ties"),
        ("single rater", "n_single"),
    ):
        assert shown[column].text == number(row[key])
    holds(shown["present"], row["present"])
    holds(shown["unanimous"], row["unanimous"])


def test_the_list_of_stimuli_is_the_labels(felt: Report) -> None:
    listed = felt.page.data["stimuli"]
    with (felt.folder / "labels.csv").open(newline="") as lines:
        labels = {(row["stimulus"], row["question"]): row for row in csv.DictReader(lines)}
    names = [column["label"] for column in listed["columns"]]
    assert names == ["stimulus", "system", "intent", "valence", "sd", "raters", "arousal", "sd", "raters"]
    assert listed["total"] == len(listed["rows"]) == 36
    for row in listed["rows"]:
        for at, question in ((3, "valence"), (6, "arousal")):
            label = labels[row[0], question]
            assert row[at] == pytest.approx(float(label["value"]), abs=5e-4)
            assert row[at + 1] == pytest.approx(float(label["sd"]), abs=5e-4)
            assert row[at + 2] == int(label["n"])


def test_sentences_of_the_analysis_are_on_the_page(felt: Report) -> None:
    first, *sentences = felt.summary["verdict"]
    assert first in felt.page.sections["verdict"]
    for sentence in sentences:
        assert sentence in felt.page.sections["conclusions"]
    for key in ("methods", "results"):
        for paragraph in felt.summary[key].split("\n\n"):
            assert paragraph.strip() in felt.page.sections["paper"]
    for note in felt.summary["notes"]:
        assert note in felt.page.sections["conclusions"]


def test_a_table_of_the_figure_prints_the_numbers_drawn(felt: Report) -> None:
    table = felt.table("Deviation by system: the numbers")
    for row in felt.summary["systems"]:
        shown = table.row(row["question"], row["system"])
        for column, key in (("deviation", "value"), ("low", "low"), ("high", "high")):
            assert shown[column].text == number(row["deviation"][key])
            assert shown[column].value == f"{row['deviation'][key]:.12g}"
