"""Agreement by part: planted biases and failures are named, worth agrees with one rater, stacks are asked fairly."""

from __future__ import annotations

import json
import wave
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.media.probe import probe_stimuli
from heartfelt.report.site.sources.boards import _without_oracles
from heartfelt.scoring import ScoreOptions, Scores, score, truth_of
from heartfelt.scoring.bench import bench
from heartfelt.scoring.bench.stacking import stacks_of, with_stacks
from heartfelt.scoring.comparison.by_part import stimulus_groups, thirds
from heartfelt.scoring.comparison.label_raters import LabelRaters
from heartfelt.scoring.comparison.leaderboard import ScoredRun, boards_of
from heartfelt.scoring.comparison.part_errors import Gaps, ModelErrors, part_errors, system_biases
from heartfelt.scoring.results.parts import PartAgreement, PartError
from heartfelt.serialization import from_json
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.stats.columns.triples import Ints
from heartfelt.stats.inference.posthoc import holm
from heartfelt.stats.prediction.calibration_line import calibration_line
from tests.facts import mentions
from tests.scoring import made

FEW = ScoreOptions(resamples=100)


def predicted(
    truth: dict[str, float], model: str = "m", *, sd: float = 0.4, seed: int = 0, off: dict[str, float] | None = None
) -> pl.DataFrame:
    """Predictions with noise, moved by ``off`` for the systems it names."""
    draw, off = np.random.default_rng(seed), off or {}
    rows = [
        {
            "stimulus": name,
            "question": "valence",
            "value": value + draw.normal(0, sd) + off.get(name.split("_")[0], 0.0),
        }
        for name, value in truth.items()
    ]
    return made.predictions(model, rows)


@pytest.fixture(scope="module")
def numbers() -> tuple[Snapshot, dict[str, float]]:
    return made.numbers(per_cell=6, raters=8)


@pytest.fixture(scope="module")
def biased(numbers: tuple[Snapshot, dict[str, float]]) -> Scores:
    """One model that is 1.5 too high on S3."""
    snapshot, truth = numbers
    return score(snapshot, predicted(truth, off={"S3": 1.5}), FEW)


def test_a_biased_system_is_named(biased: Scores) -> None:
    (calibration,) = biased.parts.calibrations
    rows = {row.system: row for row in calibration.systems}
    assert [name for name, row in rows.items() if row.differs] == ["S3"]
    assert rows["S3"].bias.low is not None
    assert rows["S3"].bias.low < 1.5 < (rows["S3"].bias.high or 0)
    assert rows["S3"].prediction - float(rows["S3"].label) == pytest.approx(float(rows["S3"].bias))
    assert calibration.of == "numbers"
    assert calibration.over_systems.slope.counts["systems"] == 8
    assert calibration.over_stimuli.bias.value == pytest.approx(1.5 / 8, abs=0.15)


def test_the_part_where_a_model_fails_is_named(biased: Scores) -> None:
    worst = biased.parts.worst("valence", "m")
    assert worst is not None
    assert (worst.column, worst.value) == ("system", "S3")
    assert worst.beyond == pytest.approx((1.5**2 + 0.4**2) ** 0.5, abs=0.3)
    assert {row.column for row in biased.parts.errors} == {"system", "intent"}
    assert not any(row.differs for row in biased.parts.errors if row.column == "intent")
    assert mentions(biased.parts.sentences("valence"), "system", "S3")
    assert any("by loudness" in note for note in biased.parts.notes)


def test_errors_without_the_noise_of_labels_are_those_from_the_true_values() -> None:
    snapshot, truth = made.numbers(per_cell=20, raters=4, noise=1.4)
    rows = score(snapshot, predicted(truth, sd=0.5), FEW).parts.errors
    beyond = [row.beyond for row in rows if row.column == "intent"]
    assert beyond == pytest.approx([0.5] * 3, abs=0.2)
    for row in rows:
        assert row.error.value is not None
        assert row.from_noise is not None
        assert row.error.value > 0.6
        assert row.from_noise == pytest.approx(0.7, abs=0.15)


