"""Tokens of the API: how long they live, what they open, and how wrong ones are counted."""

from __future__ import annotations

import time

import pytest

from heartfelt.collect import Collection
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.access import TOKEN_DAYS, Tokens
from heartfelt.web.security.guard import RateLimit
from heartfelt.web.serving.app import create_app
from tests.web.conftest import SECRET
from tests.web.security.browsers import from_address
from tests.web.security.test_cookies import Clock

API = "/api/v1"
DAY = 86400.0


def test_a_token_works_until_the_second_it_expires(collection: Collection) -> None:
    clock = Clock()
    tokens = Tokens(collection, clock)
    made = tokens.make("short", days=2)
    assert (made.token.made, made.token.expires) == (1_000_000.0, 1_000_000.0 + 2 * DAY)
    clock.now = made.token.expires - 0.001
    assert tokens.find(made.text) == made.token
    assert [token.id for token in tokens.all()] == [made.token.id]
    clock.now = made.token.expires
    assert tokens.find(made.text) is None
    assert tokens.all() == []
    with pytest.raises(UnknownNameError):
        tokens.revoke(made.token.id)


def test_a_token_lasts_a_year_unless_told_otherwise(collection: Collection) -> None:
    made = Tokens(collection, Clock()).make("default").token
    assert TOKEN_DAYS == 365
    assert made.expires - made.made == 365 * DAY


def test_a_new_token_leaves_the_older_ones_working(collection: Collection) -> None:
    tokens = Tokens(collection, Clock())
    made = [tokens.make(name) for name in ("one", "two", "three")]
    assert [token.name for token in tokens.all()] == ["one", "two", "three"]
    assert [tokens.find(token.text) for token in made] == [token.token for token in made]
    tokens.revoke(made[1].token.id)
    assert [token.name for token in tokens.all()] == ["one", "three"]
    assert tokens.find(made[1].text) is None
    four = tokens.make("four")
    assert [token.name for token in tokens.all()] == ["one", "three", "four"]
    assert [tokens.find(token.text) is not None for token in (*made, four)] == [True, False, True, True]
    with pytest.raises(UnknownNameError):
        tokens.revoke(made[1].token.id)


def test_a_token_is_its_id_and_its_own_secret(collection: Collection) -> None:
    tokens = Tokens(collection, Clock())
    each, two = tokens.make("one"), tokens.make("two")
    mark, id, secret = each.text.split("_", 2)
    other = two.text.split("_", 2)[2]
    assert (mark, id, len(secret)) == ("hf", each.token.id, 43)
    wrong = [f"hf_{id}_{other}", f"hx_{id}_{secret}", f"hf_{id}_", f"hf_{id}", f"hf__{secret}", secret, ""]
    wrong += [f"hf_{id}_{secret[:-1]}", f"hf_{id}_{secret}x", each.text.upper(), f"hf_{id}_{each.token.hash}"]
    assert [tokens.find(text) for text in wrong] == [None] * len(wrong)
    assert each.token.hash not in each.text
    assert len({each.token.hash, two.token.hash}) == 2


def test_a_text_too_long_for_a_token_is_not_looked_up(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(collection, Clock())
    asked: list[str] = []
    known = collection.value

    def look_up(name: str) -> str | None:
        asked.append(name)
        return known(name)

    monkeypatch.setattr(collection, "value", look_up)
    assert tokens.find("hf_" + "x" * 196 + "_" + "y") is None
    assert asked == []
    assert tokens.find("hf_" + "x" * 195 + "_" + "y") is None
    assert asked == ["tokens"]


@pytest.mark.parametrize(("name", "works"), [("x", True), ("x" * 100, True), ("x" * 101, False), ("  ", False)])
def test_a_tokens_name_has_1_to_100_characters(collection: Collection, name: str, works: bool) -> None:
    tokens = Tokens(collection, Clock())
    if works:
        assert tokens.make(name).token.name == name
        assert tokens.make(" x ").token.name == "x"
        return
    with pytest.raises(InputError, match="1 to 100"):
        tokens.make(name)
    assert tokens.all() == []


def test_an_expired_token_opens_nothing_of_the_api(collection: Collection, options: WebOptions) -> None:
    app = create_app(collection, options)
    old = Tokens(collection, lambda: time.time() - 365 * DAY - 60).make("old").text
    young = Tokens(collection, lambda: time.time() - 365 * DAY + 600).make("young").text
    door = from_address(app, "192.0.2.1")
    for token, status in ((old, 401), (young, 200)):
        message = door.get(f"{API}/study", headers={"authorization": f"Bearer {token}"})
        assert message.status_code == status
    assert "expired" in door.get(f"{API}/study", headers={"authorization": f"Bearer {old}"}).json()["problem"]
    assert door.get(f"{API}/study", headers={"authorization": f"Basic {young}"}).status_code == 401
    assert door.get(f"{API}/study", headers={"authorization": f"bearer {young}"}).status_code == 200


def test_a_token_may_change_things_without_a_page(collection: Collection, options: WebOptions) -> None:
    token = Tokens(collection).make("program").text
    door = from_address(create_app(collection, options), "192.0.2.1", authorization=f"Bearer {token}")
    assert door.patch(f"{API}/settings", json={"cap": 7}).json()["cap"] == 7


def test_wrong_tokens_are_counted_by_address_and_right_ones_are_not(
    collection: Collection, options: WebOptions
) -> None:
    assert WebOptions(secret=SECRET).wrong_tokens_per_minute == 30
    app = create_app(collection, options)
    app.state.token_limit = RateLimit(3, clock := Clock())
    right = {"authorization": f"Bearer {Tokens(collection).make('right').text}"}
    wrong = {"authorization": "Bearer hf_0_0"}
    here, there = from_address(app, "192.0.2.1"), from_address(app, "192.0.2.2")
    assert [here.get(f"{API}/study", headers=right).status_code for _ in range(5)] == [200] * 5
    assert [here.get(f"{API}/study", headers=wrong).status_code for _ in range(4)] == [401, 401, 401, 429]
    message = here.get(f"{API}/study", headers=right)
    assert (message.status_code, message.headers["retry-after"]) == (429, "21")
    assert "21 seconds" in message.json()["fix"]
    assert there.get(f"{API}/study", headers=right).status_code == 200
    assert there.get(f"{API}/study", headers=wrong).status_code == 401
    clock.now += 19.999
    assert here.get(f"{API}/study", headers=right).status_code == 429
    clock.now += 0.002
    assert here.get(f"{API}/study", headers=right).status_code == 200
