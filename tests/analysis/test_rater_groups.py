"""Groups of raters: what makes a group, what each gets, and that differences between groups are found and honest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.panel.groups import rater_grouping
from heartfelt.errors import InputError
from heartfelt.report.analysis import charts_of
from heartfelt.report.sections.raters import rater_groups as section_of
from heartfelt.snapshot import Snapshot
from tests.analysis.made import Row, study, summary_of
from tests.analysis.made import stimuli as made_stimuli
from tests.analysis.test_bad_input import check_reasons
from tests.facts import mentions

SCHEMA = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}


def two_languages(seed: int = 0, higher: float = 0.0, raters: int = 16, items: int = 24, per: int = 24) -> Snapshot:
    """Raters of two languages with levels and gains of their own; German ones answer quality ``higher`` on average."""
    rng = np.random.default_rng(seed)
    truth, level = rng.normal(size=items), 0.4 * rng.normal(size=raters)
    gain, taste = np.exp(0.3 * rng.normal(size=raters)), 0.3 * rng.normal(size=(2, items))
    rows: list[Row] = []
    for r in range(raters):
        for i in rng.choice(items, per, replace=False).tolist():
            value = 3 + 0.6 * gain[r] * truth[i] + taste[r % 2, i] + level[r] + higher * (r % 2 == 0)
            rows.append((f"r{r}", f"s{i}", "quality", float(value + 0.5 * rng.normal())))
    clipped = [(a, b, q, float(np.clip(round(v), 1, 5))) for a, b, q, v in rows]
    people = pl.DataFrame(
        {
            "rater": [f"r{r}" for r in range(raters)],
            "language": [("German", "English")[r % 2] for r in range(raters)],
            "age": [18.0 + 2 * r for r in range(raters)],
            "expert": [r < 2 for r in range(raters)],
            "town": [f"town {r}" for r in range(raters)],
            "same": ["x"] * raters,
            "training": [r % 3 for r in range(raters)],
            "mostly": [40.0] * (raters - 1) + [1.0],
        }
    )
    ratings = pl.DataFrame(clipped, schema=SCHEMA, orient="row")
    return Snapshot.build(study("opinion"), stimuli=made_stimuli(items), ratings=ratings, raters=people)


@pytest.mark.slow
def test_groups_are_compared_on_the_same_stimuli() -> None:
    result = analyze(two_languages(higher=0.9), AnalyzeOptions(resamples=100, by="language"))
    by = summary_of(result)["by"]
    check_reasons(by)
    json.dumps(by, allow_nan=False)
    assert [each["group"] for each in by["groups"]] == ["English", "German"]
    (row,) = [r for r in by["differences"] if r["system"] == "all" and r["question"] == "quality"]
    assert row["difference"]["value"] == pytest.approx(-0.9, abs=0.5)
    assert row["difference"]["low"] < row["difference"]["value"] < row["difference"]["high"] < 0
    assert row["p"] < 0.05
    assert row["p_alone"] <= row["p"]
    assert "two-way jackknife" in row["difference"]["interval"]
    assert {r["system"] for r in by["differences"] if r["question"] == "quality"} == {"all", "M0", "M1", "M2"}
    words = " ".join(summary_of(result)["verdict_groups"]["raters"])
    assert mentions(words, "raters", "answer", "German")
    for group in by["rows"]:
        if group["question"] == "quality":
            assert group["alpha"]["low"] < group["alpha"]["value"]
            assert group["icc2"]["value"] is not None
            assert set(group["mean_by_system"]) == {"M0", "M1", "M2"}


@pytest.mark.slow
def test_a_group_is_analysed_as_if_alone() -> None:
    """Reliability and mean of a group are those of a snapshot with nobody else in it."""
    whole = two_languages()
    by = summary_of(analyze(whole, AnalyzeOptions(resamples=100, by="language")))["by"]
    names = whole.raters.filter(pl.col("language") == "German")["rater"].to_list()
    alone = summary_of(
        analyze(
            Snapshot.build(
                whole.study, stimuli=whole.stimuli, ratings=whole.ratings.filter(pl.col("rater").is_in(names))
            ),
            AnalyzeOptions(resamples=100),
        )
    )
    (row,) = [r for r in by["rows"] if (r["group"], r["question"]) == ("German", "quality")]
    trust = alone["reliability"]["quality"]
    assert row["icc2"]["value"] == pytest.approx(trust["icc2"]["value"])
    assert row["alpha"]["value"] == pytest.approx(trust["alpha_interval"]["value"])
    (mean,) = [r["mean"] for r in alone["questions"] if r["question"] == "quality"]
    assert (row["mean"]["value"], row["mean"]["low"]) == pytest.approx((mean["value"], mean["low"]))


@pytest.mark.slow
def test_the_difference_by_hand() -> None:
    """Every rater rates every stimulus: the difference of two groups is the difference of their grand means."""
    source = two_languages(seed=3, higher=0.5)
    by = summary_of(analyze(source, AnalyzeOptions(resamples=100, by="language")))["by"]
    joined = source.ratings.join(source.raters, on="rater")
    means = dict(joined.group_by("language").agg(pl.mean("value")).iter_rows())
    (row,) = [r for r in by["differences"] if r["system"] == "all" and r["question"] == "quality"]
    assert row["difference"]["value"] == pytest.approx(means["English"] - means["German"])


@pytest.mark.slow
def test_alike_groups_are_seldom_told_apart() -> None:
    from heartfelt.analysis.data.material import prepare
    from heartfelt.analysis.panel.groups import _differences

    alarms = 0
    for seed in range(30):
        source = two_languages(seed, items=18, per=12)
        question = prepare(source).questions[0]
        grouping = rater_grouping(source, "language")
        of_rater = pl.col("rater").replace_strict(dict(grouping.of_rater))
        parts = {name: question.ratings.filter(of_rater == name) for name in grouping.names}
        (row,) = [r for r in _differences(question, parts) if r.system == "all"]
        alarms += row.p_alone is not None and row.p_alone < 0.05
    # 1.5 expected; more than 5 has a chance of 1 in 200 at the nominal level
    assert alarms <= 5


def test_numbers_are_cut_at_tertiles() -> None:
    groups = rater_grouping(two_languages(), "age")
    assert groups.names == ("up to 28", "over 28 to 38", "over 38")
    assert groups.of_rater["r0"] == "up to 28"
    sizes = [sum(own == name for own in groups.of_rater.values()) for name in groups.names]
    assert sum(sizes) == 16
    assert max(sizes) - min(sizes) <= 1
    assert rater_grouping(two_languages(), "training").names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("town", "16 different values"),
        ("same", "one group"),
        ("langauge", "no column 'langauge'"),
        ("rater", "no column 'rater'"),
    ],
)
def test_columns_that_make_no_groups_are_refused_with_advice(column: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        analyze(two_languages(), AnalyzeOptions(resamples=100, by=column))
    assert caught.value.fix


def test_numbers_that_cannot_be_cut_are_refused() -> None:
    source = two_languages(raters=30)
    odd = source.raters.with_columns(pl.Series("weight", [*(float(k) for k in range(6)), *([12.0] * 24)]))
    made = Snapshot.build(source.study, stimuli=source.stimuli, ratings=source.ratings, raters=odd)
    with pytest.raises(InputError, match="cannot be cut"):
        rater_grouping(made, "weight")


@pytest.mark.slow
def test_small_groups_and_raters_who_did_not_say() -> None:
    source = two_languages()
    people = source.raters.with_columns(
        pl.when(pl.col("rater") == "r3").then(None).otherwise(pl.col("language")).alias("language"),
        pl.col("expert").cast(pl.String),
    )
    made = Snapshot.build(source.study, stimuli=source.stimuli, ratings=source.ratings, raters=people)
    by = summary_of(analyze(made, AnalyzeOptions(resamples=100, by="language")))["by"]
    assert by["not_stated"] == 1
    result = analyze(made, AnalyzeOptions(resamples=100, by="expert"))
    check_reasons(summary_of(result)["by"])
    (small,) = [r for r in summary_of(result)["by"]["rows"] if (r["group"], r["question"]) == ("true", "quality")]
    assert mentions(small["why_missing"], "2 raters", "3")
    assert small["n_raters"] == 2
    assert small["mean"]["value"] is None
    words = " ".join(summary_of(result)["verdict_groups"]["raters"])
    assert mentions(words, "2 raters", "group")
    assert "The groups cannot be compared" in words


@pytest.mark.slow
def test_groups_that_rated_different_stimuli_are_not_compared() -> None:
    rows: list[Row] = [
        (f"r{r}", f"s{i}", "quality", float(1 + (i + r) % 5))
        for r in range(8)
        for i in (range(12) if r % 2 else range(12, 24))
    ]
    source = two_languages()
    made = Snapshot.build(
        source.study,
        stimuli=source.stimuli,
        ratings=pl.DataFrame(rows, schema=SCHEMA, orient="row"),
        raters=source.raters,
    )
    by = summary_of(analyze(made, AnalyzeOptions(resamples=100, by="language")))["by"]
    reasons = {r["difference"]["why_missing"] for r in by["differences"] if r["question"] == "quality"}
    assert reasons == {"no stimulus was rated by both groups"}


@pytest.mark.slow
def test_the_page_has_a_section_and_a_figure() -> None:
    result = analyze(two_languages(higher=0.9), AnalyzeOptions(resamples=100, by="language"))
    charts = charts_of(result)
    section = section_of(result, charts)
    assert section is not None
    assert "German" in section.html
    assert 'data-figure="rater-groups"' in section.html
    without = analyze(two_languages(), AnalyzeOptions(resamples=100))
    assert section_of(without, charts_of(without)) is None
    assert "--by" in summary_of(without)["why_missing"]["by"]


@pytest.mark.slow
def test_the_command_compares_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from heartfelt.cli import main

    two_languages(higher=0.9).write(tmp_path / "snapshot")
    arguments = ["analyze", str(tmp_path / "snapshot"), "--by", "language", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert mentions(" ".join(capsys.readouterr().out.split()), "raters", "answer", "German")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["by"]["column"] == "language"
    assert (tmp_path / "out" / "figures" / "rater-groups.pdf").is_file()
    assert "Groups of raters" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
