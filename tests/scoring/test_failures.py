"""Abstaining does not win: models are ranked with failed and missing predictions counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.labels import buckets, labels
from heartfelt.report.bench import bench_page, write_bench
from heartfelt.report.bench.page import sentences
from heartfelt.report.layout.page import render
from heartfelt.report.site import write_leaderboard
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.streams import stream
from tests.facts import mentions
from tests.scoring import made

SOURCE = "the fallback of every kind of task, counted by hand on planted predictions"
OPTIONS = ScoreOptions(slices=(), ceilings=False)


def numbers() -> tuple[Scores, pl.DataFrame]:
    """A model that knows 8 of 120 items perfectly and keeps silent on the rest (half without a row), and an honest one."""
    snapshot, _ = made.numbers(per_cell=5)
    held = labels(snapshot).table.select("stimulus", "value").to_dicts()
    draw = stream(1, "tests", "abstaining")
    few = [{"stimulus": r["stimulus"], "question": "valence", "value": r["value"]} for r in held[:8]]
    few += [{"stimulus": r["stimulus"], "question": "valence", "problem": "not sure"} for r in held[8:60]]
    all_ = [{"stimulus": r["stimulus"], "question": "valence", "value": r["value"] + draw.normal(0, 0.8)} for r in held]
    table = pl.concat([made.predictions("abstains", few), made.predictions("answers", all_)])
    return score(snapshot, table, OPTIONS), table


@pytest.mark.slow
def test_eight_of_120_do_not_rank_first() -> None:
    result, _ = numbers()
    each = result.find("valence", "abstains")
    assert each is not None
    assert each.estimate.value == pytest.approx(1.0)
    assert each.estimate.counts["pairs"] == 8
    assert each.with_failures.counts["pairs"] == 120
    assert float(each.with_failures) < 0.5
    ranks = [rank.model for rank in result.ranked("valence")]
    assert ranks[0] == "answers"
    (pair,) = result.comparisons
    sign = 1 if pair.first == "answers" else -1
    assert sign * float(pair.difference) > 0
    assert pair.difference.counts["pairs"] == 120
    assert pair.answered.counts["pairs"] == 8
    covered = result.coverage["abstains"]["valence"]
    assert (covered.items, covered.answered) == (120, 8)
    assert covered.problems == {"not sure": 52, "no prediction was given": 60}


@pytest.mark.slow
def test_json_page_terminal_and_leaderboard_say_so(tmp_path: Path) -> None:
    result, table = numbers()
    answer = made.as_json(result)
    assert "failures counted" in answer["ranked_by"]
    words = sentences(result, result.tasks[0])
    assert mentions(words[0], "valence", "answers")
    assert any("abstains failed on 112 items of 120" in text and "ranked by" in text for text in words)
    page = render(bench_page(result, {}))
    assert "ranked by the score with failures counted" in page
    assert "8 of 120" in page
    write_bench(result, table, tmp_path / "benches" / "one")
    site = write_leaderboard(tmp_path / "benches")
    board = (site / "index.html").read_text()
    assert "8 of 120" in board
    assert "failures counted" in board


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binary", "ordinal", "categories", "text"])
def test_no_kind_of_task_rewards_silence(kind: str) -> None:
    """A model right on a tenth of the items and silent on the rest is never ahead of one right on most."""
    draw = stream(2, "tests", "abstaining", kind)
    if kind in ("binary", "ordinal"):
        snapshot, _ = made.presence(stimuli=60)
        held = labels(snapshot).table.filter(pl.col("value").is_not_null())
        if kind == "binary":
            held = (
                buckets(snapshot)
                .table.filter(pl.col("majority_present").is_not_null())
                .with_columns(pl.col("majority_present").cast(pl.Float64).alias("value"))
            )
        rows = [{"stimulus": r["stimulus"], "question": r["question"], "value": r["value"]} for r in held.to_dicts()]
        wrong = [{**r, "value": float(draw.integers(0, 3))} for r in rows]
        task = "presence" if kind == "binary" else "presence (degree)"
    else:
        snapshot = made.feelings(stimuli=60)
        if kind == "categories":
            held = labels(snapshot).table.filter(pl.col("value").is_not_null() & (pl.col("question") == "feeling"))
            rows = [{"stimulus": r["stimulus"], "question": "feeling", "value": r["value"]} for r in held.to_dicts()]
            wrong = [{**r, "value": float(draw.integers(0, 4))} for r in rows]
        else:
            written = snapshot.ratings.filter(pl.col("question") == "caption").unique("stimulus", keep="first")
            rows = [
                {"stimulus": r["stimulus"], "question": "caption", "answer": r["answer"]} for r in written.to_dicts()
            ]
            wrong = [{**r, "answer": "a sound"} for r in rows]
        task = "feeling" if kind == "categories" else "caption"
    most = [right if draw.random() < 0.7 else other for right, other in zip(rows, wrong, strict=True)]
    few = [r if k % 10 == 0 else {**r, "value": None, "answer": None, "problem": "no"} for k, r in enumerate(rows)]
    result = score(snapshot, pl.concat([made.predictions("few", few), made.predictions("most", most)]), OPTIONS)
    few_score, most_score = result.find(task, "few"), result.find(task, "most")
    assert few_score is not None
    assert most_score is not None
    assert float(few_score.estimate) >= float(most_score.estimate)
    assert float(few_score.with_failures) < float(most_score.with_failures)
    assert next(rank.model for rank in result.ranked(task)) == "most"
    items = result.rows.filter((pl.col("task") == task) & (pl.col("model") == "few"))
    assert items["counted"].null_count() == 0
    if kind != "text":
        failed = items.filter(~pl.col("answered"))
        assert np.all(failed["counted"].to_numpy() != failed["truth"].to_numpy())
