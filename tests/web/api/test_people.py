"""Participants, erasing, links to continue, codes, versions, the quota and machine values over HTTP."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from pathlib import Path

import pytest
import yaml
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import Next
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.web.conftest import log_in
from tests.web.studies import rate

API = "/api/v1"


@pytest.mark.slow
def test_participants_can_be_told_apart_and_are_in_no_export(researcher: TestClient, collection: Collection) -> None:
    rater, _ = rate(collection, "PID-0001")
    rate(collection)
    message = researcher.get(f"{API}/participants").json()["participants"]
    assert [(each["participant"], each["rater"], each["ended"]) for each in message] == [
        ("PID-0001", rater, "complete")
    ]
    sheet = researcher.get(f"{API}/participants?as=csv")
    assert sheet.headers["content-disposition"].endswith('participants.csv"')
    assert next(csv.DictReader(io.StringIO(sheet.text)))["participant"] == "PID-0001"
    for path in ("ratings", "ratings?as=csv", "raters", f"raters/{rater}/trials", "export/long", "export/wide"):
        assert b"PID-0001" not in researcher.get(f"{API}/{path}").content, path


def test_participants_are_for_the_researcher_only(stranger: TestClient) -> None:
    assert stranger.get(f"{API}/participants").status_code == 401
    assert stranger.post(f"{API}/participants/erase", json={"participant": "x"}).status_code == 401


@pytest.mark.slow
@pytest.mark.parametrize("by", ["rater", "participant"])
def test_erasing_over_http(researcher: TestClient, collection: Collection, by: str) -> None:
    goes, _ = rate(collection, "PID-0001", most=3)
    stays, _ = rate(collection, "PID-0002")
    frozen = researcher.post(f"{API}/snapshots").json()["name"]
    if by == "rater":
        done = researcher.post(f"{API}/raters/{goes}/erase")
    else:
        done = researcher.post(f"{API}/participants/erase", json={"participant": "PID-0001"})
    assert done.json() == {"rater": goes, "trials": 3, "snapshots": [frozen]}
    assert {row["rater"] for row in researcher.get(f"{API}/ratings").json()["ratings"]} == {stays}
    assert [each["rater"] for each in researcher.get(f"{API}/raters").json()["raters"]] == [stays]
    again = researcher.post(f"{API}/raters/{goes}/erase")
    assert again.status_code == 404
    assert set(again.json()) == {"problem", "fix"}


def test_a_link_to_continue(researcher: TestClient, collection: Collection) -> None:
    rater, _ = rate(collection, "PID-0001", most=2)
    link = researcher.post(f"{API}/raters/{rater}/resume-link").json()["link"]
    researcher.cookies.clear()
    assert researcher.get(link.replace("http://study.test", "") + "x").status_code == 404
    assert researcher.get(link.replace("http://study.test", "")).status_code == 303
    assert researcher.get("/rate/step").json()["step"]["kind"] == "trial"


def test_a_participant_id_is_no_key(stranger: TestClient, collection: Collection) -> None:
    """Whoever knows an id and nothing else sees that it was used, and nothing of what was said."""
    own = "/?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=a-session"
    assert stranger.get(own).status_code == 303
    assert stranger.post("/rate/consent", json={"agreed": True}).status_code == 200
    assert stranger.get(own).status_code == 303, "the browser that began goes on"
    stranger.cookies.clear()
    for guess in ("/?PROLIFIC_PID=p1", "/?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=another"):
        refused = stranger.get(guess)
        assert refused.status_code == 409
        assert "set-cookie" not in refused.headers
        assert '"ending":"elsewhere"' in refused.text
    assert stranger.get(own).status_code == 303, "the person's own link goes on in another browser"
    assert collection.raters().height == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"user-agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"},
        {"user-agent": "facebookexternalhit/1.1"},
        {"user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"},
        {"user-agent": "WhatsApp/2.23"},
        {"user-agent": "Mozilla/5.0 (Windows NT 10.0) SkypeUriPreview Preview/0.5"},
        {"sec-purpose": "prefetch;prerender"},
        {"purpose": "prefetch"},
        {"x-moz": "prefetch"},
    ],
)
def test_previews_of_links_are_nobody(stranger: TestClient, collection: Collection, headers: dict[str, str]) -> None:
    collection_before = collection.raters().height
    message = stranger.get("/?PROLIFIC_PID=p1", headers=headers)
    assert message.status_code == 200
    assert "set-cookie" not in message.headers
    assert '"ending":"automated"' in message.text
    assert stranger.head("/").status_code == 200
    assert collection.raters().height == collection_before
    assert collection.automated_fetches() == 2
    entered = re.search(r'href="(/\?[^"]*)" rel="nofollow"', message.text)
    assert entered is not None, "nobody is refused"
    assert stranger.get(unescape(entered[1]), headers=headers).status_code == 303
    assert collection.participants()["participant"].to_list() == ["p1"]
    stranger.cookies.clear()
    browser = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36"}
    assert stranger.get("/", headers=browser).status_code == 303


def test_who_is_turned_away_gets_a_code(researcher: TestClient, collection: Collection) -> None:
    back = "https://example.org/?cc={code}"
    changed = {"open": False, "code_full": "F1", "code_partial": "P1", "return_url": back}
    message = researcher.patch(f"{API}/settings", json=changed).json()
    assert (message["code_full"], message["code_partial"]) == ("F1", "P1")
    closed = researcher.get("/")
    assert closed.status_code == 409
    assert '"ending":"closed","code":"F1","url":"https://example.org/?cc=F1"' in closed.text


def test_waiting_tries_again_by_itself(researcher: TestClient, collection: Collection) -> None:
    researcher.patch(f"{API}/settings", json={"cap": 1})
    rate(collection, most=1)
    busy = researcher.get("/")
    assert busy.status_code == 503
    assert busy.headers["refresh"] == "20"
    assert '"ending":"wait"' in busy.text


@pytest.mark.slow
def test_the_quota_is_raised_while_the_study_runs(researcher: TestClient, collection: Collection, folder: Path) -> None:
    for name in "abcd":
        rate(collection, name)
    assert researcher.get("/").status_code == 409, "full"
    two = Collection.open(folder, options=CollectOptions(seed=5))
    assert researcher.patch(f"{API}/settings", json={"ratings_per_item": 3}).status_code == 422
    assert researcher.patch(f"{API}/settings", json={"ratings_per_item": 5}).status_code == 200
    message = researcher.get(f"{API}/coverage").json()
    assert (message["quota"], message["wanted"], message["complete"]) == (5, 60, 48)
    assert researcher.get(f"{API}/study").json()["ratings_per_item"] == 5
    assert two.coverage().quota == 5, "another process follows"
    rate(two, "e")
    two.close()
    assert researcher.get(f"{API}/coverage").json()["complete"] == 60
    served = researcher.get(f"{API}/versions").json()["versions"]
    assert [each["changes"] for each in served] == [[], ["design.ratings_per_item: raised from 4 to 5"]]
    assert [each["trials"] for each in served] == [48, 12]
    with Collection.open(folder) as again:
        assert again.study.design.ratings_per_item == 5, "it holds after a restart"
        assert again.versions().height == 2
        assert again.snapshot().ratings["counts"].all()


@pytest.mark.slow
def test_machine_values_on_the_dashboard(folder: Path, options: WebOptions) -> None:
    """People who verify are not 'nobody': their answers are ratings, and their verdicts are counted."""
    from heartfelt.collect.messages.commands import Answer, Arrive, GiveConsent, Ready, ShowTrial

    study = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    study["questions"][0]["machine_first"] = True
    study["design"]["minimum_ratings"] = 3
    (folder / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    rows = (folder / "stimuli.csv").read_text(encoding="utf-8").splitlines()
    filled = [f"{row},valence" if not place else f"{row},{place % 9 + 1}" for place, row in enumerate(rows)]
    (folder / "stimuli.csv").write_text("\n".join(filled) + "\n", encoding="utf-8")
    with Collection.open(folder, options=CollectOptions(seed=1, hidden=0.0, planted=0.0)) as collection:
        for verdict in ("accepted", "fixed"):
            rater = collection.do(Arrive()).rater
            collection.do(GiveConsent(rater, True))
            step = collection.do(Ready(rater))
            while isinstance(step, ShowTrial):
                value = step.machine["valence"] if verdict == "accepted" else 5
                answer = Answer(
                    rater,
                    step.trial,
                    key=step.trial,
                    values={"valence": value, "arousal": 5},
                    verdicts={"valence": verdict},
                )
                step = collection.do(answer).next_step or collection.do(Next(rater))
        app = create_app(collection, options)
        with TestClient(app, base_url="http://study.test", follow_redirects=False) as client:
            log_in(client)
            field = client.get(f"{API}/machine").json()["fields"][0]
            assert (field["question"], field["verified"]) == ("valence", 24)
            assert field["accepted"]["value"] == 0.5
            assert field["accepted"]["low"] < 0.2, "two raters are no 24 independent verifications"
            assert field["rejected"]["value"] == 0.0
            assert field["rejected"]["high"] > 0.5
            assert field["planted_accepted"]["value"] is None
            trust = client.get(f"{API}/reliability").json()["questions"]
            assert [entry["alpha"]["value"] is not None or entry["alpha"]["why_missing"] for entry in trust]
            for each in trust:
                assert "nobody answered" not in str(each).lower()
            assert trust[0]["alpha"]["value"] is not None, "two ratings each, though three are wanted in the end"
        frozen = collection.snapshot()
        assert set(frozen.ratings.filter(question="valence")["verdict"]) == {"accepted", "fixed"}
        from heartfelt.analysis.data.material import prepare

        assert {question.why_empty for question in prepare(frozen).questions} == {
            "no item has the 3 ratings yet that minimum_ratings asks for"
        }
