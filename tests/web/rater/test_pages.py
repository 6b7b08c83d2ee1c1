"""Each kind of page: its rules of feel, accessibility, languages, recruiters, weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from heartfelt.collect.messages.commands import ChangeSettings, Invite
from heartfelt.files import write_text
from heartfelt.study import load_study, study_text
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.model import AttentionProbe, HeadphoneProbe, Question
from heartfelt.study.scales.scale import FreeText, Numeric, Points, Tags, YesNo
from heartfelt.web.security.signing import Signer
from tests.facts import mentions
from tests.web.rater.serving import SECRET, Served
from tests.web.rater.studies import SECONDS, picture
from tests.web.rater.test_sessions import MACHINE
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
BUDGET = 100_000


@pytest.fixture
def visit(browser: Browser, serve: Callable[..., Served]) -> Iterator[Callable[..., Visitor]]:
    came: list[Visitor] = []

    def start(recipe: str = "aimoclips", hand: Any = "keyboard", context: Any = None, **options: Any) -> Visitor:
        visitor = Visitor(browser, serve(recipe, **options), hand, **(context or {}))
        came.append(visitor)
        return visitor

    yield start
    for visitor in came:
        visitor.quiet()
        visitor.close()


@pytest.mark.slow
def test_every_kind_of_page_is_accessible_and_does_not_scroll(visit: Callable[..., Visitor]) -> None:
    probes = [HeadphoneProbe(type="headphones", id="phones", trials=1, pass_at=1)]
    visitor = visit(count=2, probes=probes, design={"batch": 1, "practice": 0})
    page = visitor.page
    visitor.arrive()
    page.wait_for_selector("[data-does=agree]")
    visitor.accessible()
    visitor.agree()
    page.wait_for_selector(".facts")
    visitor.accessible()
    visitor.tell_facts()
    page.wait_for_selector("[data-does=sound]")
    page.click("[data-does=sound]")
    page.click("[data-does=heard]:enabled")
    page.click("[data-does=tones]")
    page.wait_for_selector(".tone:enabled")
    visitor.accessible()
    page.keyboard.press("2")
    page.wait_for_selector("[data-does=ready]")
    visitor.accessible()
    visitor.still()
    visitor.begin()
    visitor.listen()
    visitor.accessible()
    for name in ("flag", "menu"):
        page.click(f"#tools [data-does={name}]")
        visitor.accessible()
        page.keyboard.press("Escape")
    form = page.query_selector("form.trial")
    assert form is not None
    visitor.answer()
    page.wait_for_selector("h1:has-text('Take a break')")
    visitor.accessible()
    visitor.finish()
    visitor.accessible()
    visitor.still()
    assert visitor.served.collection.raters()["headphones_correct"].is_in([0, 1]).all()


@pytest.mark.slow
def test_the_dark_scheme_is_accessible_too(visit: Callable[..., Visitor]) -> None:
    visitor = visit("musiceval", hand="touch", count=1, design={"practice": 0}, context={"color_scheme": "dark"})
    visitor.enter()
    visitor.listen()
    visitor.page.locator("fieldset.question input").first.tap()
    visitor.accessible()


@pytest.mark.slow
def test_the_form_with_many_fields_is_accessible(visit: Callable[..., Visitor]) -> None:
    columns = [pl.lit(value).alias(name) for name, value in MACHINE.items()]
    visitor = visit("aigiemo", count=1, columns=columns, design={"practice": 0})
    visitor.enter()
    page = visitor.page
    page.wait_for_selector("form.trial:not([data-locked])")
    assert page.locator(".chip.machine:visible").count() == 0, "judgement comes first, with no machine value in sight"
    visitor.accessible()
    visitor.answer_page()
    page.wait_for_selector(".verify:visible")
    visitor.accessible()


@pytest.mark.slow
def test_answers_open_by_the_rule_and_the_clip_is_heard_to_its_last_sample(visit: Callable[..., Visitor]) -> None:
    visitor = visit(count=1, design={"practice": 0, "replays": 1})
    visitor.enter()
    page = visitor.page
    page.wait_for_selector(".play:enabled")
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    assert page.locator("input:checked").count() == 0
    assert "Listen to the end" in page.inner_text(".state")
    visitor.listen()
    assert "Plays left: 1" in page.inner_text(".state")
    page.keyboard.press(" ")
    page.wait_for_selector(".play[data-state=replay]:disabled")
    page.keyboard.press(" ")
    assert page.evaluate("() => document.querySelector('.play').disabled")
    visitor.answer()
    page.wait_for_selector(".code output")
    heard = visitor.sent[0]["heard"]
    assert heard["plays"] == 2
    assert [interval[0] for interval in heard["intervals"]] == [0, 0]
    assert all(interval[1] == pytest.approx(SECONDS, abs=0.02) for interval in heard["intervals"])
    assert heard["first_play"] > 0
    assert [change[1:] for change in heard["changes"]] == [["valence", "1"], ["arousal", "2"]]
    assert heard["device"] == "computer"


@pytest.mark.slow
def test_started_and_free_open_sooner(visit: Callable[..., Visitor]) -> None:
    started = visit(count=1, design={"practice": 0, "listening": "started"})
    started.enter()
    started.page.wait_for_selector(".play:enabled")
    assert started.page.query_selector("form.trial[data-locked]") is not None
    started.listen()
    free = visit(count=1, design={"practice": 0, "listening": "free"})
    free.enter()
    free.page.wait_for_selector("form.trial:not([data-locked])")
    free.answer()
    free.page.wait_for_selector(".code output")
    assert free.sent[0]["heard"]["plays"] == 0


@pytest.mark.slow
def test_keys_go_back_pause_and_can_be_turned_off(visit: Callable[..., Visitor]) -> None:
    visitor = visit(count=1, design={"practice": 0})
    visitor.enter()
    page = visitor.page
    visitor.listen()
    page.keyboard.press("9")
    page.keyboard.press("Backspace")
    page.keyboard.press("3")
    assert page.locator("[data-form='0'] input:checked").get_attribute("value") == "3"
    page.keyboard.press("Enter")
    note = page.wait_for_selector("[data-form='1'] .note:not([hidden])")
    assert note is not None
    assert "How arousing" in note.inner_text()
    page.click("#tools [data-does=menu]")
    page.uncheck("#dialog-menu input[name=keys]")
    page.click("#dialog-menu button[value=ok]")
    page.keyboard.press("8")
    assert page.locator("[data-form='1'] input:checked").count() == 0
    page.focus("[data-form='1'] input[value='6']")
    page.keyboard.press(" ")
    page.keyboard.press("ArrowRight")
    page.click("#tools [data-does=pause]")
    assert page.locator("#dialog-pause[open]").count() == 1
    page.click("#dialog-pause button")
    page.click("[data-does=submit]")
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["values"] == {"valence": 3, "arousal": 7}


@pytest.mark.slow
def test_every_scale_can_be_answered_and_a_wrong_answer_is_told_in_words(visit: Callable[..., Visitor]) -> None:
    scales = {
        "ten": Points(type="points", points=10, pictures={1: "pictures/low.png"}),
        "hundred": Points(type="points", points=101, first=0, anchors={0: "none", 100: "all"}),
        "any": Numeric(type="numeric"),
        "yn": YesNo(type="yes-no"),
        "words": FreeText(type="text", min_words=2, max_words=5),
        "tags": Tags(type="tags", tags=["warm", "cold"], open=True),
    }
    questions = [Question(id=name, text=f"Question on {name}", scale=name) for name in scales]
    visitor = visit(count=1, design={"practice": 0, "listening": "free"}, scales=scales, questions=questions)
    picture(visitor.served.folder / "pictures" / "low.png")
    visitor.enter()
    page = visitor.page
    page.wait_for_selector("form.trial:not([data-locked])")
    assert page.get_attribute("[data-form='1'] input[type=range]", "aria-valuetext") == "no answer yet"
    page.keyboard.press("0")
    answers = {"hundred": "101", "any": "-2,5", "words": "one"}
    for _ in range(6):
        for question in visitor.open_questions():
            name = list(scales)[int(question.get_attribute("data-form") or 0)]
            if name in answers:
                field = question.query_selector("input[type=text], textarea")
                assert field is not None
                field.fill(answers[name])
            elif name == "yn":
                page.check("[data-form='3'] input[value=no]")
            elif name == "tags":
                if page.get_attribute("[data-form='5'] .chip:has-text('cold')", "aria-pressed") == "false":
                    page.click("[data-form='5'] .chip:has-text('cold')")
                page.fill("[data-form='5'] input", "soft; round")
        page.click("[data-does=submit]")
        wrong = page.locator(".note:visible").all_inner_texts()
        if "Please enter a number from 0 to 100." in wrong:
            answers["hundred"] = "40.5"
        if "Please enter a whole number from 0 to 100." in wrong:
            answers["hundred"] = "41"
        if "Please write at least 2 words." in wrong:
            answers["words"] = "two words"
        if page.query_selector("form.trial:not([data-locked])") is None:
            break
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["values"] == {
        "ten": 10, "hundred": 41, "any": -2.5, "yn": "no", "words": "two words", "tags": ["cold", "soft", "round"],
    }  # fmt: skip
    stored = {
        row["question"]: (row["value"], row["answer"])
        for row in visitor.served.collection.ratings().iter_rows(named=True)
    }
    assert stored["ten"] == (10.0, None)
    assert stored["tags"] == (None, "cold;soft;round")


@pytest.mark.slow
def test_a_slider_has_no_value_until_it_is_touched(visit: Callable[..., Visitor]) -> None:
    scales = {"unit": Numeric(type="numeric", low=0, high=1, step=0.01)}
    question = Question(id="unit", text="How much?", scale="unit", emotion="felt")
    visitor = visit(
        count=1, hand="touch", design={"practice": 0, "listening": "free"}, scales=scales, questions=[question]
    )
    visitor.enter()
    page = visitor.page
    page.wait_for_selector("form.trial:not([data-locked])")
    assert mentions(page.inner_text(".about"), "Rate", "yourself")
    page.tap("[data-does=submit]")
    assert page.locator(".note:visible").count() == 1
    box = page.locator("input[type=range]").bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.tap("[data-does=submit]")
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["values"]["unit"] == pytest.approx(0.5, abs=0.06)


@pytest.mark.slow
def test_an_attention_trial_says_what_to_answer_in_the_raters_language(visit: Callable[..., Visitor]) -> None:
    probe = AttentionProbe(
        type="attention",
        id="look",
        text={"en": "Please press 7.", "ko": "7을 눌러 주세요."},
        question="valence",
        answer=7,
    )
    visitor = visit(count=3, probes=[probe], design={"practice": 0}, context={"locale": "ko-KR"})
    visitor.enter()
    page = visitor.page
    assert page.get_attribute("html", "lang") == "ko"
    for _ in range(4):
        page.wait_for_selector("form.trial")
        if page.locator(".instruction:visible").count():
            break
        form = page.query_selector("form.trial")
        assert form is not None
        visitor.listen()
        visitor.answer()
        form.wait_for_element_state("hidden")
    assert page.inner_text(".instruction") == "7을 눌러 주세요."
    visitor.accessible()
    assert page.locator(".play:visible").count() == 1
    assert page.locator("fieldset.question:visible").count() == 2
    visitor.listen()
    page.keyboard.press("7")
    page.keyboard.press("7")
    page.keyboard.press("Enter")
    page.wait_for_selector(".instruction", state="hidden")
    visitor.finish()
    kinds = visitor.served.collection.ratings().filter(kind="attention")
    assert kinds["value"].to_list() == [7.0]


@pytest.mark.slow
def test_a_file_in_the_study_folder_brings_another_language(visit: Callable[..., Visitor]) -> None:
    visitor = visit(count=1)
    visitor.served.halt()
    (visitor.served.folder / "texts").mkdir()
    study = load_study(visitor.served.folder)
    titles = {"en": "How does it feel?", "nl": "Hoe klinkt dit?"}
    write_text(visitor.served.folder / STUDY_FILE, study_text(study.changed(languages=["en", "nl"], title=titles)))
    write_text(
        visitor.served.folder / "texts" / "nl.yaml",
        "language: Nederlands\nconsent: {title: Voordat u begint, agree: Ja}\n",
    )
    visitor.served.begin()
    visitor.arrive()
    visitor.page.click("text=Nederlands")
    visitor.page.wait_for_selector("h1:has-text('Voordat u begint')")
    assert visitor.page.inner_text("[data-does=agree]") == "Ja"
    assert visitor.page.inner_text("[data-does=decline]") == "I do not agree"
    visitor.page.reload()
    visitor.page.wait_for_selector("h1:has-text('Voordat u begint')")


@pytest.mark.slow
def test_a_stimulus_that_does_not_play_is_given_back_and_shown_to_the_researcher(visit: Callable[..., Visitor]) -> None:
    visitor = visit(count=3, design={"practice": 0})
    files = sorted(visitor.served.folder.glob("media/**/*.wav"))
    files[0].write_bytes(b"RIFF this is no sound at all")
    files[1].unlink()
    visitor.enter()
    visitor.finish()
    assert len(visitor.sent) == 1
    message = visitor.served.collection.problems()
    assert len(message) >= 2
    visitor.complaints[:] = [complaint for complaint in visitor.complaints if "404" not in complaint]


@pytest.mark.slow
def test_flag_comment_and_leave(visit: Callable[..., Visitor]) -> None:
    visitor = visit(count=3, design={"practice": 0})
    visitor.enter()
    page = visitor.page
    first = page.wait_for_selector("form.trial")
    assert first is not None
    page.wait_for_selector(".play:enabled")
    page.click("#tools [data-does=flag]")
    page.check("#dialog-flag input[value=broken]")
    page.fill("#dialog-flag textarea", "a click at the end")
    page.check("#dialog-flag input[name=skip]")
    page.click("#dialog-flag button[value=ok]")
    first.wait_for_element_state("hidden")
    visitor.listen()
    page.click("[data-does=comment]")
    page.fill("#dialog-comment textarea", "like rain")
    page.click("#dialog-comment button[value=ok]")
    form = page.query_selector("form.trial")
    assert form is not None
    page.focus("fieldset.question >> nth=0")
    visitor.answer()
    form.wait_for_element_state("hidden")
    page.wait_for_selector("form.trial")
    page.click("#tools [data-does=menu]")
    page.click("#dialog-menu button[value=leave]")
    page.click("#dialog-leave button[value=ok]")
    page.wait_for_selector("h1:has-text('You have left the study')")  # by then every answer has been stored
    flags = visitor.served.collection.flags()
    assert flags.select("reason", "comment").rows() == [("broken", "a click at the end")]
    assert set(visitor.served.collection.ratings()["comment"].to_list()) == {"like rain"}
    assert visitor.served.collection.raters()["state"].to_list() == ["left"]


@pytest.mark.slow
def test_no_consent_too_young_and_closed(visit: Callable[..., Visitor], browser: Browser) -> None:
    visitor = visit(count=1)
    codes = visitor.served.collection.settings
    visitor.arrive()
    visitor.page.click("[data-does=decline]")
    visitor.page.wait_for_selector("h1:has-text('No problem')")
    assert visitor.page.inner_text(".code output") == codes.code_no_consent
    young = Visitor(browser, visitor.served)
    young.arrive()
    young.agree()
    young.page.wait_for_selector(".facts")
    young.press(".facts + .actions button")
    assert young.page.locator(".note:visible").count() == 2
    young.tell_facts(age="12")
    young.page.wait_for_selector("h1:has-text('Thank you for your interest')")
    assert young.page.inner_text(".code output") == codes.code_screened_out
    young.quiet()
    young.close()
    visitor.served.collection.do(ChangeSettings({"open": False}))
    late = Visitor(browser, visitor.served)
    late.arrive()
    late.page.wait_for_selector("h1:has-text('The study is closed')")
    late.close()


@pytest.mark.slow
def test_recruiters_links_and_the_way_back(visit: Callable[..., Visitor], browser: Browser) -> None:
    visitor = visit(count=1, design={"practice": 0})
    served = visitor.served
    served.collection.do(ChangeSettings({"return_url": "https://recruiter.example/done?cc={code}"}))
    visitor.enter("/?PROLIFIC_PID=person-1&STUDY_ID=s&SESSION_ID=t")
    assert "PROLIFIC" not in visitor.page.url
    code = visitor.finish()
    assert visitor.page.get_attribute("[data-part=url]", "href") == f"https://recruiter.example/done?cc={code}"
    (invited,) = served.collection.do(Invite(1))
    other = Visitor(browser, served)
    other.enter(f"/i/{Signer(SECRET).sign('invite', invited, 60)}")
    other.arrive(f"/i/{Signer(SECRET).sign('rater', invited, 60)}")
    other.page.wait_for_selector("h1:has-text('Please open your link')")
    other.arrive("/?workerId=w&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    other.page.wait_for_selector("h1:has-text('Preview')")
    other.close()
    assert served.collection.raters()["recruiter"].to_list() == ["prolific", "link"]


@pytest.mark.slow
def test_a_visit_under_a_path_is_light_fetched_ahead_and_tells_nothing_of_what_made_a_stimulus(
    visit: Callable[..., Visitor],
) -> None:
    visitor = visit(count=3, prefix="/studies/one", design={"practice": 0})
    page = visitor.page
    clips: list[str] = []
    bodies: list[str] = []
    page.on("requestfinished", lambda one: clips.append(one.url) if "/media/" in one.url else None)
    page.on("response", lambda one: bodies.append(one.text()) if "/rate" in one.url and one.status == 200 else None)
    visitor.enter()
    visitor.listen()
    visitor.fetched(3)
    assert len(set(clips)) == len(clips) == 3
    weight = page.evaluate(
        "() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".filter(one => !one.name.includes('/media/')).reduce((sum, one) => sum + one.encodedBodySize, 0)"
    )
    assert 20_000 < weight < BUDGET
    visitor.context.set_offline(True)
    page.wait_for_selector("#banner:not([hidden])")
    visitor.context.set_offline(False)
    visitor.finish()
    assert page.url == f"{visitor.served.url}/rate"
    assert len(clips) == 3, "a clip that was fetched ahead is not fetched again"
    assert len(bodies) >= 4
    stimuli = visitor.served.collection.opened.stimuli
    message = "\n".join([*bodies, *visitor.asked])
    for name in [*stimuli["stimulus"].to_list(), *stimuli["system"].to_list(), *stimuli["path"].to_list()]:
        assert name not in message
