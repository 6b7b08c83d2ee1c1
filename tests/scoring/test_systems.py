"""Comparisons over systems: what ranks speak of, and errors that clips of one system share."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.report.bench.page import sentences
from heartfelt.report.bench.sections import comparisons
from heartfelt.scoring import ScoreOptions, score
from heartfelt.scoring.comparison.compare import Entrant, compare, ranks
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.stats.prediction.association import metric_difference
from heartfelt.streams import stream
from tests.scoring import made

SOURCE = "simulation under the null hypothesis; metric_difference on the clips, and on the systems' means by hand"
TASK = ScoringTask(id="t", kind="numbers", questions=(), headline="pearson")


def entrants(draw: np.random.Generator, systems: int, clips: int = 8, shared: float = 1.0) -> list[Entrant]:
    """Two models that are equally good, whose errors clips of a system share."""
    of = np.repeat(np.arange(systems), clips)
    truth = draw.normal(size=systems)[of] + draw.normal(size=of.size)
    out = []
    for name in ("a", "b"):
        answer = truth + shared * draw.normal(size=systems)[of] + 0.3 * draw.normal(size=of.size)
        rows = pl.DataFrame(
            {
                "stimulus": [str(k) for k in range(of.size)], "question": "q", "truth": truth, "said": answer,
                "system": [f"s{k}" for k in of],
            }
        )  # fmt: skip
        out.append(Entrant(model=name, rows=rows, value=float(np.corrcoef(truth, answer)[0, 1])))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("systems", [4, 6, 12, 30])
def test_shared_errors_do_not_make_a_difference_over_systems(systems: int) -> None:
    draw = stream(1, "tests", "systems", systems)
    plain = over = means = 0
    for _ in range(150):
        (pair,) = compare(entrants(draw, systems), TASK)
        plain += pair.apart
        over += pair.over_systems.apart
        means += pair.system_means.apart
    assert over / 150 <= 0.06
    assert means / 150 <= 0.08
    assert plain / 150 > 0.2


def test_it_is_the_comparison_by_hand() -> None:
    draw = stream(2, "tests", "systems")
    each, two = entrants(draw, 9)
    (pair,) = compare([each, two], TASK)
    x, y, z = each.rows["truth"].to_numpy(), each.rows["said"].to_numpy(), two.rows["said"].to_numpy()
    system = each.rows["system"].to_numpy()
    by_hand = metric_difference("pearson", x, y, z, group=system)
    assert pair.over_systems.difference.value == pair.difference.value
    assert pair.over_systems.p.value == pytest.approx(by_hand.p.value)
    names = sorted(set(system))
    sums = [np.array([column[system == name].mean() for name in names]) for column in (x, y, z)]
    assert pair.system_means.p.value == pytest.approx(metric_difference("pearson", *sums).p.value)


@pytest.mark.parametrize(("systems", "why"), [(1, "1 system;"), (2, "2 systems;"), (3, None)])
def test_too_few_systems_are_refused_with_the_reason(systems: int, why: str | None) -> None:
    models = entrants(stream(3, "tests", "systems"), systems, 20)
    (pair,) = compare(models, TASK)
    rank = ranks(models, [pair], TASK)[0]
    assert rank.generalises_to == "other clips of these systems"
    if why is None:
        assert pair.over_systems.p.value is not None
        assert rank.over_systems.best == 1
        return
    assert (pair.over_systems.p.why_missing or "").startswith(why)
    assert (rank.over_systems.why_none or "").startswith(why)
    assert not pair.over_systems.apart


def test_stimuli_without_systems_speak_of_other_stimuli() -> None:
    models = [
        Entrant(model=entrant.model, rows=entrant.rows.drop("system"), value=entrant.value)
        for entrant in entrants(stream(4, "tests", "systems"), 5)
    ]
    pairs = compare(models, TASK)
    rank = ranks(models, pairs, TASK)[0]
    assert rank.generalises_to == "other stimuli like these"
    assert rank.over_systems.why_none == "no systems"


def test_holm_and_its_interval_agree() -> None:
    draw = stream(5, "tests", "systems")
    truth = draw.normal(size=60)
    models = []
    for k, noise in enumerate((0.5, 0.8, 1.0, 1.2)):
        answer = truth + draw.normal(0, noise, 60)
        rows = pl.DataFrame({"stimulus": [str(i) for i in range(60)], "question": "q", "truth": truth, "said": answer})
        models.append(Entrant(model=str(k), rows=rows, value=float(np.corrcoef(truth, answer)[0, 1])))
    pairs = compare(models, TASK)
    kinds = set()
    for pair in pairs:
        adjusted, alone = pair.difference_adjusted, pair.difference
        assert pair.p_adjusted is not None
        assert None not in (adjusted.low, adjusted.high, alone.low, alone.high)
        outside = not adjusted.low <= 0 <= adjusted.high  # type: ignore[operator]  # checked above
        assert outside == (pair.p_adjusted < 0.05) == pair.apart
        assert "Holm's correction over 6 pairs" in adjusted.interval
        assert adjusted.confidence >= alone.confidence
        assert adjusted.low <= alone.low + 1e-12  # type: ignore[operator]  # checked above
        kinds.add(outside)
        plain = made.as_json(pair)
        assert plain["p_adjusted_by"] == "Holm over 6 pairs"
    assert kinds == {True, False}


@pytest.mark.slow
def test_the_page_shows_both_and_says_what_they_speak_of() -> None:
    snapshot, truth = made.numbers(per_cell=4)
    draw = stream(6, "tests", "systems")

    def model(name: str, noise: float) -> Any:
        rows = [{"stimulus": n, "question": "valence", "value": v + draw.normal(0, noise)} for n, v in truth.items()]
        return made.predictions(name, rows)

    result = score(snapshot, pl.concat([model("good", 0.4), model("fair", 1.0)]), ScoreOptions(slices=()))
    section = comparisons(result)
    assert section is not None
    html = str(section.html)
    assert "valence: for other systems" in html
    assert "p (this pair alone)" in html
    assert "p (Holm over 1)" in html
    assert "difference on system means" in html
    assert (
        "Ranks generalise to other clips of these systems; for other systems its rank is"
        in sentences(result, result.tasks[0])[0]
    )
