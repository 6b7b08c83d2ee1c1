from __future__ import annotations

import itertools
import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from heartfelt.analysis import Analysis, analyze
from heartfelt.analysis.consistency.live import field_agreements
from heartfelt.analysis.data.material import prepare
from heartfelt.analysis.findings.categories import CategoryQuestion
from heartfelt.analysis.summary import Summary
from heartfelt.analysis.text.categories import sentences
from heartfelt.serialization import from_json, to_json
from heartfelt.snapshot import Snapshot
from heartfelt.stats.groups.geometry import ellipse
from heartfelt.study.scales.answer import NONE
from tests.analysis.emotions import EMOTIONS, emotion_snapshot
from tests.facts import mentions

SOURCE = "the same figures by hand from the ratings: Counter, scipy.stats.f_oneway and fisher_exact"


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return emotion_snapshot()


@pytest.fixture(scope="module")
def made(snapshot: Snapshot) -> Analysis:
    return analyze(snapshot)


@pytest.fixture(scope="module")
def result(made: Analysis) -> CategoryQuestion:
    (result,) = made.summary.categories or ()
    return result


@pytest.fixture(scope="module")
def label(snapshot: Snapshot) -> dict[str, str | None]:
    """The answer most raters gave, by hand; None for a tie."""
    out: dict[str, str | None] = {}
    for (stimulus,), mine in snapshot.ratings.filter(pl.col("question") == "emotion").group_by("stimulus"):
        ranked = Counter(mine["answer"].to_list()).most_common()
        tied = len(ranked) > 1 and ranked[0][1] == ranked[1][1]
        out[str(stimulus)] = None if tied else ranked[0][0]
    return out


@pytest.fixture(scope="module")
def means(snapshot: Snapshot, label: dict[str, str | None]) -> dict[str, dict[str, list[float]]]:
    """Mean ratings of the stimuli of each category, by question."""
    table = snapshot.ratings.filter(pl.col("question").is_in(["valence", "arousal"]))
    out: dict[str, dict[str, list[float]]] = {"valence": {}, "arousal": {}}
    for stimulus, question, mean in (
        table.group_by("stimulus", "question").agg(pl.mean("value")).sort("stimulus", "question").iter_rows()
    ):
        if label[stimulus]:
            out[question].setdefault(str(label[stimulus]), []).append(mean)
    return out


@pytest.mark.slow
def test_balance_counts_labels_and_ties(result: CategoryQuestion, label: dict[str, str | None]) -> None:
    counts = Counter(label.values())
    balance = result.balance
    assert {row.category: row.n_stimuli for row in balance.rows} == {name: counts[name] for name in EMOTIONS}
    assert (balance.n_stimuli, balance.n_ties) == (48 - counts[None], counts[None])
    assert sum(float(row.share) for row in balance.rows) == pytest.approx(1)
    assert all(row.n_intended == 6 for row in balance.rows)
    shares = [counts[name] for name in EMOTIONS]
    assert balance.evenness.value == pytest.approx(scipy_stats.entropy(shares) / np.log(8), abs=1e-12), SOURCE
    assert balance.intended is not None
    assert balance.intended.n == balance.n_stimuli
    assert balance.intended.p is None or balance.intended.p > 0.05, "the raters were made without a bias"


@pytest.mark.slow
def test_places_are_means_and_ellipses_of_the_stimuli(
    result: CategoryQuestion, means: dict[str, dict[str, list[float]]]
) -> None:
    assert result.axes == ("valence", "arousal")
    for place in result.places:
        for question in result.axes:
            own = means[question][place.category]
            assert place.means[question].value == pytest.approx(np.mean(own), abs=1e-12)
            assert place.means[question].low is not None
        cloud = ellipse(means["valence"][place.category], means["arousal"][place.category])
        assert place.ellipse is not None
        assert place.ellipse.semi_axes == pytest.approx(cloud.semi_axes)
    by_name = {place.category: place for place in result.places}
    assert float(by_name["excitement"].means["arousal"]) > float(by_name["contentment"].means["arousal"]) + 0.3


