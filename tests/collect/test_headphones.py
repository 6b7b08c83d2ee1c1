"""The headphone check: its truth stays with the server."""

from __future__ import annotations

import io
import wave
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Arrive, Headphones, SessionEnd, ShowInstructions
from heartfelt.collect.options import SimulationOptions
from heartfelt.collect.session.headphones import ORDERS, quietest_tones, three_tones, tone_order
from heartfelt.collect.simulation import simulate_collection

PROBE = {"type": "headphones", "id": "ears", "trials": 6, "pass_at": 5, "blocks": True}


def levels(sound: bytes) -> tuple[list[float], list[float]]:
    """The level of each tone at the left ear, and of both sides together, as two loudspeakers would mix them."""
    with wave.open(io.BytesIO(sound)) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (2, 2)
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2) / 32767
        rate = file.getframerate()
    tones = [samples[round(at * rate) : round((at + 1) * rate)] for at in (0.0, 1.5, 3.0)]
    left = [float(np.abs(tone[:, 0]).max()) for tone in tones]
    return left, [float(np.abs(tone.mean(axis=1)).max()) for tone in tones]


def test_one_tone_is_quieter_by_six_decibels_and_one_is_cancelled_by_loudspeakers() -> None:
    for order in ORDERS:
        left, mixed = levels(three_tones(order))
        quiet, opposite = order.index("quiet"), order.index("opposite")
        assert left[quiet] / left[opposite] == pytest.approx(10 ** (-6 / 20), abs=1e-3)
        assert max(left) == pytest.approx(0.35, abs=1e-3)
        assert int(np.argmin(left)) == quiet, "with headphones"
        assert int(np.argmin(mixed)) == opposite, "with loudspeakers"
        assert mixed[opposite] == 0.0


def test_every_sound_has_the_same_size() -> None:
    assert len({len(three_tones(order)) for order in ORDERS}) == 1
    assert len(set(map(three_tones, ORDERS))) == len(ORDERS)


def test_the_order_depends_on_the_secret_the_rater_the_probe_and_the_round() -> None:
    first = [tone_order(b"secret", "r1", "ears", number) for number in range(1, 61)]
    assert first == [tone_order(b"secret", "r1", "ears", number) for number in range(1, 61)]
    for other in ((b"other", "r1", "ears"), (b"secret", "r2", "ears"), (b"secret", "r1", "phones")):
        assert first != [tone_order(*other, number) for number in range(1, 61)]
    places = Counter(place for rater in range(100) for place in quietest_tones(b"s", str(rater), "ears", 6))
    assert set(places) == {1, 2, 3}
    assert min(places.values()) > 150, "200 expected, with a standard deviation of 11.5"


@pytest.mark.slow
@pytest.mark.parametrize("hears", [True, False])
def test_the_collection_judges_what_was_answered(
    make_study: Callable[..., Path], collect: Callable[..., Collection], hears: bool
) -> None:
    collection = collect(make_study(probes=[PROBE]))
    rater = collection.do(Arrive()).rater
    right = collection.quietest_tones(rater)
    answers = right if hears else [place % 3 + 1 for place in right]
    step = collection.do(Headphones(rater, "ears", answers))
    assert isinstance(step, ShowInstructions if hears else SessionEnd)
    row = collection.raters().row(0, named=True)
    assert (row["headphones_correct"], row["headphones_passed"]) == (6 if hears else 0, hears)
    assert collection.headphone_tones(rater, 0) is None
    assert collection.headphone_tones(rater, 7) is None


@pytest.mark.slow
def test_simulated_raters_pass_a_check_that_blocks(make_study: Callable[..., Path]) -> None:
    outcome = simulate_collection(make_study(3, probes=[PROBE]), SimulationOptions(raters=2))
    assert outcome.ratings == 6