def test_a_further_rater_is_worth_one_rating() -> None:
    snapshot, truth = made.numbers(per_cell=30, raters=8)
    draw = np.random.default_rng(1)
    rows = [
        {"stimulus": name, "question": "valence", "value": float(np.clip(np.rint(v + draw.normal()), 1, 9))}
        for name, v in truth.items()
    ]
    scores = score(snapshot, made.predictions("rater", rows), FEW)
    (worth,) = scores.parts.worth
    assert worth.ratings.value == pytest.approx(1.0, abs=0.25)
    # One rating against the mean of the others says the same on the scale of correlations.
    one = scores.one_rater("valence")
    assert one.value is not None
    assert scores.headline("valence", "rater").value == pytest.approx(one.value, abs=0.05)


def test_failures_make_a_model_worth_less(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    table = predicted(truth, sd=0.8)
    ok = pl.int_range(pl.len()) % 2 == 0
    failed = table.with_columns(
        ok.alias("ok"), pl.when(ok).then("value").alias("value"), pl.when(~ok).then(pl.lit("HTTP 500")).alias("problem")
    )
    full, half = (score(snapshot, each, FEW).parts.worth[0].ratings for each in (table, failed))
    assert half.value is not None
    assert full.value is not None
    assert half.value < full.value / 2


@pytest.mark.slow
def test_yes_or_no_and_categories() -> None:
    snapshot, chance = made.chances(stimuli=150, raters=5)
    rows = [
        {"stimulus": s, "question": "match", "shares": made.shares({"yes": p, "no": 1 - p})} for s, p in chance.items()
    ]
    parts = score(snapshot, made.predictions("m", rows), FEW).parts
    assert parts.calibrations[0].of == "probabilities"
    assert parts.calibrations[0].over_stimuli.bias.value == pytest.approx(0.0, abs=0.1)
    assert parts.worth[0].at_least is not None
    categories = made.feelings()
    names = categories.stimuli["stimulus"].to_list()
    answers = [{"stimulus": s, "question": "feeling", "answer": "joy"} for s in names]
    worth = score(categories, made.predictions("joy", answers), FEW).parts.worth
    assert "numbers and for yes or no" in (worth[0].ratings.why_missing or "")


def test_scores_off_the_scale_are_put_on_it(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    rows = [{"stimulus": n, "question": "valence", "score": (v - 5) / 10} for n, v in truth.items()]
    parts = score(snapshot, made.predictions("m", rows), FEW).parts
    assert parts.calibrations[0].of == "numbers on the line"
    assert all(row.error.value is not None and row.error.value < 1 for row in parts.errors)


def test_files_without_parts_are_read(biased: Scores) -> None:
    data = made.as_json(biased)
    assert from_json(Scores, data).parts == biased.parts
    del data["parts"]
    old = from_json(Scores, data)
    assert not old.parts.errors
    assert not old.parts.sentences("valence")
    renamed = biased.parts.renamed({"m": "other"})
    for rows in (renamed.errors, renamed.worth, renamed.calibrations):
        assert {row.model for row in rows} == {"other"}


def sounds(folder: Path, numbers: tuple[Snapshot, dict[str, float]], loudest: float) -> Snapshot:
    """The study with a tone for every stimulus, from quiet to loud and from one to three seconds."""
    snapshot, truth = numbers
    for at, name in enumerate(truth):
        seconds, level = 1 + 2 * (at % 9) / 8, loudest ** ((at % 7) / 6) * 0.02
        tone = level * np.sin(2 * np.pi * 440 * np.arange(int(16_000 * seconds)) / 16_000)
        with wave.open(str(folder / f"{name}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16_000)
            file.writeframes((tone * 32_767).astype(np.int16).tobytes())
    bare = snapshot.stimuli.select("stimulus", "system", "intent")
    stimuli = probe_stimuli(bare.with_columns((pl.col("stimulus") + ".wav").alias("path")), folder, "tones")
    return Snapshot.build(
        snapshot.study,
        stimuli=stimuli,
        ratings=snapshot.ratings,
        source=Source(format="simulation", name="felt", media_root=folder),
    )


@pytest.mark.slow
def test_errors_by_loudness_and_length_are_measured(
    tmp_path: Path, numbers: tuple[Snapshot, dict[str, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache" / "loudness.json"
    monkeypatch.setattr("heartfelt.scoring.ground_truth.sound.loudness_cache", lambda: cache)
    snapshot = sounds(tmp_path, numbers, loudest=30.0)
    truth = truth_of(snapshot, loudness=True)
    # Files that have not changed are read from the cache, whatever it says.
    stored = json.loads(cache.read_text())
    assert len(stored) == len(numbers[1])
    cache.write_text(json.dumps(dict.fromkeys(stored, -20.0)))
    assert truth_of(snapshot, loudness=True).items["loudness"].unique().to_list() == [-20.0]
    cache.write_text("broken")
    assert truth_of(snapshot, loudness=True).items["loudness"].equals(truth.items["loudness"])
    loudness = truth.items["loudness"]
    assert np.ptp(loudness.to_numpy()) == pytest.approx(20 * np.log10(30), abs=0.5)
    assert truth.items["length"].max() == pytest.approx(3.0)
    # Errors grow with loudness.
    loud = dict(zip(truth.items["stimulus"], loudness, strict=True))
    draw = np.random.default_rng(3)
    top = float(loudness.quantile(0.7) or 0.0)
    rows = [
        {"stimulus": n, "question": "valence", "value": v + draw.normal(0, 2.0 if loud[n] > top else 0.3)}
        for n, v in numbers[1].items()
    ]
    parts = score(truth, made.predictions("m", rows), FEW).parts
    by_loudness = [row for row in parts.errors if row.column == "loudness"]
    assert [row.value.split()[0] for row in by_loudness] == ["high", "low", "middle"]
    assert by_loudness[0].differs
    assert (by_loudness[0].excess.value or 0) > 1
    assert {row.column for row in parts.errors} >= {"length"}
    alike = score(truth_of(sounds(tmp_path, numbers, loudest=1.0), loudness=True), made.predictions("m", rows), FEW)
    assert mentions(alike.parts.notes, "loudness", "clips", "1 LU")


def test_a_slice_by_numbers_has_three_parts(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    stimuli = snapshot.stimuli.with_columns(pl.int_range(pl.len()).cast(pl.Float64).alias("tempo"))
    timed = Snapshot.build(snapshot.study, stimuli=stimuli, ratings=snapshot.ratings)
    scores = score(timed, predicted(truth), replace(FEW, slices=("tempo",)))
    values = {row.value for row in scores.slices if row.column == "tempo"}
    assert values == {"low (0 to 47)", "middle (48 to 95)", "high (96 to 143)"}
    assert {row.value for row in scores.parts.errors if row.column == "tempo"} == values
    assert thirds(pl.Series([1, 2, None, 2])).to_list() == ["1", "2", None, "2"]


def test_columns_that_cut_alike_are_sliced_by_once(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    stimuli = snapshot.stimuli.with_columns(("by " + pl.col("system").cast(pl.String)).alias("maker"))
    doubled = Snapshot.build(snapshot.study, stimuli=stimuli, ratings=snapshot.ratings)
    columns = {row.column for row in score(doubled, predicted(truth), FEW).slices}
    assert "system" in columns
    assert "maker" not in columns


@pytest.mark.slow
def test_parts_that_do_not_differ_are_seldom_named() -> None:
    named = 0
    for seed in range(60):
        snapshot, truth = made.numbers(per_cell=2, raters=5, seed=seed)
        named += score(snapshot, predicted(truth, seed=seed), FEW).parts.worst("valence", "m") is not None
    # Both columns together at 5%.
    assert named <= 7


def errors_of(
    wrong: list[float],
    columns: dict[str, list[str]],
    *,
    group: Ints | None = None,
    unit: str = "stimuli",
    squared: bool = True,
) -> list[PartError]:
    """The errors by part of a model that is so wrong."""
    compared = ModelErrors(
        model="m",
        task="t",
        wrong=np.array(wrong),
        noise=None,
        stimulus=np.arange(len(wrong)),
        squared=squared,
        group=group,
        unit=unit,
    )
    return part_errors(compared, columns, 0.95)


def test_the_bias_of_a_system_takes_raters_as_a_sample() -> None:
    """Six raters whose levels differ rate everything; the model knows the true means."""
    called, holds, systems = 0, 0, np.arange(48) % 4
    item, rater = (axis.ravel() for axis in np.indices((48, 6)))
    for seed in range(60):
        draw = np.random.default_rng(seed)
        true = draw.normal(size=48)
        value = true[item] + draw.normal(0, 0.7, 6)[rater] + draw.normal(0, 0.5, item.size)
        name = pl.Series("stimulus", [f"s{at}" for at in range(48)])
        rows = pl.DataFrame({"stimulus": name, "question": "q", "system": "A", "intent": "i"}).with_columns(
            pl.Series("truth", value.reshape(48, 6).mean(axis=1))
        )
        answers = pl.DataFrame({"stimulus": name.gather(item), "question": "q", "value": value, "known": True})
        answers = answers.with_columns(pl.Series("rater", [f"r{at}" for at in rater]))
        raters = LabelRaters.of(rows, answers)
        assert raters is not None
        predicted = true + draw.normal(0, 0.3, 48)
        gaps = Gaps(label=rows["truth"].to_numpy(), predicted=predicted, group=np.arange(48))
        gaps = replace(gaps, of_raters=partial(raters.of_bias, predicted=predicted))
        called += any(row.differs for row in system_biases(gaps, [f"S{at}" for at in systems], 0.95))
        line = calibration_line(gaps.label, predicted, raters=raters.of_line(np.ones(48, np.bool_), predicted))
        holds += (line.bias.low or 0.0) <= 0 <= (line.bias.high or 0.0)
    # Over stimuli alone more than 30 of 60 are called biased.
    assert called <= 8
    assert holds >= 52


def test_where_raters_are_unknown_biases_say_so(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    anonymous = Snapshot.build(
        snapshot.study,
        stimuli=snapshot.stimuli,
        ratings=snapshot.ratings.with_columns(pl.lit(None, dtype=pl.String).alias("rater")),
    )
    named, unnamed = (score(data, predicted(truth), FEW).parts for data in (snapshot, anonymous))
    intervals = [parts.calibrations[0].systems[0].bias.interval for parts in (named, unnamed)]
    assert intervals == ["Student t over stimuli and raters", "Student t over stimuli"]
    assert [any("who gave the ratings" in note for note in parts.notes) for parts in (named, unnamed)] == [False, True]


def test_columns_are_corrected_together() -> None:
    draw = np.random.default_rng(5)
    wrong = draw.chisquare(1, 60)
    columns = {f"c{k}": [str(name) for name in draw.integers(0, 4, 60)] for k in range(5)}
    rows = errors_of(wrong.tolist(), columns)
    p = np.array([row.p for row in rows], np.float64)
    assert p.size == 20
    assert [row.p_adjusted for row in rows] == pytest.approx(holm(p.tolist()).adjusted)
    assert min(row.p_adjusted or 1.0 for row in rows) == pytest.approx(min(20 * p.min(), 1.0))


def test_a_part_of_three_prompts_is_not_tested_but_one_prompt_is() -> None:
    group: Ints = np.repeat(np.arange(12), 6)
    wrong = np.random.default_rng(6).chisquare(1, 72).tolist()
    columns = {"intent": [f"i{name // 3}" for name in group], "prompt": [f"p{name}" for name in group]}
    rows = errors_of(wrong, columns, group=group, unit="groups of stimuli (by prompt)")
    for row in rows:
        if row.column == "intent":
            reason = "3 groups of stimuli (by prompt); at least 4 are needed"
            assert row.p is None
            assert row.excess.why_no_interval == f"{reason} on both sides"
            assert row.error.why_no_interval == reason
        else:
            # Parts that are prompts themselves are compared over their stimuli.
            assert row.p is not None
            assert "over stimuli" in row.error.interval


def test_a_single_stimulus_or_group_is_named_in_the_singular() -> None:
    wrong = np.random.default_rng(9).chisquare(1, 40).tolist()
    group: Ints = np.repeat(np.arange(10), 4)
    columns = {"c": ["a", *["b"] * 39]}
    for unit, words in (("stimuli", "1 stimulus"), ("groups of stimuli (by prompt)", "1 group of stimuli (by prompt)")):
        rows = errors_of(wrong, columns, group=None if unit == "stimuli" else group, unit=unit)
        assert rows[0].error.why_no_interval == f"{words}; at least 4 are needed"
    bias = system_biases(Gaps(label=np.zeros(4), predicted=np.ones(4), group=np.zeros(4, np.int64)), ["A"] * 4, 0.95)[
        0
    ].bias
    assert mentions(bias.why_no_interval, "1 stimulus", "3")


def test_a_part_without_a_wrong_answer_has_an_interval_with_width() -> None:
    rows = errors_of([0.0] * 10 + [1.0, 0.0] * 10, {"c": ["a"] * 10 + ["b"] * 20}, squared=False)
    assert rows[0].error.value == 0.0
    assert rows[0].error.low == 0.0
    assert 0.1 < (rows[0].error.high or 0.0) < 0.5


@pytest.mark.slow
def test_labels_by_few_raters_are_no_failure_and_a_single_rating_has_its_noise() -> None:
    called, of_noise = 0, []
    for seed in range(6):
        snapshot, truth = made.numbers(per_cell=3, raters=9, noise=2.0, seed=seed)
        # The clips of S0 have two raters each, one of them a single one.
        rank = pl.int_range(pl.len()).over("stimulus")
        few = snapshot.ratings.filter(
            ~pl.col("stimulus").str.starts_with("S0_") | (rank < 2) & ((pl.col("stimulus") != "S0_calm_0") | (rank < 1))
        )
        thin = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=few)
        rows = score(thin, predicted(truth, seed=seed), FEW).parts.errors
        (first,) = (row for row in rows if row.value == "S0")
        assert first.from_noise is not None
        of_noise.append(first.from_noise)
        called += (first.p or 1.0) < 0.05
    assert called <= 2
    assert np.mean(np.square(of_noise)) == pytest.approx((8 * 2.0 + 4.0) / 9, rel=0.3)


def test_clips_of_one_prompt_count_as_one(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    prompted = Snapshot.build(
        snapshot.study,
        stimuli=snapshot.stimuli.with_columns(("p" + (pl.int_range(pl.len()) // 4).cast(pl.String)).alias("prompt")),
        ratings=snapshot.ratings,
    )
    alone, together = (score(each, predicted(truth), FEW).parts for each in (snapshot, prompted))
    assert together.calibrations[0].over_stimuli.slope.counts["groups"] == 36
    assert "groups" not in alone.calibrations[0].over_stimuli.slope.counts
    assert any("same prompt count as one group" in note for note in together.notes)
    assert not any("count as one group" in note for note in alone.notes)
    intervals = [
        next(row.error.interval for row in parts.errors if row.column == "intent") for parts in (alone, together)
    ]
    assert intervals == ["Student t over stimuli, log scale", "Student t over groups of stimuli (by prompt), log scale"]
    # Without a snapshot, the columns of the benchmark's stimuli say the same.
    assert replace(truth_of(prompted), snapshot=None).items["prompt"].n_unique() == 36
    without = stimulus_groups(replace(truth_of(prompted), snapshot=None))
    assert without is not None
    assert without.by == "prompt"
    assert len(set(without.of_stimulus.values())) == 36


def test_stacks_leave_out_what_is_made_of_labels(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    tables = [predicted(truth, name, sd=1.0, seed=at) for at, name in enumerate("abc")]
    scores = score(snapshot, pl.concat(tables), FEW)
    scores = with_stacks(scores, truth_of(snapshot))
    assert [row.unit for row in scores.parts.stacks] == ["stimuli", "systems", "intents"]
    first = scores.parts.stacks[0]
    assert first.gains
    assert (first.result.difference.low or 0) > 0
    assert {weight.model for weight in first.result.weights} == {"a", "b", "c"}
    assert any("beats the best" in line for line in scores.parts.sentences("valence"))
    assert from_json(Scores, made.as_json(scores)).parts == scores.parts
    with_labels = bench(snapshot, ["system-mean", "intent", "human"]).scores
    (stack,) = with_labels.parts.stacks
    assert set(stack.left_out) == {"system-mean", "intent", "human"}
    assert stack.result.stack.value is None


def test_a_lottery_of_noise_is_no_gain(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    flat = dict.fromkeys(truth, 5.0)
    tables = [predicted(flat, name, sd=1.0, seed=at) for at, name in enumerate("abcd")]
    scores = score(snapshot, pl.concat(tables), FEW)
    assert not any(rank.beats_chance for rank in scores.ranks)
    assert not any(stack.gains for stack in stacks_of(scores, scores.tasks[0]))


def test_prompts_stay_in_one_fold(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    stimuli = snapshot.stimuli.with_columns(("p" + (pl.int_range(pl.len()) % 16).cast(pl.String)).alias("prompt"))
    prompted = Snapshot.build(snapshot.study, stimuli=stimuli, ratings=snapshot.ratings)
    tables = [predicted(truth, name, sd=1.0, seed=at) for at, name in enumerate("ab")]
    scores = score(prompted, pl.concat(tables), FEW)
    first = next(stacks_of(scores, scores.tasks[0], prompted.stimuli))
    assert first.unit == "stimuli (by prompt)"
    assert first.result.stack.counts["clusters"] == 16


def test_boards_join_the_parts_of_runs_and_hide_those_of_hidden_labels(
    numbers: tuple[Snapshot, dict[str, float]], biased: Scores
) -> None:
    other = score(numbers[0], predicted(numbers[1], seed=9), FEW)
    runs = [
        ScoredRun(name="one", scores=biased, items=biased.rows),
        ScoredRun(name="two", scores=other, items=other.rows),
    ]
    (board,) = boards_of(runs)
    assert {row.model for row in board.scores.parts.worth} == {"m (one)", "m (two)"}
    assert {row.model for row in board.scores.parts.errors} == {"m (one)", "m (two)"}
    # By part, statistics of hidden labels would be of few items each.
    assert _without_oracles(biased).parts == PartAgreement()


def test_a_model_may_be_named_like_a_column(numbers: tuple[Snapshot, dict[str, float]]) -> None:
    snapshot, truth = numbers
    stacks = []
    for names in ("ab", ("truth", "system")):
        tables = [predicted(truth, name, sd=1.0, seed=at) for at, name in enumerate(names)]
        scores = score(snapshot, pl.concat(tables), FEW)
        stacks.append([(stack.unit, stack.result.stack.value) for stack in stacks_of(scores, scores.tasks[0])])
    assert stacks[0] == stacks[1] != []
