"""Bad training data is refused or said in words: constant, missing, contradictory and misplaced labels, too little data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import InputError
from heartfelt.report.pages.training import write_evaluation
from heartfelt.snapshot import Snapshot
from heartfelt.streams import stream
from heartfelt.training import ProtocolScore, Trained, TrainOptions, train
from heartfelt.training.heads.card import evaluation_table
from heartfelt.training.heads.evaluating import ALONE
from heartfelt.training.heads.label_checks import LabelColumn, joined_words, not_learnable
from tests.facts import mentions
from tests.training.studies import labelled

NAN, INF = float("nan"), float("inf")


def fit(snapshot: Snapshot, folder: Path) -> Trained:
    return train(snapshot, TrainOptions(recipe="digits", policy="none", heads=("ridge",), features=folder / "features"))


def values(count: int) -> list[float]:
    return [round(float(value), 2) for value in stream(1, "values").uniform(2, 8, count)]


def scores(trained: Trained) -> dict[str, ProtocolScore]:
    return {score.protocol: score for score in trained.evaluation.rows}


@pytest.mark.parametrize(
    ("raters", "labels", "words"),
    [
        (0, [5.0] * 40, "every stimulus has the same label .5."),
        (3, [5.0] * 40, "every stimulus has the same label .5."),
        (0, [5.0 + 1e-9 * at for at in range(40)], "all 40 labels are 5 but for less than a thousandth of the scale"),
        (3, [5.0] * 37 + [2.0, 3.0, 4.0], "all but 3 of 40 labels are 5, and 5 others are needed"),
    ],
)
def test_labels_that_say_nothing_are_refused(tmp_path: Path, raters: int, labels: list[float], words: str) -> None:
    with pytest.raises(InputError, match=f"'valence': {words}") as raised:
        fit(labelled(tmp_path, labels, raters=raters), tmp_path)
    assert "Check which column holds the answers" in raised.value.fix
    assert not (tmp_path / "features").exists()


def test_a_question_that_says_nothing_is_left_out_and_the_others_are_trained(tmp_path: Path) -> None:
    trained = fit(labelled(tmp_path, values(40), [5.0] * 40), tmp_path)
    assert [output.question for output in trained.model.outputs] == ["valence"]
    note = "'valence-again' is not trained: every stimulus has the same label (5): there is nothing to tell apart."
    assert trained.material.notes == trained.model.facts.notes == (note,)
    assert f"- {note}" in trained.model.card
    assert trained.material.ledger.select("what", "question").rows() == [("question", "valence-again")]
    assert trained.material.unreadable == 0


def test_a_question_with_few_labels_is_left_out(tmp_path: Path) -> None:
    trained = fit(labelled(tmp_path, values(40), [*values(19), *[None] * 21]), tmp_path)
    assert [output.question for output in trained.model.outputs] == ["valence"]
    assert mentions(trained.material.notes, "'valence-again'", "19 stimuli", "20")


@pytest.mark.slow
@pytest.mark.parametrize("missing", [NAN, None, INF])
def test_missing_labels_are_counted_wherever_the_result_is_shown(
    tmp_path: Path, missing: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = labelled(tmp_path / "media", [*[missing] * 12, *values(28)])
    trained = fit(snapshot, tmp_path)
    note = "12 of 40 stimuli have no label for 'valence' and were left out."
    assert trained.material.notes == (note,)
    assert note in trained.model.card
    rows = trained.material.ledger
    assert rows["stimulus"].to_list() == snapshot.stimuli["stimulus"].to_list()[:12]
    assert rows["reason"].unique().to_list() == ["no label: its published mean is missing or not a number"]
    write_evaluation(trained, tmp_path / "evaluation")
    assert mentions((tmp_path / "evaluation" / "report.html").read_text(), "12 of 40 stimuli", "label")
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    source = str(snapshot.write(tmp_path / "snapshot"))
    options = ["--recipe", "digits", "--policy", "none", "--heads", "ridge", "-o", str(tmp_path / "model")]
    shown = CliRunner().invoke(app, ["train", source, *options])
    assert shown.exit_code == 0, shown.exception
    assert note in " ".join(shown.stdout.split())
    assert "labels are published means; the number of raters is not stated" in " ".join(shown.stdout.split())


def test_a_stimulus_without_answers_is_counted_too(tmp_path: Path) -> None:
    whole = labelled(tmp_path, values(30), raters=3)
    ratings = whole.ratings.filter(~pl.col("stimulus").str.starts_with("clipb"))
    trained = fit(Snapshot.build(whole.study, stimuli=whole.stimuli, ratings=ratings, source=whole.source), tmp_path)
    assert trained.material.notes == ("4 of 30 stimuli have no label for 'valence' and were left out.",)
    assert set(trained.material.ledger["reason"]) == {"no label: too few usable answers"}


def test_labels_outside_the_scale_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 label.*'valence'.*1.*9.*12") as raised:
        fit(labelled(tmp_path, [12.0, *values(30)]), tmp_path)
    assert "State the scale" in raised.value.fix


def test_copies_of_a_file_with_contradictory_labels_are_told(tmp_path: Path) -> None:
    labels = values(40)
    labels[:4] = [2.0, 8.0, 5.0, 5.5]
    snapshot = labelled(tmp_path, labels)
    for first, second in (("a", "b"), ("c", "d")):
        (tmp_path / f"clipa{second}.wav").write_bytes((tmp_path / f"clipa{first}.wav").read_bytes())
    (note,) = fit(snapshot, tmp_path).material.notes
    assert mentions(note, "1 file", "'valence'")
    assert mentions(note, "clipaa.wav", "2", "clipab.wav", "8")


@pytest.mark.slow
def test_a_clip_alone_in_its_cell_tells_nothing_within_cells(tmp_path: Path) -> None:
    names = [f"S{at}" for at in range(12)]
    trained = fit(labelled(tmp_path / "alone", values(24), systems=names), tmp_path)
    score = scores(trained)["within-cells"]
    assert score.n == 0
    for estimate in (score.pearson, score.rmse):
        assert (estimate.value, estimate.why_missing) == (None, ALONE)
    assert f"- within cells (five folds): {ALONE}." in evaluation_table(trained.evaluation.rows)
    assert "intent and stimulus together" in trained.model.card
    # Of 26 clips, two cells have two.
    trained = fit(labelled(tmp_path / "some", values(26), systems=names), tmp_path)
    assert scores(trained)["within-cells"].n == 4
    assert scores(trained)["five-fold"].n == 26


def test_within_cells_is_what_it_is_without_the_lone_clips(tmp_path: Path) -> None:
    """SOURCE: the correlation and error of what is left when the lone clips are taken out by hand."""
    systems = ["A"] * 12 + ["B"] * 12 + ["C"] * 12 + [f"S{at}" for at in range(6)]
    trained = fit(labelled(tmp_path, values(42), systems=systems, intents=("happy",)), tmp_path)
    table = trained.evaluation.predictions.filter(pl.col("protocol") == "five-fold")[:36]
    apart = [
        (table[name] - table.select(pl.col(name).mean().over("system")).to_series()).to_numpy()
        for name in ("label_everyone", "prediction")
    ]
    score = scores(trained)["within-cells"]
    assert score.n == 36
    assert score.pearson.value == pytest.approx(np.corrcoef(apart[0], apart[1])[0, 1], abs=1e-9)
    assert score.rmse.value == pytest.approx(np.sqrt(np.mean((apart[0] - apart[1]) ** 2)), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raters", "n", "words"),
    [
        (0, None, "labels are published means; the number of raters is not stated"),
        (0, 9, "labels are published means of 9 answers (median); the number of raters is not stated"),
        (0, 0, "labels are published means; the number of raters is not stated"),
        (3, None, "rated by 3 of 3 raters (policy `none`, 90 of 90 ratings)"),
    ],
)
def test_a_card_says_whose_answers_the_labels_are(tmp_path: Path, raters: int, n: int | None, words: str) -> None:
    trained = fit(labelled(tmp_path, values(30), raters=raters, n=n), tmp_path)
    assert f"; {words}." in trained.model.card
    assert "0 of 0" not in trained.model.card
    write_evaluation(trained, tmp_path / "evaluation")
    page = (tmp_path / "evaluation" / "report.html").read_text()
    assert "0 of 0" not in page


def test_labels_that_are_predicted_exactly_have_no_interval_of_nothing(tmp_path: Path) -> None:
    snapshot = labelled(tmp_path, values(40))
    lines = {name: np.loadtxt(tmp_path / name) for name in snapshot.stimuli["stimulus"]}
    exact = {name: 5 + 0.5 * row[0] for name, row in lines.items()}
    means = pl.DataFrame({"stimulus": list(exact), "question": "valence", "mean": list(exact.values())})
    source = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, means=means, source=snapshot.source)
    assert "±0.00" not in fit(source, tmp_path).model.card


@pytest.mark.parametrize("count", [1, 2, 19])
def test_too_few_stimuli_are_counted(tmp_path: Path, count: int) -> None:
    with pytest.raises(InputError, match=f"^{count} stimul(us has|i have) both a label and a file"):
        fit(labelled(tmp_path, values(count)), tmp_path)


@pytest.mark.parametrize("damage", ["gone", "unreadable", "no root"])
def test_media_that_cannot_be_read_are_told_with_the_first_reason(tmp_path: Path, damage: str) -> None:
    snapshot = labelled(tmp_path, values(30))
    for path in tmp_path.glob("*.wav"):
        path.unlink()
    if damage == "no root":
        snapshot = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, means=snapshot.means)
    with pytest.raises(InputError, match=r"0 stimuli have both .* its media file is not available") as raised:
        fit(snapshot, tmp_path)
    assert "media" in raised.value.fix


@pytest.mark.parametrize("systems", [("A",), (None,), ("A", None)])
@pytest.mark.parametrize("intents", [(None,), ("happy", "sad")])
def test_one_system_or_none_and_no_intents_are_trained(
    tmp_path: Path, systems: tuple[str | None, ...], intents: tuple[str | None, ...]
) -> None:
    trained = fit(labelled(tmp_path, values(30), systems=systems, intents=intents), tmp_path)
    # Nothing is known of other systems where there is one.
    assert set(trained.model.outputs[0].errors) == {"stimulus"}
    assert "leave-one-system-out" not in scores(trained)
    assert "0.00" not in trained.model.card


def test_two_systems_are_not_left_out_in_turn(tmp_path: Path) -> None:
    trained = fit(labelled(tmp_path, values(30), systems=("A", "B")), tmp_path)
    assert trained.model.outputs[0].errors["systems"] == 2
    assert "leave-one-system-out" not in scores(trained)


def test_what_can_be_learned_from_a_column() -> None:
    def reason(label: Sequence[float], bounds: tuple[float, float] | None = (1.0, 9.0)) -> str:
        return LabelColumn(question="q", label=np.array(label), bounds=bounds).not_learnable()

    assert not reason(values(20))
    assert not reason([1.0] * 15 + [2.0] * 5)
    assert reason([1.0] * 16 + [2.0] * 4).startswith("all but 4 of 20")
    assert mentions(reason([NAN] * 50), "0 stimuli", "20")
    assert not reason([1.0, 1.008] * 10)
    assert reason([1.0, 1.007] * 10).startswith("all 20 labels are 1.0")
    assert reason([1e6, 1e6 + 1] * 10, None).startswith("all 20 labels are")
    moods = LabelColumn(question="mood", label=np.array([0.0] * 19 + [1.0]), categories={0.0: "joy", 1.0: "awe"})
    assert not moods.not_learnable()
    with pytest.raises(InputError, match=r"stimulus.*label"):
        not_learnable([LabelColumn(question="mood", label=np.zeros(30), categories={0.0: "joy"})])


def test_words_about_several_sources_name_them() -> None:
    assert joined_words(["x", "x"], ["a", "b"]) == "x"
    assert joined_words(["x", "y"], ["a", "b"]) == "a: x and b: y"