@pytest.mark.slow
def test_consistency_with_valence_and_arousal(
    result: CategoryQuestion, snapshot: Snapshot, means: dict[str, dict[str, list[float]]]
) -> None:
    for explained in result.explained:
        groups = [np.array(each) for each in means[explained.question].values()]
        f, p = scipy_stats.f_oneway(*groups)
        everything = np.concatenate(groups)
        within = sum(((each - each.mean()) ** 2).sum() for each in groups)
        eta = 1 - within / ((everything - everything.mean()) ** 2).sum()
        assert explained.f == pytest.approx(f), SOURCE
        assert explained.p == pytest.approx(p, rel=1e-6)
        assert explained.eta_squared.value == pytest.approx(eta, abs=1e-12)
        assert explained.eta_squared.low is not None
        assert explained.eta_squared.low < eta < (explained.eta_squared.high or 0)
    wide = snapshot.ratings.filter(pl.col("question").is_in(["emotion", "valence"]))
    both = {(r, s): {} for r, s in wide.select("rater", "stimulus").iter_rows()}  # type: dict[tuple[str, str], dict[str, float]]
    for rater, stimulus, question, value in wide.select("rater", "stimulus", "question", "value").iter_rows():
        both[rater, stimulus][question] = value
    fits: dict[str, list[bool]] = {}
    neutral = 0
    for (_, stimulus), given in both.items():
        if given["valence"] == 0.5:
            neutral += 1
        else:
            fits.setdefault(stimulus, []).append((given["valence"] > 0.5) == (given["emotion"] < 4))
    polarity = result.polarity
    assert polarity is not None
    assert (polarity.n_answers, polarity.n_neutral) == (len(both), neutral)
    assert polarity.share.value == pytest.approx(np.mean([np.mean(each) for each in fits.values()]))
    assert polarity.positive == EMOTIONS[:4]
    recovered = result.recovered
    assert recovered is not None
    assert recovered.baseline is not None
    assert float(recovered.accuracy) > recovered.baseline + 0.2
    assert recovered.confusion is not None
    assert sum(map(sum, recovered.confusion.counts)) == result.balance.n_stimuli


@pytest.mark.slow
def test_confusion_between_raters_counts_every_pair(result: CategoryQuestion, snapshot: Snapshot) -> None:
    pairs: Counter[tuple[str, str]] = Counter()
    for _, mine in snapshot.ratings.filter(pl.col("question") == "emotion").group_by("stimulus"):
        pairs.update(itertools.permutations(mine["answer"].to_list(), 2))
    raters = result.raters
    assert raters is not None
    assert raters.n_pairs == sum(pairs.values()) == 48 * 6
    for i, a in enumerate(EMOTIONS):
        for j, b in enumerate(EMOTIONS):
            assert raters.confusion.counts[i][j] == pairs[a, b]
            total = sum(pairs[a, other] for other in EMOTIONS)
            assert raters.confusion.proportions[i][j] == pytest.approx(pairs[a, b] / total)


@pytest.mark.slow
def test_attributes_that_go_with_emotions(
    result: CategoryQuestion, snapshot: Snapshot, label: dict[str, str | None]
) -> None:
    tables = {table.question: table for table in result.attributes}
    assert set(tables) == {"style", "objects"}, "captions never repeat, so they have no attributes"
    assert set(tables["style"].attributes) == {"oil painting", "photo"}
    objects = tables["objects"]
    table = snapshot.ratings.filter(pl.col("question") == "objects")
    has = {
        stimulus: {
            tag for tag in ("dog", "sky", "spider") if 2 * sum(tag in a.split(";") for a in answers) >= len(answers)
        }
        for stimulus, answers in table.group_by("stimulus").agg("answer").iter_rows()
        if label[stimulus]
    }
    cells = {(cell.attribute, cell.category): cell for cell in objects.cells}
    for tag, category in (("dog", "amusement"), ("spider", "fear"), ("sky", "awe")):
        both = sum(tag in tags and label[s] == category for s, tags in has.items())
        n_tag, n_category = sum(tag in tags for tags in has.values()), sum(label[s] == category for s in has)
        cell = cells[tag, category]
        assert (cell.n_both, objects.attributes[tag], objects.by_category[category]) == (both, n_tag, n_category)
        assert cell.lift == pytest.approx(both * len(has) / n_tag / n_category)
        square = [[both, n_tag - both], [n_category - both, len(has) - n_tag - n_category + both]]
        assert cell.p_alone == pytest.approx(scipy_stats.fisher_exact(np.array(square)).pvalue, rel=1e-9), SOURCE
        assert cell.p is not None
        assert cell.p >= (cell.p_alone or 0)
    assert cells["dog", "amusement"].significant
    assert not cells["sky", "awe"].significant


