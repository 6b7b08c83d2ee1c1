"""emolia-bench's file set from a hand-made data set: every row and figure below was worked out by hand."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.datasets.emolia.bench.material import EmoliaOptions
from heartfelt.datasets.emolia.layout import write_emolia
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot, load
from heartfelt.study import parse_study
from tests.datasets.emolia_data import dim, emo
from tests.facts import mentions

SOURCE = "hand calculation from the votes in emolia_data.py; columns as emolia-bench's own files have them"

EMO_HEADER = (
    "file_name,queried_emotion,task_type,source_emotion,usernames,reaction_time_ms_mean,reaction_time_ms_median,"
    "sample_time_ms_mean,majority_rating_int,majority_rating_votes,majority_rating_tie,majority_present,"
    "majority_present_votes,majority_present_tie,strongly_present_votes,weakly_present_votes,not_present_votes,"
    "majority_rating,all_agree_binary,all_agree_ordinal,intended_present,matches_intended_label,benchmark_bucket,n_raters"
)
EMO_ROWS = """\
f5.mp3,Awe,affirmative,Awe,ann|bea|cem|dov,3000.0,2500.0,6000.0,0,2,False,0,2,True,1,1,2,not_present,False,False,1,,tied,4
f6.mp3,Awe,penultimate,Pain,ann|bea|cem,2000.0,2000.0,6000.0,0,3,False,0,3,False,0,0,3,not_present,True,True,0,True,unanimous_absent,3
f4.mp3,Awe,ultimate,Pain,ann,1000.0,1000.0,5000.0,0,1,False,0,1,False,0,0,1,not_present,False,False,0,True,single_rater_absent,1
f1.mp3,Joy,affirmative,Joy,ann|bea|cem,2000.0,2000.0,6000.0,2,2,False,1,3,False,2,1,0,strongly_present,True,False,1,True,unanimous_present,3
f2.mp3,Joy,affirmative,Joy,ann|bea|cem,2000.0,2000.0,6000.0,1,1,True,1,2,False,1,1,1,weakly_present,False,False,1,True,majority_present,3
f3.mp3,Joy,contrastive_1,Pain,ann|bea,1500.0,1500.0,5000.0,0,1,True,0,1,True,0,1,1,not_present,False,False,0,,tied,2
f7.mp3,Joy,contrastive_2,Pain,ann|bea,1500.0,1500.0,5000.0,1,1,True,1,2,False,1,1,0,weakly_present,True,False,0,False,unanimous_present,2
"""
DIM_HEADER = (
    "file_name,dimension,level,polarity,usernames,reaction_time_ms_mean,reaction_time_ms_median,sample_time_ms_mean,"
    "majority_present,majority_present_votes,majority_present_tie,yes_votes,no_votes,all_agree_binary,"
    "matches_intended_polarity,benchmark_bucket,n_raters,flagged"
)
DIM_ROWS = """\
sample_02.mp3,LANG,European,positive,ann|bea|cem|dov,3000.0,2500.0,6000.0,1,3,False,3,1,False,True,majority_yes,4,False
sample_03.mp3,TEMP,0,negative,ann|bea|cem,2000.0,2000.0,6000.0,0,3,False,0,3,True,True,unanimous_no,3,False
sample_00.mp3,TEMP,5,negative,cem,3000.0,3000.0,8000.0,0,1,False,0,1,False,True,single_rater_no,1,False
sample_00.mp3,TEMP,5,positive,ann|bea,1500.0,1500.0,5000.0,0,1,True,1,1,False,,tied,2,True
sample_01.mp3,TEMP,5,positive,ann|bea|cem,2000.0,2000.0,6000.0,1,2,False,2,1,False,True,majority_yes,3,False
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    space = tmp_path_factory.mktemp("emolia")
    return write_emolia([emo(space / "emo"), dim(space / "dim")], space / "out")


