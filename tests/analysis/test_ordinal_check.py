"""The ordinal check: what it compares, what it says, and when it is left out."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from heartfelt.analysis.data.material import AnalysisData, prepare
from heartfelt.analysis.findings.ordinal import OrdinalCheck
from heartfelt.analysis.systems import ordinal_check as module
from heartfelt.analysis.systems.ordinal_check import ordinal_checks, sentence
from heartfelt.serialization import from_json, to_json
from heartfelt.stats.inference import cumulative_link_model
from tests.analysis.made import answers, snapshot
from tests.analysis.test_rating_models import TABLE, fit, panel, rated
from tests.facts import mentions


def checked(material: AnalysisData) -> tuple[OrdinalCheck, ...]:
    found = fit(material)
    return ordinal_checks(material, found.effects, found.pairs)


@pytest.mark.slow
def test_the_same_model_of_the_same_ratings() -> None:
    """Factors, random effects and ratings are those of the model of the ratings; pairs have the same correction."""
    material = rated(panel(8, taste=0.4, gap=1.5))
    first = checked(material)[0]
    assert (first.outcome, first.n, first.categories, first.pairs) == ("quality", 192, 5, 1)
    assert set(first.variances) == {"rater", "stimulus", "rater x system"}
    assert first.agrees
    assert first.pairs_alike == 1
    frame = material.questions[0].ratings
    random = {"rater": frame["rater"], "stimulus": frame["item"]}
    taste = [f"{rater} {system}" for rater, system in frame.select("rater", "system").iter_rows()]
    fixed = {name: frame[name] for name in ("system", "intent")}
    by_hand = cumulative_link_model(frame["value"], fixed, {**random, "rater x system": taste})
    assert first.p == pytest.approx(by_hand.effect("system").p_f, rel=0.1)
    assert first.variances["rater"].value == pytest.approx(by_hand.variances["rater"].value, rel=1e-3)
    assert from_json(OrdinalCheck, to_json(first)) == first


@pytest.mark.slow
def test_only_the_order_of_the_points_counts() -> None:
    """The last point moved far out changes the test of the numbers, and not that of the categories."""
    rows = panel(8, taste=0.3, gap=0.4)
    moved = [(rater, name, question, 50.0 if value == 5 else value) for rater, name, question, value in rows]
    plain, stretched = (
        ordinal_checks(material, found.effects, found.pairs)[0]
        for material in (rated(rows), replace_values(rated(rows), moved))
        for found in (fit(material),)
    )
    assert plain.p == pytest.approx(stretched.p, rel=1e-9)
    assert plain.p_interval != pytest.approx(stretched.p_interval, rel=0.05)


def replace_values(material: AnalysisData, rows: list[tuple[str | None, str, str, float]]) -> AnalysisData:
    """The same material with other numbers, beyond its scale."""
    value = {(rater, name, question): number for rater, name, question, number in rows}
    questions = []
    for question in material.questions:
        numbers = [
            value[rater, item, question.id] for rater, item in question.ratings.select("rater", "item").iter_rows()
        ]
        ratings = question.ratings.with_columns(value=pl.Series(numbers))
        questions.append(replace(question, ratings=ratings))
    return replace(material, questions=tuple(questions))


@pytest.mark.slow
def test_conveyance_takes_the_rating_itself() -> None:
    material = prepare(snapshot("conveyance", TABLE, answers("conveyance", TABLE)))
    rows = checked(material)
    assert [row.outcome for row in rows] == ["valence", "arousal"]
    assert all(row.p is not None and row.categories == 9 for row in rows)


def test_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    material = rated(panel(4, taste=0.3))
    found = fit(material)

    def reasons() -> list[str | None]:
        rows = ordinal_checks(material, found.effects, found.pairs)
        assert all(row.p is None and row.p_interval is not None for row in rows)
        assert sentence(rows) == ""
        return [row.why_missing for row in rows]

    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_VALUES", 3)
        rest = "different values; up to 3 are taken for ordered categories"
        assert reasons() == [f"4 {rest}", f"5 {rest}"]
    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_RATINGS", 50)
        assert reasons() == ["more than 50 ratings"] * 2
    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_WORK", 1)
        assert [str(reason).split(":")[0] for reason in reasons()] == ["too large to fit"] * 2


def test_references_that_vary_within_intents_leave_it_out() -> None:
    material = prepare(snapshot("conveyance", TABLE, answers("conveyance", TABLE)))
    question = material.questions[0]
    uneven = question.items.with_columns(reference=pl.col("reference") + pl.int_range(pl.len()))
    found = fit(material)
    changed = replace(material, questions=(replace(question, items=uneven), *material.questions[1:]))
    assert ordinal_checks(changed, found.effects[:2], ())[0].why_missing == "references differ within intent"


SAME = OrdinalCheck(
    outcome="quality", model="m", n=100, categories=5, df=(2, 30.0), f=9.0, p=0.0004, p_interval=0.001, pairs=3,
    pairs_alike=3,
)  # fmt: skip


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            SAME,
            "An ordinal model (cumulative logit) agrees: systems differ in quality (p < .001, same order, 3 of 3 pairs decided"
            " alike).",
        ),
        (
            replace(SAME, p=0.08),
            "An ordinal model (cumulative logit) disagrees: no difference is shown in quality (p = .080, against p = .001 on the"
            " interval scale, same order, 3 of 3 pairs decided alike).",
        ),
        (
            replace(SAME, pairs_alike=2, changed=(("a", "b"),), reversed=(("a", "b"),)),
            "An ordinal model (cumulative logit) disagrees: systems differ in quality (p < .001, against p = .001 on the interval"
            " scale, 1 pair in the other order, 2 of 3 pairs decided alike).",
        ),
        (
            replace(SAME, p=0.4, p_interval=0.3, pairs=0, pairs_alike=0),
            "An ordinal model (cumulative logit) agrees: no difference is shown in quality (p = .400).",
        ),
    ],
)
def test_one_sentence(check: OrdinalCheck, words: str) -> None:
    assert sentence([check]) == words


def test_one_sentence_for_questions_that_agree_and_that_do_not() -> None:
    other = replace(SAME, outcome="alignment", p=0.2)
    text = sentence([SAME, other])
    assert text.count(".") == text.count("p < .") + text.count("p = .") + 1
    assert mentions(text, "agrees", "systems")
    assert "it disagrees: no difference is shown in alignment" in text