@pytest.mark.slow
def test_agreement_on_every_field(made: Analysis) -> None:
    fields = {each.question: each for each in made.summary.field_agreement or ()}
    assert list(fields) == [question.id for question in made.snapshot.study.asked]
    assert fields["valence"].alpha == (made.summary.reliability or {})["valence"].alpha_interval
    assert fields["emotion"].alpha == (made.summary.reliability or {})["emotion"].alpha_nominal
    assert "texts" in (fields["caption"].alpha.why_missing or "")
    assert fields["colour"].alpha.why_missing == "nobody answered this question"
    objects = fields["objects"]
    assert "MASI" in objects.alpha.method
    assert objects.jaccard is not None
    assert 0.2 < float(objects.alpha) <= float(objects.jaccard) < 0.95
    assert objects.n_none == made.snapshot.ratings.filter(pl.col("answer") == NONE).height > 0


@pytest.mark.slow
def test_agreement_on_tags_does_not_depend_on_the_order_of_rows(snapshot: Snapshot) -> None:
    found = set()
    for seed in range(8):
        rows = snapshot.ratings.sample(fraction=1, shuffle=True, seed=seed)
        shuffled = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=rows, raters=snapshot.raters)
        (objects,) = (row for row in field_agreements(prepare(shuffled)) if row.question == "objects")
        found.add(repr((objects.alpha.value, objects.alpha.low, objects.alpha.high)))
    assert len(found) == 1


@pytest.mark.slow
def test_results_survive_json(made: Analysis) -> None:
    restored = from_json(Summary, json.loads(json.dumps(to_json(made.summary))))
    assert restored.categories == made.summary.categories
    assert restored.field_agreement == made.summary.field_agreement


@pytest.mark.slow
def test_studies_without_categories_have_no_such_keys() -> None:
    snapshot = emotion_snapshot(2)
    study = snapshot.study.changed(questions=[q for q in snapshot.study.questions if q.id in ("valence", "arousal")])
    ratings = snapshot.ratings.filter(pl.col("question").is_in(["valence", "arousal"])).drop("answer")
    plain = analyze(Snapshot.build(study, stimuli=snapshot.stimuli, ratings=ratings, source=snapshot.source))
    assert {"categories", "field_agreement"}.isdisjoint(to_json(plain.summary))  # type: ignore[arg-type]  # an object


@pytest.mark.slow
def test_few_ratings_are_missing_with_reasons() -> None:
    snapshot = emotion_snapshot(1)
    first = snapshot.ratings.filter(pl.col("stimulus").is_in(["image-000", "image-004"])).unique(
        ["stimulus", "question"], keep="first", maintain_order=True
    )
    small = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=first, source=snapshot.source)
    (result,) = analyze(small).summary.categories or ()
    assert result.recovered is None
    assert "too few" in result.why_missing["recovered"]
    assert mentions(result.why_missing["raters"], "stimulus", "answers")
    assert all(each.eta_squared.why_missing for each in result.explained)
    assert result.attributes == ()


@pytest.mark.slow
def test_paragraphs_for_a_paper_say_it(made: Analysis, result: CategoryQuestion) -> None:
    summary = made.summary
    assert "Stuart-Maxwell test" in summary.methods
    assert "MASI distance of sets" in summary.methods
    assert f"Balance of emotion: {result.balance.n_stimuli} stimuli" in summary.results
    assert "Most confused: where one rater answers" in summary.results


@pytest.mark.slow
def test_a_balanced_study_without_mistakes_is_described_so() -> None:
    snapshot = emotion_snapshot(2)
    meant = snapshot.stimuli.select("stimulus", "intent")
    code = pl.col("intent").replace_strict({name: float(at) for at, name in enumerate(EMOTIONS)})
    ratings = (
        snapshot.ratings.filter(pl.col("question") == "emotion")
        .join(meant, on="stimulus")
        .with_columns(code.alias("value"), pl.col("intent").alias("answer"))
        .drop("intent")
    )
    right = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=ratings, source=snapshot.source)
    (result,) = analyze(right).summary.categories or ()
    words = sentences(result)
    assert mentions(words[0], "16 stimuli", "1.00")
    assert mentions(words[1], "stimulus", "label", "category")
