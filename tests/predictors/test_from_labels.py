"""Predictors made of labels and ratings: an item's own label tells its prediction nothing that others are not told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import heartfelt
from heartfelt.datasets.emolia.reader import EMO
from heartfelt.errors import HeartfeltError
from heartfelt.labels import freeze, labels
from heartfelt.predictors import Run, cases, predictor_from, run
from heartfelt.scoring import ScoreOptions, score
from heartfelt.snapshot import Snapshot
from tests.datasets.emolia_data import WORDS, emo
from tests.facts import mentions
from tests.predictors.studies import snapshot, study

LEARNING = ("constant", "system-mean", "intent", "human")


def learnt(spec: str, data: Snapshot, questions: list[str] | None = None) -> Run:
    predictor = predictor_from(spec)
    predictor.learn(data, labels(data).table)
    return run(predictor, cases(data, questions))


def random_study(n: int, seed: int = 0) -> Snapshot:
    """``n`` stimuli of two systems and two intents whose labels are noise around their cell's mean."""
    draw = np.random.default_rng(seed)
    names = [f"c{place}" for place in range(n)]
    stimuli = pl.DataFrame(
        {
            "stimulus": names,
            "system": ["AB"[place % 2] for place in range(n)],
            "intent": [("happy", "sad")[(place // 2) % 2] for place in range(n)],
        }
    )
    rows = []
    for place, name in enumerate(names):
        centre = 5 + (1 if place % 2 else -1) + (1.5 if (place // 2) % 2 else -1.5) + draw.normal(0, 0.8)
        for rater in ("r1", "r2", "r3"):
            value = float(np.clip(np.round(centre + draw.normal(0, 0.7)), 1, 9))
            rows.append({"rater": rater, "stimulus": name, "question": "valence", "value": value})
            rows.append({"rater": rater, "stimulus": name, "question": "fits", "value": float(draw.random() < 0.5)})
    return Snapshot.build(study(), stimuli=stimuli, ratings=pl.DataFrame(rows))


def values(done: Run, data: Snapshot, question: str) -> tuple[np.ndarray, np.ndarray]:
    truth = labels(data).table.select("stimulus", "question", pl.col("value").alias("label"))
    both = done.table.join(truth, on=["stimulus", "question"], maintain_order="left").filter(
        pl.col("question") == question
    )
    return both["value"].to_numpy(), both["label"].to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNING)
def test_an_items_own_label_moves_its_prediction_no_more_than_the_constant(name: str) -> None:
    """Every rating of one stimulus is changed: its own prediction moves as the mean of all labels does."""
    data = random_study(40)
    changed = data.ratings.with_columns(
        pl.when((pl.col("stimulus") == "c7") & (pl.col("question") == "valence"))
        .then(10 - pl.col("value"))
        .otherwise(pl.col("value"))
        .alias("value")
    )
    other = Snapshot.build(data.study, stimuli=data.stimuli, ratings=changed)
    of_c7 = (pl.col("stimulus") == "c7") & (pl.col("question") == "valence")
    before, after = learnt(name, data), learnt(name, other)
    if name == "human":
        row = before.table.filter(of_c7).row(0, named=True)
        answer = data.ratings.filter(of_c7)["value"].to_list()
        answer.remove(row["value"])
        assert row["against"] == pytest.approx(np.mean(answer))
        return
    labelled = [labels(source).table.filter(pl.col("question") == "valence") for source in (data, other)]
    shift = float(labelled[1]["value"].to_numpy().mean() - labelled[0]["value"].to_numpy().mean())
    assert shift != 0
    moved = float(after.table.filter(of_c7)["value"][0]) - float(before.table.filter(of_c7)["value"][0])
    assert moved == pytest.approx(shift)


@pytest.mark.slow
def test_the_constant_is_the_mean_of_all_labels() -> None:
    data = random_study(40)
    done = learnt("constant", data, ["valence", "fits"])
    predicted, true = values(done, data, "valence")
    assert predicted == pytest.approx(np.full(true.size, true.mean()))
    answer, fits = values(done, data, "fits")
    assert np.unique(answer).tolist() == [float(np.mean(fits) > 0.5)]
    assert done.counts["failed"] == 0


@pytest.mark.slow
def test_the_cell_and_the_system_by_hand() -> None:
    data = random_study(40)
    table = labels(data).table.filter(pl.col("question") == "valence").join(data.stimuli, on="stimulus")
    everything = float(table["value"].to_numpy().mean())
    for name, keys in (("system-mean", ["system"]), ("intent", ["system", "intent"])):
        result = dict(learnt(name, data, ["valence"]).table.select("stimulus", "value").rows())
        given = table.with_columns(pl.col("stimulus").replace_strict(result).alias("given"))
        by_group: dict[tuple[object, ...], list[float]] = {}
        for group, rows in given.group_by(keys):
            # Two predictions in every group, one for each half of its stimuli.
            two = sorted(rows["given"].unique().to_list())
            assert len(two) == 2
            by_group[group] = two
            sizes = rows["given"].value_counts()["count"].to_list()
            assert max(sizes) - min(sizes) <= 1
            halves = [rows.filter(pl.col("given") == value)["value"].to_numpy().mean() for value in two]
            # What lies above the constant in one half is what the labels of the other half lie above that half's mean.
            assert np.sign(halves[0] - halves[1]) == -np.sign(two[0] - two[1]) or keys == ["system"]
        middle = np.mean([np.mean(two) for two in by_group.values()])
        assert middle == pytest.approx(everything, abs=1e-9)


def noise_study(draw: np.random.Generator, systems: int = 4, clips: int = 8) -> Snapshot:
    """Labels that depend on nothing."""
    names = [f"c{place}" for place in range(systems * clips)]
    stimuli = pl.DataFrame(
        {
            "stimulus": names,
            "system": [f"S{place % systems}" for place in range(len(names))],
            "intent": [("happy", "sad")[(place // systems) % 2] for place in range(len(names))],
        }
    )
    rows = [
        {"rater": "r", "stimulus": name, "question": question, "value": float(draw.integers(*ends))}
        for name in names
        for question, ends in (("valence", (1, 10)), ("fits", (0, 2)))
    ]
    return Snapshot.build(study(), stimuli=stimuli, ratings=pl.DataFrame(rows))


@pytest.mark.slow
def test_baselines_do_not_correlate_with_noise() -> None:
    """Leaving each item out gave a mean correlation of -.18 (``system-mean``) and -.09 (``intent``) in studies like these."""
    draw = np.random.default_rng(3)
    found: dict[str, list[float]] = {"system-mean": [], "intent": []}
    for _ in range(30):
        data = noise_study(draw)
        table = labels(data).table
        true = dict(table.filter(pl.col("question") == "valence").select("stimulus", "value").rows())
        asked = cases(data, ["valence"])
        for name, sample in found.items():
            predictor = predictor_from(name)
            predictor.learn(data, table)
            given = [
                (predictor.predict_one(case, ask).value, true[case.stimulus]) for case in asked for ask in case.asks
            ]
            columns = np.array(given, np.float64).T
            sample.append(float(np.corrcoef(columns[0], columns[1])[0, 1]))
    for name, sample in found.items():
        assert abs(np.mean(sample)) < 2.5 * np.std(sample, ddof=1) / np.sqrt(30) < 0.13, name


@pytest.mark.slow
def test_baselines_have_no_score_that_is_one_by_construction() -> None:
    data = noise_study(np.random.default_rng(4))
    names = ("constant", "system-mean", "intent")
    tables = [learnt(name, data, ["valence", "fits"]).table for name in names]
    scores = score(data, pl.concat(tables), ScoreOptions(ceilings=False, resamples=100))
    for name in names:
        for level in ("system", "within cells"):
            result = scores.find("valence", name, "pearson", level)
            assert result is not None
            assert result.with_failures.why_missing, (name, level)
    for metric in ("pearson", "spearman", "kendall"):
        none = scores.find("valence", "constant", metric)
        assert none is not None
        assert mentions(none.with_failures.why_missing, "predictions", "vary")
    for task, metric in (("valence", "rmse"), ("fits", "balanced_accuracy"), ("fits", "brier")):
        same = scores.find(task, "constant", metric)
        assert same is not None
        assert same.with_failures.value == pytest.approx(same.chance.value)
    assert {row.model for row in scores.slices} <= {"constant"}


def test_categories_get_the_majority_and_its_shares(tmp_path: Path) -> None:
    data = snapshot(tmp_path, 8)
    done = learnt("system-mean", data)
    row = done.table.filter((pl.col("stimulus") == "clip_000.wav") & (pl.col("question") == "mood")).row(0, named=True)
    assert (row["value"], row["answer"]) == (0.0, "joy")
    assert row["shares"] == '{"joy": 0.5, "grief": 0.5, "calm": 0.0}'
    assert row["score"] is None
    row = done.table.filter((pl.col("stimulus") == "clip_000.wav") & (pl.col("question") == "fits")).row(0, named=True)
    assert (row["value"], row["score"]) == (1.0, 1.0)
    assert mentions(row["note"], "stimuli", "2 labels")


@pytest.mark.slow
def test_an_empty_cell_falls_back_and_says_so(tmp_path: Path) -> None:
    data = snapshot(tmp_path, 3)
    done = learnt("intent", data, ["valence"])
    notes = dict(done.table.select("stimulus", "note").rows())
    assert notes == {
        "clip_000.wav": "from the other half of the stimuli: 1 label of happy, whatever the system",
        "clip_001.wav": "from the other half of the stimuli: 1 label of happy, whatever the system",
        "clip_002.wav": "from the other half of the stimuli: 1 label of A, whatever the intent",
    }
    done = learnt("system-mean", data, ["valence"])
    assert done.table["note"][1] == "from all 3 labels"


@pytest.mark.slow
def test_questions_of_one_kind_count_together_for_the_constant(tmp_path: Path) -> None:
    """An emotion with a single item still gets a majority; the task type, which tells the answer, is not looked at."""
    done = learnt("constant", emo(tmp_path))
    assert done.counts["failed"] == 0
    assert set(done.table["note"]) == {"from all 4 labels"}


@pytest.mark.slow
def test_a_given_constant() -> None:
    data = random_study(4)
    assert learnt("constant:3.5", data, ["valence"]).table["value"].to_list() == [3.5] * 4
    assert learnt("constant:yes", data, ["fits"]).table["answer"].to_list() == ["yes"] * 4
    assert set(learnt("constant:12", data, ["valence"]).table["problem"]) == {"12 is not on the scale from 1 to 9"}
    assert set(learnt("constant:maybe", data).table["problem"]) == {"'maybe' is not on the scale of this question"}


@pytest.mark.slow
def test_the_left_out_rater_is_a_real_one_and_the_seed_decides_which() -> None:
    data = random_study(60)
    done = learnt("human", data, ["valence"])
    given = data.ratings.filter(pl.col("question") == "valence").group_by("stimulus").agg("value")
    ratings = {name: list(result) for name, result in given.iter_rows()}
    for row in done.table.iter_rows(named=True):
        rest = list(ratings[row["stimulus"]])
        rest.remove(row["value"])
        assert row["against"] == pytest.approx(np.mean(rest))
        assert row["note"] == "one rater against 2 others"
    assert learnt("human", data, ["valence"]).table.drop("seconds").equals(done.table.drop("seconds"))
    other = learnt("human[seed=1]", data, ["valence"])
    assert other.table["value"].to_list() != done.table["value"].to_list()


@pytest.mark.slow
def test_one_person_may_be_named() -> None:
    data = random_study(10)
    done = learnt("human:r2", data, ["valence"])
    own = data.ratings.filter((pl.col("rater") == "r2") & (pl.col("question") == "valence"))
    assert done.table["value"].to_list() == own["value"].to_list()
    with pytest.raises(HeartfeltError, match=r"rater.*ratings.*'r9'"):
        learnt("human:r9", data)


def votes(answers: list[list[int]], folder: Path) -> Snapshot:
    """Items of emolia-emo with these votes."""
    rows = [
        f"{place}{who},u{who},Joy,Joy,affirmative,f{place}.mp3,{WORDS[code]},1,1,2026-04-15 12:00:00"
        for place, codes in enumerate(answers)
        for who, code in enumerate(codes)
    ]
    folder.mkdir()
    (folder / "annotations.csv").write_text("\n".join([",".join(EMO.columns), *rows]) + "\n")
    return heartfelt.read(folder, "emolia-emo")


@pytest.mark.slow
def test_what_a_left_out_rater_cannot_be_held_against(tmp_path: Path) -> None:
    """Whoever is left out, the others are tied between absent and present, or there is nobody else."""
    done = learnt("human", votes([[0], [0, 0, 0]], tmp_path / "a"))
    assert done.table["problem"].to_list() == ["only one person rated this item", None]
    three = learnt("human:u0", votes([[2, 0, 1], [0, 2, 0]], tmp_path / "b"))
    assert three.table["problem"].to_list() == ["the other raters are tied"] * 2


@pytest.mark.slow
def test_others_tied_on_degrees_still_say_present(tmp_path: Path) -> None:
    done = learnt("human:u0", votes([[0, 1, 2], [0, 2, 1, 0], [2, 0, 0, 1, 1]], tmp_path / "a"))
    assert done.table["against"].to_list()[:2] == [1.0, 1.0]
    assert done.table["problem"].to_list() == [None, None, "the other raters are tied"]


@pytest.mark.slow
def test_from_a_benchmark(tmp_path: Path) -> None:
    data = snapshot(tmp_path, 8)
    frozen = freeze(data)
    for name in ("constant", "system-mean", "intent"):
        predictor = predictor_from(name)
        predictor.learn(frozen, frozen.items)
        done = run(predictor, cases(frozen))
        assert done.table.drop("seconds").equals(learnt(name, data).table.drop("seconds")), name
    with pytest.raises(HeartfeltError, match="no single ratings"):
        predictor_from("human").learn(frozen, frozen.items)


@pytest.mark.slow
def test_nothing_learnt_is_told_and_what_was_learnt_is_part_of_the_identity() -> None:
    data, other = random_study(20), random_study(20, seed=1)
    for name in LEARNING:
        predictor = predictor_from(name)
        assert set(run(predictor, cases(data)).table["problem"]) == {"the predictor has not seen any labels"}
        assert learnt(name, data).identity != learnt(name, other).identity
