"""The shipped head is what its card says: small, whole, with the scores and the credit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.predictors import cases, predictor_from, run
from heartfelt.predictors.trained.valence_arousal import SHIPPED, shipped
from heartfelt.serialization import from_json
from heartfelt.training import ProtocolScore
from heartfelt.training.heads.card import evaluation_table
from tests.docs.reference import settings_pages

PAGE = Path(__file__).resolve().parents[3] / "docs" / "valence-arousal.md"


def test_it_is_small_and_whole() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 3_000_000
    model = shipped()
    assert [output.question for output in model.outputs] == ["valence", "arousal"]
    assert all(output.bounds == (1.0, 9.0) and output.confidence == 0.9 for output in model.outputs)
    assert model.facts.policy == "default"
    assert model.facts.panel["dropped"] == 19
    assert len(model.out_of_fold) == model.facts.stimuli


def test_it_reaches_what_was_aimed_for() -> None:
    results = {
        (score.question, score.protocol): score.pearson.value or 0.0
        for score in (from_json(ProtocolScore, row) for row in shipped().facts.evaluation)
        if score.raters == "screened"
    }
    for question, five, out, within in (("valence", 0.77, 0.72, 0.38), ("arousal", 0.83, 0.83, 0.46)):
        assert results[question, "five-fold"] > five
        assert results[question, "leave-one-system-out"] > out - 0.005
        assert results[question, "within-cells"] > within


@pytest.mark.slow
def test_the_reference_holds_its_table_and_the_page_its_credit() -> None:
    text = PAGE.read_text(encoding="utf-8")
    lines = evaluation_table([from_json(ProtocolScore, row) for row in shipped().facts.evaluation])
    assert "\n".join(lines) in settings_pages()["predictors.md"]
    for row in (row for row in lines if "| screened raters |" in row):
        question, _, reading, _, correlation, *rest = (each.strip() for each in row.strip("|").split("|"))
        assert f"| {reading} | {correlation} | {' | '.join(rest)} |" in text, f"{question}, {reading}"
    for words in ("CC BY 4.0", shipped().hash[:16], "AImoclips"):
        assert words in text


def test_the_kept_predictions_go_with_the_labels(shared_data: Path) -> None:
    """Held against the published means themselves, not against what was stored with the model."""
    import polars as pl

    published = pl.read_csv(shared_data / "aimoclips" / "clips_metadata.csv")
    means = {row["audio_file"]: row for row in published.iter_rows(named=True)}
    retained = [each for each in shipped().out_of_fold.values() if each.stimulus in means]
    assert len(retained) > 700
    for question, least in (("valence", 0.76), ("arousal", 0.81)):
        answers = [each.predicted[question] for each in retained]
        truth = [float(means[each.stimulus][question]) for each in retained]
        assert np.corrcoef(answers, truth)[0, 1] > least


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_in_the_benchmark_training_clips_are_out_of_fold(shared_data: Path) -> None:
    import heartfelt

    snapshot = heartfelt.read(shared_data / "aimoclips")
    chosen = [case for case in cases(snapshot) if case.media is not None][:3]
    with predictor_from("valence-arousal") as predictor:
        table = run(predictor, chosen).table
    assert table.height == 6
    assert table["ok"].all()
    assert table["note"].str.contains("out of fold").all()


@pytest.mark.slow
def test_a_few_real_ratings_and_the_head_beat_the_ratings_alone(shared_data: Path) -> None:
    """24 rated clips a system and predictions of the rest: narrower than the ratings alone, around the whole sample's mean."""
    import polars as pl

    import heartfelt
    from heartfelt.labels import first_answers
    from heartfelt.scoring.conveyance import Evidence, predicted_conveyance
    from heartfelt.screening import screen
    from heartfelt.serialization import to_json
    from heartfelt.streams import stream

    snapshot = heartfelt.read(shared_data / "aimoclips")
    ratings = first_answers(screen(snapshot, "default").snapshot()).drop("known")
    retained = list(shipped().out_of_fold.values())
    answer = pl.DataFrame(
        [{"stimulus": each.stimulus, "question": q, "value": v} for each in retained for q, v in each.predicted.items()]
    )
    references = {name: dict(snapshot.study.reference(name)) for name in ("valence", "arousal")}
    middle = {"valence": 5.0, "arousal": 5.0}

    def worked_out(rated: pl.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
        result: Any = to_json(
            predicted_conveyance(
                Evidence(
                    stimuli=snapshot.stimuli, predictions=answer, references=references, midpoints=middle, ratings=rated
                )
            )
        )
        return {(row["system"], row["question"]): row for row in result["deviation_by_system"]}

    whole = worked_out(ratings)
    few = stream(0, "few").choice(sorted(each.stimulus for each in retained), 144, replace=False)
    hits, widths = [], []
    for key, row in worked_out(ratings.filter(pl.col("stimulus").is_in(list(few)))).items():
        powered, alone = row["deviation"], row["ratings_alone"]
        hits.append(powered["low"] <= whole[key]["ratings_alone"]["value"] <= powered["high"])
        widths.append((powered["high"] - powered["low"]) / (alone["high"] - alone["low"]))
    assert np.mean(hits) > 0.85
    assert np.mean(widths) < 0.8
