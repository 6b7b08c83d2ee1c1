"""Every recipe, with as little as one rater and with several: the API has an answer for each figure, or a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import (
    Answer,
    Arrive,
    Demographics,
    GiveConsent,
    Headphones,
    Next,
    Ready,
    SessionEnd,
    ShowTrial,
    Step,
)
from heartfelt.simulate.sessions.random_answers import simulated_answer, simulated_demographics
from heartfelt.streams import stream
from heartfelt.study.recipes import RECIPES
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.web.conftest import log_in
from tests.web.rater.studies import small_study

API = "/api/v1"
ASKED = ("study", "settings", "coverage", "reliability", "systems?precision=0.3", "raters", "stimuli", "flags", "problems",
         "machine", "figures", "comparisons", "categories", "traces", "ratings", "ratings?as=csv", "ratings?as=parquet",
         "invitations", "snapshots", "formats", "tokens", "export/long")  # fmt: skip


def come(collection: Collection, number: int) -> str:
    """Somebody comes and answers everything, at random."""
    rng = stream(number, "visitor")
    rater = collection.do(Arrive()).rater
    step: Step | None = collection.do(Next(rater))
    while step is not None and not isinstance(step, SessionEnd):
        kind = type(step).__name__
        if isinstance(step, ShowTrial):
            values: dict[str, Any] = {}
            verdicts: dict[str, Any] = {}
            judged = sum(member.kind == "judged" for member in step.members)
            for name in step.questions:
                values[name] = simulated_answer(collection.study.scale_of(name), rng, judged)
                if name in step.machine and step.machine[name] is not None:
                    verdicts[name] = "fixed"
            done = collection.do(
                Answer(rater, step.trial, key=f"{rater}-{step.trial}", values=values, verdicts=verdicts)
            )
            step = done.next_step
        elif kind == "AskConsent":
            step = collection.do(GiveConsent(rater, True))
        elif kind == "AskDemographics":
            step = collection.do(Demographics(rater, simulated_demographics(collection.study)))
        elif kind == "AskHeadphones":
            heard = collection.quietest_tones(rater)
            step = collection.do(Headphones(rater, step.probe, heard))  # type: ignore[union-attr]  # the headphone step
        else:
            step = collection.do(Ready(rater))
    return rater


@pytest.mark.slow
@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_every_figure_of_every_recipe(recipe: str, tmp_path: Path, options: WebOptions) -> None:
    study = small_study(recipe, tmp_path / "study", count=6, design={"ratings_per_item": 6})
    with (
        Collection.open(tmp_path / "study", options=CollectOptions(seed=1, durable=False)) as collection,
        TestClient(create_app(collection, options), base_url="http://study.test", follow_redirects=False) as client,
    ):
        log_in(client)
        for people in (0, 1, 3):
            raters = [come(collection, number) for number in range(people)]
            for path in ASKED:
                message = client.get(f"{API}/{path}")
                assert message.status_code == 200, (people, path, message.text[:500])
            for rater in raters[:1]:
                for part in ("", "/trials", "/effect"):
                    message = client.get(f"{API}/raters/{rater}{part}")
                    assert message.status_code == 200, (people, part, message.text[:500])
        rated = {each["question"] for each in client.get(f"{API}/reliability").json()["questions"]}
        asked = {q.id for q in study.asked if study.scale_of(q.id).has_values}
        scales = {q.scale for q in study.asked}
        assert rated or not asked
        assert rated <= asked | scales