def said(out: Path, subset: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = (out / subset / "summary.json").read_text(encoding="utf-8")
    results: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return results


def first(path: Path, columns: int) -> list[str]:
    """The lines of a CSV, with the first columns only."""
    return [",".join(line.split(",")[:columns]) for line in path.read_text(encoding="utf-8").splitlines()]


class TestTables:
    @pytest.mark.slow
    def test_benchmark_labels_of_emo(self, out: Path) -> None:
        text = (out / "emolia-emo" / "benchmark_labels.csv").read_text(encoding="utf-8")
        assert text == EMO_HEADER + "\n" + EMO_ROWS

    def test_benchmark_labels_of_dim(self, out: Path) -> None:
        text = (out / "emolia-dim" / "benchmark_labels.csv").read_text(encoding="utf-8")
        assert text == DIM_HEADER + "\n" + DIM_ROWS

    def test_incomplete_items_are_those_with_fewer_than_three_raters(self, out: Path) -> None:
        assert (out / "emolia-emo" / "incomplete_items.csv").read_text() == (
            "file_name,queried_emotion,task_type,ratings_observed,usernames\n"
            "f8.mp3,Awe,affirmative,0,\nf4.mp3,Awe,ultimate,1,ann\n"
            "f3.mp3,Joy,contrastive_1,2,ann|bea\nf7.mp3,Joy,contrastive_2,2,ann|bea\n"
        )
        assert (out / "emolia-dim" / "incomplete_items.csv").read_text() == (
            "file_name,dimension,level,polarity,ratings_observed,usernames\n"
            "sample_09.mp3,TEMP,5,negative,0,\nsample_00.mp3,TEMP,5,negative,1,cem\n"
            "sample_00.mp3,TEMP,5,positive,2,ann|bea\n"
        )

    def test_items_with_four_raters_are_complete_and_listed_apart(self, out: Path) -> None:
        assert (out / "emolia-emo" / "items_with_more_raters.csv").read_text() == (
            "file_name,queried_emotion,task_type,ratings_observed,usernames\nf5.mp3,Awe,affirmative,4,ann|bea|cem|dov\n"
        )

    def test_slices_leave_ties_out_of_rates_and_single_raters_out_of_unanimity(self, out: Path) -> None:
        third = repr(1 / 3)
        assert first(out / "emolia-emo" / "per_task_type_summary.csv", 8) == [
            "task_type,items,intended_present,majority_present_rate,preselection_confirm_rate,unanimous_binary_rate,"
            "unanimous_ordinal_rate,tied_items",
            f"affirmative,3,1,1.0,1.0,{third},0.0,1",
            "contrastive_1,1,0,,,0.0,0.0,1",
            "contrastive_2,1,0,1.0,0.0,1.0,0.0,0",
            "penultimate,1,0,0.0,1.0,1.0,1.0,0",
            "ultimate,1,0,0.0,1.0,,,0",
        ]
        assert first(out / "emolia-emo" / "per_emotion_summary.csv", 6) == [
            "queried_emotion,items,majority_present_rate,unanimous_binary_rate,unanimous_ordinal_rate,tied_items",
            "Awe,3,0.0,0.5,0.5,1",
            "Joy,4,1.0,0.5,0.0,1",
        ]
        assert first(out / "emolia-dim" / "per_dimension_summary.csv", 6) == [
            "dimension,items,majority_yes_rate,unanimous_rate,polarity_match_rate,tied_items",
            f"TEMP,4,{third},{third},1.0,1",
            "LANG,1,1.0,0.0,1.0,0",
        ]
        assert first(out / "emolia-dim" / "per_polarity_summary.csv", 5) == [
            "polarity,items,majority_yes_rate,unanimous_rate,tied_items",
            "negative,2,0.0,1.0,0",
            "positive,3,1.0,0.0,1",
        ]

    def test_bounds_of_a_rate_are_wilson_s(self, out: Path) -> None:
        row = pl.read_csv(out / "emolia-dim" / "per_polarity_summary.csv").row(1, named=True)
        z2 = 1.959963984540054**2
        # Wilson's bounds of 2 of 2: the upper is 1, the lower n / (n + z^2).
        assert row["majority_yes_rate_items"] == 2
        assert row["majority_yes_rate_low"] == pytest.approx(2 / (2 + z2))
        assert row["majority_yes_rate_high"] == 1.0

    def test_no_file_holds_a_nan(self, out: Path) -> None:
        for path in out.rglob("*.*"):
            words = re.split(r"[^a-z]+", path.read_text(encoding="utf-8").lower())
            assert not {"nan", "inf", "infinity"} & set(words), path


class TestSummary:
    def test_counts_of_emo(self, out: Path) -> None:
        result = said(out, "emolia-emo")
        expected = {
            "subset": "emolia-emo",
            "rating_scale": ["not_present", "weakly_present", "strongly_present"],
            "rows_raw": 20,
            "rows_deduplicated": 18,
            "items_total": 8,
            "items_rated": 7,
            "items_unrated": 1,
            "items_complete": 4,
            "items_incomplete": 4,
            "items_with_more_raters": 1,
            "items_tied_binary": 2,
            "items_tied_ordinal": 3,
            "items_rating_against_presence": 0,
            "rater_coverage": {"0": 1, "1": 1, "2": 2, "3": 3, "4": 1},
            "annotators": ["ann", "bea", "cem", "dov"],
            "majority_present_rate": 3 / 5,
            "preselection_confirm_rate": 4 / 5,
        }
        assert {name: result[name] for name in expected} == expected

    def test_agreement_of_emo(self, out: Path) -> None:
        """Binary votes: f1 PPP, f2 APP, f3 AP, f4 A, f5 AAPP, f6 AAA, f7 PP."""
        result = said(out, "emolia-emo")["agreement"]
        assert result["exact_3way_binary"] == pytest.approx(2 / 4)
        assert result["pairwise_exact_binary"] == pytest.approx((1 + 1 / 3 + 1 / 3 + 1) / 4)
        assert result["exact_two_or_more_binary"] == pytest.approx(3 / 6)
        kappas = {
            "ann__bea": 0.4,
            "ann__cem": 0.2,
            "bea__cem": 0.5,
            "ann__dov": None,
            "bea__dov": None,
            "cem__dov": None,
        }
        assert result["pairwise_binary_kappa"] == pytest.approx(kappas | {"mean": 1.1 / 3})
        # Each vote against the others: f1 3 of 3, f2 0 of 1 (two ties), f5 0 of 4, f6 3 of 3.
        assert result["human_loo_accuracy"] == pytest.approx(6 / 11)
        assert result["human_loo_balanced_accuracy"] == pytest.approx((3 / 6 + 3 / 5) / 2)
        assert result["human_loo_n_annotations"] == 11
        assert result["exact_3way_ordinal"] == pytest.approx(1 / 4)
        assert result["pairwise_exact_ordinal"] == pytest.approx((1 / 3 + 0 + 1 / 6 + 1) / 4)

    def test_a_pair_that_shares_nothing_is_no_disagreement(self, out: Path) -> None:
        """Pairs of raters agree on 4 of 6, 2 of 4, 3 of 4 items, and with dov on 0, 0 and 1 of 1."""
        result = said(out, "emolia-emo")
        shares = (4 / 6, 2 / 4, 3 / 4, 0, 0, 1)
        assert result["human_accuracy_binary"] == pytest.approx(sum(shares) / 6)
        assert result["human_upper_bound_binary"] == pytest.approx(2 / 3)
        assert result["agreement"]["human_pairwise_accuracy_pooled"] == pytest.approx((4 + 2 + 3 + 1) / 17)

    def test_the_prior_against_people(self, out: Path) -> None:
        result = said(out, "emolia-emo")["augmented_agreement"]
        # f1 and f2 present and meant so, f6 absent and meant so, f7 present but meant absent; f3 and f5 tied.
        assert result["gemini_vs_human_consensus_accuracy"] == pytest.approx(3 / 4)
        assert result["gemini_vs_human_consensus_balanced_accuracy"] == pytest.approx((2 / 3 + 1) / 2)
        assert (result["gemini_vs_human_consensus_n_items"], result["gemini_vs_human_consensus_n_ties"]) == (4, 2)
        assert (result["preselection_n_eligible_items"], result["preselection_n_full_coverage_items"]) == (6, 4)
        # With the prior f1 PPP+P and f6 AAA+A are whole; f7 PP+A is not.
        assert result["preselection_exact"] == pytest.approx(2 / 6)
        assert result["preselection_fleiss_kappa_ordinal"] is None

    def test_every_number_has_its_interval_or_a_reason_under_estimates(self, out: Path) -> None:
        for subset in ("emolia-emo", "emolia-dim"):
            result = said(out, subset)
            figures = {**result["agreement"], **result["augmented_agreement"]}
            for name, value in figures.items():
                if "_n_" in name or name == "preselection_min_humans":
                    continue
                behind = result["estimates"][name]
                value = value["mean"] if isinstance(value, dict) else value
                assert behind["value"] == value, name
                if value is None:
                    assert behind["why_missing"], name
                else:
                    assert behind["low"] is not None or behind["why_no_interval"], name
                    assert behind["low"] is None or behind["low"] <= value <= behind["high"], name
            bound = result["estimates"]["human_upper_bound_binary"]
            assert bound["value"] == result["human_upper_bound_binary"] == result["agreement"]["pairwise_exact_binary"]

    def test_flags_of_dim_are_kept_with_the_item_nobody_rated(self, out: Path) -> None:
        result = said(out, "emolia-dim")
        assert result["items_flagged"] == 2
        assert {(row["file_name"], row["reason"]) for row in result["flags"]} == {
            ("sample_00.mp3", "two | speakers"),
            ("sample_09.mp3", "silence"),
        }
        assert result["agreement_by_rater_count"]["3"]["items"] == 2


@pytest.mark.slow
def test_a_published_figure_that_counted_missing_pairs_as_disagreement(tmp_path: Path) -> None:
    """Of three binary votes u of the items are unanimous: pairs then agree on u + (1 - u) / 3, whoever the raters are.

    emolia-bench published 0.246 unanimous and 0.053 pairwise for one subset of eight raters; it is 0.497.
    """
    study = parse_study("name: pairs\nscales:\n  s: {type: yes-no}\nquestions:\n  - {id: q, text: Q, scale: s}\n")
    rows = []
    for at in range(1000):
        votes = (1, 1, 1) if at < 246 else (1, 1, 0)
        rows += [(f"r{(at + seat) % 8}", f"s{at:04}", "q", float(vote)) for seat, vote in enumerate(votes)]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    snapshot = Snapshot.build(study, stimuli=ratings.select("stimulus").unique(), ratings=ratings)
    result = said(write_emolia(snapshot, tmp_path), "pairs")
    assert result["agreement"]["exact_3way_binary"] == pytest.approx(0.246)
    assert result["human_upper_bound_binary"] == pytest.approx(0.246 + 0.754 / 3)
    assert math.isclose(result["human_upper_bound_binary"], 0.497, abs_tol=5e-4)


def test_the_report_reads_as_a_methods_section(out: Path) -> None:
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "4 raters gave 18 ratings" in text
    assert "| emolia-emo | 7 | 0.667 [" in text
    assert "one is tied and has no majority" in text
    assert "two \\| speakers" in text
    assert "## What differs from emolia-bench's own analysis" in text
    assert "None" not in text
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == 14
    for lines in tables:
        assert len({line.replace("\\|", "").count("|") for line in lines}) == 1, lines[0]


@pytest.mark.slow
def test_ties_as_published(tmp_path: Path) -> None:
    options = EmoliaOptions(ties="published")
    result = write_emolia(emo(tmp_path / "emo"), tmp_path / "out", options)
    lines = (result / "emolia-emo" / "benchmark_labels.csv").read_text().splitlines()
    rows = {line.split(",")[0]: dict(zip(EMO_HEADER.split(","), line.split(","), strict=True)) for line in lines}
    one_each = rows["f2.mp3"]
    assert (one_each["majority_rating"], one_each["majority_present"]) == ("not_present", "1")
    assert (rows["f3.mp3"]["benchmark_bucket"], rows["f3.mp3"]["matches_intended_label"]) == ("majority_absent", "True")
    slices = (result / "emolia-emo" / "per_task_type_summary.csv").read_text().splitlines()
    assert slices[0].endswith("unanimous_binary_rate,unanimous_ordinal_rate")
    assert "ultimate,1,0,0.0,1.0,0.0,0.0" in slices
    assert "contrastive_1,1,0,0.0,1.0,0.0,0.0" in slices


@pytest.mark.slow
def test_a_snapshot_folder_gives_the_same_files(out: Path, tmp_path: Path) -> None:
    dim(tmp_path / "dim").write(tmp_path / "snapshot")
    again = write_emolia(load(tmp_path / "snapshot"), tmp_path / "out")
    for path in (out / "emolia-dim").iterdir():
        assert (again / "emolia-dim" / path.name).read_bytes() == path.read_bytes(), path.name


PRESENCE = """\
name: voices
scales:
  three: {type: ordered, categories: [none, some, much]}
  yn: {type: yes-no}
questions:
  - {id: joy, text: J, scale: three}
  - {id: hoarse, text: H, scale: yn}
"""


@pytest.mark.slow
def test_any_study_of_presence_and_of_yes_or_no(tmp_path: Path) -> None:
    rows = [("r1", "a", "joy", 2.0), ("r2", "a", "joy", 0.0), ("r1", "a", "hoarse", 1.0), (None, "a", "hoarse", 1.0)]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    snapshot = Snapshot.build(parse_study(PRESENCE), stimuli=pl.DataFrame({"stimulus": ["a"]}), ratings=ratings)
    result = write_emolia(snapshot, tmp_path)
    labels = (result / "voices-emo" / "benchmark_labels.csv").read_text().splitlines()
    assert labels[1] == "a,joy,,,r1|r2,,,,0,1,True,0,1,True,1,0,1,none,False,False,,,tied,2"
    labels = (result / "voices-dim" / "benchmark_labels.csv").read_text().splitlines()
    assert labels[1] == "a,hoarse,,,r1,,,,1,2,False,2,0,True,,unanimous_yes,2,False"
    estimates = said(result, "voices-dim")["estimates"]
    assert mentions(estimates["pairwise_binary_kappa"]["why_missing"], "votes", "gave")
    assert estimates["gemini_vs_human_consensus_accuracy"]["why_missing"].startswith("nothing says what")


def test_a_study_that_does_not_fit_is_refused_with_what_to_do(tmp_path: Path) -> None:
    study = parse_study(
        "name: mos\nscales:\n  n: {type: points, points: 5}\nquestions:\n  - {id: q, text: Q, scale: n}\n"
    )
    snapshot = Snapshot.build(study, stimuli=pl.DataFrame({"stimulus": ["a"]}))
    with pytest.raises(InputError, match="asks nothing that emolia-bench") as caught:
        write_emolia(snapshot, tmp_path)
    assert "--as emolia" in caught.value.fix
    voices = Snapshot.build(parse_study(PRESENCE), stimuli=pl.DataFrame({"stimulus": ["a"]}))
    with pytest.raises(InputError, match="Nobody has rated"):
        write_emolia(voices, tmp_path)
    with pytest.raises(InputError, match="no snapshot"):
        write_emolia([], tmp_path)
    with pytest.raises(InputError, match="cannot agree"):
        EmoliaOptions(raters=1)
    assert not (tmp_path / "analysis_outputs").exists()


def test_one_rater_alone_gives_reasons_not_numbers(tmp_path: Path) -> None:
    rows = [("r", f"s{at}", "hoarse", float(at % 2)) for at in range(4)]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    study = parse_study("name: one\nscales:\n  yn: {type: yes-no}\nquestions:\n  - {id: hoarse, text: H, scale: yn}\n")
    snapshot = Snapshot.build(study, stimuli=ratings.select("stimulus"), ratings=ratings)
    result = said(write_emolia(snapshot, tmp_path), "one")
    assert result["human_upper_bound_binary"] is None
    assert mentions(result["estimates"]["human_upper_bound_binary"]["why_missing"], "item", "votes")
    assert result["buckets"] == {"single_rater_no": 2, "single_rater_yes": 2}
