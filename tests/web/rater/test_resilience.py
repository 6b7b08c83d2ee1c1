"""Nothing is lost: reloads, lost lines, a server that is away, another day."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.web.rater.serving import Served
from tests.web.rater.test_sessions import stored_as_sent
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.browser
QUEUED = "() => Object.keys(localStorage).filter(name => name.includes(':answer:')).length"


@pytest.fixture
def visit(browser: Browser, serve: Callable[..., Served]) -> Iterator[Callable[..., Visitor]]:
    came: list[Visitor] = []

    def start(recipe: str = "aimoclips", **options: object) -> Visitor:
        visitor = Visitor(browser, serve(recipe, **options))
        came.append(visitor)
        return visitor

    yield start
    for visitor in came:
        visitor.quiet()
        visitor.close()


def rate_one(visitor: Visitor, turn: int = 0) -> None:
    form = visitor.page.query_selector("form.trial")
    assert form is not None
    visitor.listen()
    visitor.answer(turn)
    form.wait_for_element_state("hidden")
    visitor.page.wait_for_selector("form.trial, .code output, .wait")


@pytest.mark.slow
def test_a_reload_in_the_middle_and_another_day_go_on_where_it_was(visit: Callable[..., Visitor]) -> None:
    visitor = visit(count=2)
    visitor.enter()
    rate_one(visitor)
    visitor.page.wait_for_selector("form.trial")
    before = visitor.number()
    visitor.listen()
    visitor.page.keyboard.press("7")
    visitor.page.reload()
    visitor.page.wait_for_selector("form.trial:not([data-locked])")
    assert visitor.number() == before
    assert visitor.page.locator("fieldset[data-form='0'] input:checked").get_attribute("value") == "7"
    assert visitor.page.locator("fieldset[data-form='1'] input:checked").count() == 0
    visitor.page.keyboard.press("4")
    trial = visitor.page.wait_for_selector("form.trial")
    assert trial is not None
    visitor.page.keyboard.press("Enter")
    trial.wait_for_element_state("hidden")
    assert visitor.sent[-1]["values"] == {"valence": 7, "arousal": 4}
    visitor.page.wait_for_selector("form.trial")
    before = visitor.number()
    visitor.page.close()
    visitor.served.clock.ahead = 26 * 3600.0
    visitor.page = visitor.tab()
    visitor.arrive()
    visitor.page.wait_for_selector("form.trial")
    assert visitor.number() == before, "the next day, in a new tab"
    visitor.finish()
    assert visitor.served.collection.raters()["state"].to_list() == ["complete"]
    stored_as_sent(visitor.served, visitor)


@pytest.mark.slow
def test_an_answer_given_offline_is_kept_and_sent_when_the_line_is_back(visit: Callable[..., Visitor]) -> None:
    visitor = visit(count=1)
    visitor.enter()
    rate_one(visitor)
    visitor.page.wait_for_selector("form.trial")
    visitor.listen()
    visitor.context.set_offline(True)
    visitor.answer(3)
    visitor.page.wait_for_selector(".wait")
    banner = visitor.page.wait_for_selector("#banner:not([hidden])")
    assert banner is not None
    assert "sent automatically" in banner.inner_text()
    assert visitor.page.evaluate(QUEUED) == 1
    assert len(visitor.served.collection.ratings()) == 2
    visitor.context.set_offline(False)
    visitor.page.wait_for_selector(".code output")
    assert visitor.page.evaluate(QUEUED) == 0
    stored_as_sent(visitor.served, visitor)


@pytest.mark.slow
@pytest.mark.parametrize("away", [0.0, 7200.0])
def test_whoever_is_offline_finishes_what_was_fetched_ahead(visit: Callable[..., Visitor], away: float) -> None:
    """Three trials without a connection, for a moment or until every lease has run out; each is stored once."""
    visitor = visit(count=4, design={"practice": 0})
    visitor.enter()
    visitor.listen()
    visitor.fetched(3)
    visitor.context.set_offline(True)
    for turn in range(3):
        assert visitor.number() == f"{turn + 1} of 4"
        rate_one(visitor, turn)
    visitor.page.wait_for_selector(".wait")
    assert visitor.page.evaluate(QUEUED) == 3
    assert len(visitor.served.collection.ratings()) == 0
    visitor.served.clock.ahead = away
    visitor.context.set_offline(False)
    visitor.page.wait_for_selector("form.trial")
    assert visitor.page.evaluate(QUEUED) == 0
    assert visitor.number() == "4 of 4"
    visitor.finish()
    stored_as_sent(visitor.served, visitor)
    ratings = visitor.served.collection.ratings()
    assert ratings["trial"].n_unique() == 4
    assert ratings["stimulus"].n_unique() == 4
    assert sorted(set(ratings["position"].to_list())) == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_connection_that_comes_back_does_not_take_the_trial_away(visit: Callable[..., Visitor]) -> None:
    """The rater is in the middle of a trial from the device's own store when everything is sent."""
    visitor = visit(count=3, design={"practice": 0})
    visitor.enter()
    visitor.listen()
    visitor.fetched(3)
    visitor.context.set_offline(True)
    rate_one(visitor)
    visitor.listen()
    visitor.page.keyboard.press("6")
    visitor.context.set_offline(False)
    visitor.page.wait_for_function(f"() => !({QUEUED})()")
    assert visitor.number() == "2 of 3"
    assert visitor.page.locator("fieldset[data-form='0'] input:checked").get_attribute("value") == "6"
    visitor.page.keyboard.press("2")
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_selector("#count:has-text('3 of 3')")
    visitor.finish()
    assert visitor.sent[1]["values"] == {"valence": 6, "arousal": 2}
    stored_as_sent(visitor.served, visitor)


