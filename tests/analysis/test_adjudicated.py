"""What senior raters decided, against hand counts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from scipy import stats as scipy_stats

from heartfelt.analysis import analyze
from heartfelt.analysis.consistency.adjudicated import adjudicated_items
from heartfelt.analysis.summary import Summary
from heartfelt.report.analysis import write_analysis
from heartfelt.serialization import dumps, read_json
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.adjudications import AdjudicationHistory, ShownAnswer
from heartfelt.study import Question, Study
from heartfelt.study.scales.scale import Categories, Points, Tags
from tests.facts import mentions

SOURCE = "hand counts; statsmodels.stats.proportion.proportion_confint (Wilson); scipy.stats.t.interval"
STUDY = Study(
    name="x",
    scales={
        "emotions": Categories(type="categories", categories=["joy", "awe", "fear"]),
        "nine": Points(type="points", points=9),
        "tags": Tags(type="tags"),
    },
    questions=[
        Question(id="emotion", text="?", scale="emotions"),
        Question(id="valence", text="?", scale="nine"),
        Question(id="objects", text="?", scale="tags"),
    ],
)
CODES = {"joy": 0.0, "awe": 1.0, "fear": 2.0}
# Answers, decision, rules: a majority of joy followed, followed, not followed; a tie; and an answer nobody gave.
EMOTIONS = [
    (["joy", "joy", "awe"], "joy", "disagreement"),
    (["joy", "joy", "fear"], "joy", "disagreement,random"),
    (["joy", "joy", "fear"], "fear", "random"),
    (["joy", "awe"], "awe", "disagreement"),
    (["joy", "joy", "joy"], "fear", "random"),
]
VALENCES = [([1.0, 2.0, 6.0], 6.0), ([4.0, 5.0], 4.0), ([7.0, 9.0], 9.0)]
TAGS = [(["dog;cat", "cat"], "cat; dog", "cat;dog"), (["boat"], "tree", "boat")]


def history(answers: list[ShownAnswer], draft: str | None = None) -> str:
    return dumps(AdjudicationHistory(tuple(answers), 0, draft), indent=None)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    rows: list[tuple[object, ...]] = []
    for place, (answers, final, rule) in enumerate(EMOTIONS):
        shown = [ShownAnswer(rater=f"r{n}", value=CODES[each], answer=each) for n, each in enumerate(answers)]
        rows.append((f"s{place}", "emotion", CODES[final], final, rule, history(shown), 1 + (place == 0)))
    for place, (values, number) in enumerate(VALENCES):
        shown = [ShownAnswer(rater=f"r{n}", value=each) for n, each in enumerate(values)]
        rows.append((f"s{place}", "valence", number, None, "all", history(shown), 1))
    for place, (tags, chosen, draft) in enumerate(TAGS):
        shown = [ShownAnswer(rater=f"r{n}", value=None, answer=each) for n, each in enumerate(tags)]
        shown.append(ShownAnswer(rater="r9", verdict="rejected"))
        rows.append((f"s{place}", "objects", None, chosen, "rejected", history(shown, draft), 1))
    columns = ["stimulus", "question", "value", "answer", "rule", "history", "decisions"]
    table = pl.DataFrame(rows, schema=columns, orient="row").with_columns(by=pl.lit("a1"))
    ratings = [
        (f"r{n}", f"s{place}", "emotion", CODES[each])
        for place, (answers, _, _) in enumerate(EMOTIONS)
        for n, each in enumerate(answers)
    ]
    ratings += [
        (f"r{n}", f"s{place}", "valence", each)
        for place, (values, _) in enumerate(VALENCES)
        for n, each in enumerate(values)
    ]
    stimuli = pl.DataFrame({"stimulus": [f"s{place}" for place in range(5)]})
    named = pl.DataFrame(ratings, schema=["rater", "stimulus", "question", "value"], orient="row")
    return Snapshot.build(STUDY, stimuli=stimuli, ratings=named, adjudications=table)


def test_shares_and_differences_are_those_counted_by_hand(snapshot: Snapshot) -> None:
    result = adjudicated_items(snapshot)
    assert result is not None
    assert (result.items, result.senior_raters, result.revised) == (10, 1, 1)
    rows = {(row.question, row.rule): row for row in result.questions}
    assert set(rows) == {
        ("emotion", "any"), ("emotion", "disagreement"), ("emotion", "random"), ("valence", "any"), ("objects", "any")
    }  # fmt: skip
    emotion = rows["emotion", "any"]
    assert emotion.items == 5
    assert (emotion.with_majority.value, emotion.with_majority.counts["items"]) == (0.5, 4), "the tie is no majority"
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(2, 4, method="wilson")
    assert [emotion.with_majority.low, emotion.with_majority.high] == pytest.approx([low, high])
    assert emotion.with_nobody.value == 0.2
    assert mentions(emotion.with_draft.why_missing, "draft", "senior", "raters")
    assert (rows["emotion", "random"].items, rows["emotion", "random"].with_majority.value) == (3, 1 / 3)
    assert rows["emotion", "disagreement"].with_majority.value == 1.0
    valence = rows["valence", "any"]
    differences = [6.0 - 3.0, 4.0 - 4.5, 9.0 - 8.0]
    low, high = scipy_stats.t.interval(0.95, 2, sum(differences) / 3, scipy_stats.sem(differences))
    assert valence.difference.value == pytest.approx(sum(differences) / 3)
    assert [valence.difference.low, valence.difference.high] == pytest.approx([low, high])
    assert valence.with_majority.is_missing
    objects = rows["objects", "any"]
    assert (objects.with_draft.value, objects.with_nobody.value) == (0.5, 0.5), "tags in any order; nobody said tree"


def test_without_decisions_there_is_nothing_to_say(snapshot: Snapshot) -> None:
    plain = Snapshot.build(STUDY, stimuli=snapshot.stimuli, ratings=snapshot.ratings)
    assert adjudicated_items(plain) is None


@pytest.mark.slow
def test_the_report_has_a_section_and_the_table(snapshot: Snapshot, tmp_path: Path) -> None:
    folder = write_analysis(analyze(snapshot), tmp_path / "report", figures=False)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Decided by senior raters" in page
    assert mentions(page, "1 senior", "10 items", "1 decision")
    assert pl.read_csv(folder / "adjudications.csv").height == 10
    summary = read_json(folder / "summary.json", Summary)
    assert summary.adjudication == adjudicated_items(snapshot)
