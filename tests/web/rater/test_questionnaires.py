"""Questionnaires and conditions over HTTP: refusals in the rater's words, nothing sent that a condition decided, the dashboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.study.scales.answer import NONE
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.collect.people import write_study
from tests.collect.test_questionnaires import STUDY
from tests.facts import mentions
from tests.web.conftest import log_in


def test_a_questionnaire_and_a_trial_with_conditions(tmp_path: Path, options: WebOptions) -> None:
    folder = write_study(tmp_path / "study", "s", **STUDY)
    with (
        Collection.open(folder, options=CollectOptions(seed=3, durable=False, hidden=0, planted=0)) as collection,
        TestClient(create_app(collection, options), base_url="http://127.0.0.1") as client,
    ):
        client.get("/")
        step = client.post("/rate/demographics", json={"answers": {"age": 50}}).json()["step"]
        assert (step["kind"], step["time"], step["questions"]) == ("questionnaire", "before", ["mood", "why"])
        assert [form["text"] for form in step["forms"]] == ["Mood?", "Why?"]
        assert step["show_if"] == {"why": [{"of": "mood", "below": 4.0}]}

        def send(answers: dict[str, object]) -> Any:
            page = {"time": step["time"], "questions": step["questions"], "answers": answers}
            return client.post("/rate/questionnaire", json=page).json()

        assert send({})["problem"] == "Not answered: Mood?"
        assert mentions(send({"mood": 77})["problem"], "'77'", "scale")
        assert mentions(str(send({"mood": 5, "why": "x"})["problem"]), "question", "'why'")
        step = send({"mood": 5})["step"]
        step = send({"plays": NONE})["step"]
        assert step["kind"] == "instructions"
        step = client.post("/rate/ready", json={}).json()["step"]
        sent = json.dumps(step)
        names = [collection.study.question(name).id for name in ("people", "smile", "old", "things", "pets")]
        blinding = client.app.state.blinding  # type: ignore[attr-defined]  # Starlette's application
        assert [blinding.question_of(step["trial"], name) for name in step["questions"]] == names
        assert list(step["show_if"]) == [step["questions"][1]], "what raters and drafts decide is not sent"
        assert step["show_if"][step["questions"][1]] == [{"of": step["questions"][0], "is": ["yes", "1"]}]
        assert "cow" in sent, "the draft itself is in the step, as before"
        values = dict(zip(step["questions"], ["no", None, 5, "cat;cow", 3], strict=True))
        answer = {"trial": step["trial"], "key": "k", "values": values}
        assert client.post("/rate/answer", json=answer).json()["status"] == "stored"
        client.follow_redirects = False
        log_in(client)
        rater = collection.raters()["rater"][0]
        about = client.get(f"/api/v1/raters/{rater}/trials").json()["about"]
        assert about == {"about_age": 50.0, "before_mood": 5.0, "before_plays": NONE}
