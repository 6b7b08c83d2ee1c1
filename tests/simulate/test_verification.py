"""People who verify drafts behave as planted."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.simulate import Verifier, VerifierMix, field_truth, verifiers, verify
from heartfelt.study import Scale
from heartfelt.study.scales.scale import Categories, Numeric, Tags

STYLE = Categories(type="categories", categories=["oil", "ink", "photo"])
BRIGHT = Numeric(type="numeric", low=0, high=1)
OBJECTS = Tags(type="tags")
CAREFUL = Verifier("careful", 0.0, 1.0)


def shares(scale: Scale, true: str, draft: str | None, person: Verifier, mix: VerifierMix) -> tuple[float, float]:
    rng = np.random.default_rng(5)
    made = [verify(scale, true, draft, ["oil", "ink", "photo"], person, mix, rng) for _ in range(400)]
    return tuple(np.mean([each.verdict == verdict for each in made]) for verdict in ("accepted", "fixed"))  # type: ignore[return-value]  # two


def test_kinds_are_met_in_their_shares_and_miss_as_planted() -> None:
    mix = VerifierMix(shares={"rubber-stamper": 0.2, "sloppy": 0.1})
    people = verifiers(40, mix, seed=4)
    kinds = [person.kind for person in people]
    assert (kinds.count("careful"), kinds.count("sloppy"), kinds.count("rubber-stamper")) == (28, 4, 8)
    assert all(mix.miss[person.kind][0] <= person.miss <= mix.miss[person.kind][1] for person in people)
    assert people == verifiers(40, mix, seed=4)


def test_errors_are_noticed_or_missed() -> None:
    mix = VerifierMix(noise=0.0)
    assert shares(STYLE, "ink", "ink", CAREFUL, mix) == (1.0, 0.0)
    assert shares(STYLE, "oil", "ink", CAREFUL, mix) == (0.0, 1.0)
    accepted, fixed = shares(STYLE, "oil", "ink", Verifier("sloppy", 0.5, 1.0), mix)
    assert accepted == pytest.approx(0.5, abs=0.08)
    assert accepted + fixed == 1.0
    assert shares(STYLE, "oil", "ink", Verifier("rubber-stamper", 1.0, 1.0), mix) == (1.0, 0.0)


def test_numbers_are_anchored_and_stay_on_the_scale() -> None:
    rng, mix = np.random.default_rng(1), VerifierMix(noise=0.0, anchoring=0.25)
    assert verify(BRIGHT, "0.5", "0.6", [], CAREFUL, mix, rng).verdict == "accepted"
    assert verify(BRIGHT, "0.5", "0.9", [], CAREFUL, mix, rng).value == pytest.approx(0.6)
    assert verify(BRIGHT, "1", None, [], CAREFUL, VerifierMix(noise=2.0), rng).value in {0.0, 1.0}
    alone = verify(BRIGHT, "0.5", None, [], CAREFUL, mix, rng)
    assert (alone.value, alone.verdict) == (0.5, None)
    assert alone.seconds > verify(BRIGHT, "0.5", "0.5", [], Verifier("rubber-stamper", 1, 1), mix, rng).seconds


def test_the_truth_behind_a_draft() -> None:
    rng = np.random.default_rng(2)
    always, never = VerifierMix(accuracy=1.0), VerifierMix(accuracy=0.0)
    assert field_truth(STYLE, "oil", ["oil", "ink"], always, rng) == "oil"
    assert field_truth(STYLE, "oil", ["oil", "ink"], never, rng) == "ink"
    assert field_truth(STYLE, "oil", ["oil"], never, rng) == "oil", "there is no other value"
    assert field_truth(OBJECTS, "cat;dog", ["cat;dog", "boat;dog"], never, rng) == "cat;boat"


@pytest.mark.parametrize(
    "wrong", [{"accuracy": 1.1}, {"noise": -0.1}, {"seconds": 0.0}, {"miss": {"careful": (0.0, 0.1)}}]
)
def test_habits_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        VerifierMix(**wrong)  # type: ignore[arg-type]  # bad on purpose
    with pytest.raises(InputError):
        verifiers(0)