@pytest.mark.slow
def test_the_code_waits_until_the_last_answer_has_arrived(visit: Callable[..., Visitor]) -> None:
    """The server is stopped, the page reloaded once it is back: the answer comes from the browser's own store."""
    visitor = visit(count=1)
    visitor.enter()
    rate_one(visitor)
    visitor.page.wait_for_selector("form.trial")
    visitor.listen()
    visitor.served.halt()
    visitor.answer(5)
    visitor.page.wait_for_selector(".wait")
    banner = visitor.page.wait_for_selector("#banner:not([hidden])")
    assert banner is not None
    assert "server cannot be reached" in banner.inner_text()
    assert visitor.page.query_selector(".code output") is None
    held = visitor.page.evaluate("() => Object.entries(localStorage).find(([name]) => name.includes(':answer:'))[1]")
    visitor.page.goto("about:blank")
    visitor.served.begin()
    assert len(visitor.served.collection.ratings()) == 2
    visitor.arrive("/rate")
    visitor.page.wait_for_selector(".code output")
    ratings = visitor.served.collection.ratings().filter(kind="rating")
    stored = {row["question"]: row["value"] for row in ratings.iter_rows(named=True)}
    assert [stored["valence"], stored["arousal"]] == list(json.loads(held)["values"].values())
    assert visitor.page.evaluate(QUEUED) == 0
    visitor.complaints.clear()


@pytest.mark.slow
def test_an_answer_sent_twice_is_stored_once(visit: Callable[..., Visitor]) -> None:
    """The first answer arrives but its receipt is lost on the way."""
    visitor = visit(count=2)
    visitor.enter()
    lost: list[str] = []

    def lose(route: Route) -> None:
        lost.append(route.request.post_data or "")
        route.fetch()
        route.abort("connectionreset")
        visitor.page.unroute("**/rate/answer")

    visitor.page.route("**/rate/answer", lose)
    rate_one(visitor)
    assert len(lost) == 1
    visitor.finish()
    stored_as_sent(visitor.served, visitor)
    visitor.complaints[:] = [complaint for complaint in visitor.complaints if "ERR_CONNECTION_RESET" not in complaint]


@pytest.mark.slow
def test_another_rater_in_the_same_browser_leaves_a_kept_answer_alone(visit: Callable[..., Visitor]) -> None:
    visitor = visit(count=2)
    visitor.enter("/?PROLIFIC_PID=first")
    visitor.listen()
    visitor.context.route("**/rate/answer", lambda route: route.abort("internetdisconnected"))
    visitor.answer()
    visitor.page.wait_for_selector("#banner:not([hidden])")
    visitor.arrive("/?PROLIFIC_PID=second")
    visitor.page.wait_for_selector("[data-does=agree]")
    visitor.context.unroute("**/rate/answer")
    visitor.agree()
    visitor.tell_facts()
    visitor.begin()
    assert visitor.page.evaluate(QUEUED) == 1
    assert len(visitor.served.collection.ratings()) == 0
    visitor.arrive("/?PROLIFIC_PID=first")
    visitor.page.wait_for_selector("form.trial")
    assert len(visitor.served.collection.ratings()) == 2
    assert visitor.page.evaluate(QUEUED) == 0


@pytest.mark.slow
def test_a_second_tab_is_told_that_its_answer_does_not_count(visit: Callable[..., Visitor]) -> None:
    """Both tabs show the first trial; the first answer counts, and the other tab goes on where the rater is."""
    visitor = visit(count=3, design={"practice": 0})
    visitor.enter()
    first, second = visitor.page, visitor.tab()
    second.goto(visitor.served.url + "/rate")
    second.wait_for_selector("form.trial")
    visitor.listen()
    rate_one(visitor, 1)
    first.wait_for_selector("#count:has-text('2 of 3')")
    visitor.page = second
    second.bring_to_front()
    assert visitor.number() == "1 of 3"
    visitor.fetched(3, here=3)
    rate_one(visitor, 5)
    second.wait_for_selector("#banner:has-text('in another tab')")
    second.wait_for_selector("#count:has-text('2 of 3')")
    kept, dropped = visitor.sent
    assert kept["trial"] == dropped["trial"]
    visitor.sent.remove(dropped)
    stored_as_sent(visitor.served, visitor)
    visitor.finish()
    stored_as_sent(visitor.served, visitor)
    # The last trial, from the tab that was left behind: the end comes, with a word.
    visitor.page = first
    first.bring_to_front()
    rate_one(visitor, 2)
    first.wait_for_selector("#banner:has-text('in another tab')")
    first.wait_for_selector(".code output")
    assert len(visitor.served.collection.ratings()) == 6
