"""MusicNN's patches, tables and odd clips."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors.networks import musicnn
from heartfelt.predictors.networks.fixed_inputs import sound
from heartfelt.predictors.networks.musicnn import PARTS, PatchOptions, embed
from tests.predictors.weights.conftest import Pulled

pytestmark = pytest.mark.slow  # they load libraries that take seconds


def test_a_clip_has_its_tables(pulled: Pulled) -> None:
    features = embed(sound(10 * 16_000), model=pulled("musicnn-msd"))
    # 626 frames hold three patches of 187.
    np.testing.assert_allclose(features.starts, [0.0, 2.992, 5.984])
    assert features.seconds == 10.0
    assert [features.part(part).shape for part in PARTS] == [(3, 50), (3, 200), (3, 753), (3, 753), (3, 753)]
    assert features.warnings == ()
    assert len(set(features.names)) == 50
    tags = features.mean_tags()
    assert list(tags.values()) == sorted(tags.values(), reverse=True)
    assert all(0 < share < 1 for share in tags.values())
    np.testing.assert_allclose(tags["rock"], features.tags[:, features.names.index("rock")].mean(), rtol=1e-6)


def test_the_two_taggers_differ(pulled: Pulled) -> None:
    clip = sound(3 * 16_000)
    each, other = (embed(clip, model=pulled(name)) for name in ("musicnn-msd", "musicnn-mtt"))
    assert "happy" in each.names
    assert "harpsichord" in other.names
    assert np.abs(each.penultimate - other.penultimate).max() > 0.1


@pytest.mark.parametrize("size", [100, 16_000, 70_001])
def test_blocks_of_any_size_give_the_same(pulled: Pulled, size: int) -> None:
    model, clip = pulled("musicnn-msd"), sound(100_000)
    whole = embed(clip, model=model)
    parts = embed((clip[start : start + size] for start in range(0, len(clip), size)), model=model)
    np.testing.assert_allclose(parts.penultimate, whole.penultimate, atol=1e-4)
    np.testing.assert_array_equal(parts.starts, whole.starts)
    assert parts.seconds == whole.seconds


def test_threads_may_share_a_model(pulled: Pulled) -> None:
    model = pulled("musicnn-msd")
    clips = [sound(48_000 + 4_000 * number) for number in range(6)]
    alone = [embed(clip, model=model).vector() for clip in clips]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda clip: embed(clip, model=model).vector(), clips))
    np.testing.assert_array_equal(together, alone)


def test_overlap_and_the_end(pulled: Pulled) -> None:
    model, clip = pulled("musicnn-msd"), sound(10 * 16_000)
    plain = embed(clip, model=model)
    half = embed(clip, model=model, options=PatchOptions(hop_seconds=1.504))
    np.testing.assert_allclose(half.starts, 1.504 * np.arange(5))
    np.testing.assert_allclose(half.penultimate[0], plain.penultimate[0], atol=1e-5)
    ended = embed(clip, model=model, options=PatchOptions(to_the_end=True))
    # The last patch begins 187 frames before the 626th.
    np.testing.assert_allclose(ended.starts, [0.0, 2.992, 5.984, (626 - 187) * 0.016])
    last = embed(clip[(626 - 187) * 256 :], model=model)
    assert np.abs(ended.penultimate[3] - last.penultimate[0]).max() < 0.2 * np.abs(last.penultimate).max()
    exact = embed(clip[: 186 * 256], model=model, options=PatchOptions(to_the_end=True))
    assert len(exact.starts) == 1


@pytest.mark.parametrize("frames", [1, 800, 40_000])
def test_a_short_clip_is_repeated_and_says_so(pulled: Pulled, frames: int) -> None:
    features = embed(sound(frames) + np.float32(0.1), model=pulled("musicnn-msd"))
    assert features.penultimate.shape == (1, 200)
    assert np.isfinite(features.penultimate).all()
    assert any("less than one patch" in warning for warning in features.warnings)


def test_silence_is_answered_with_a_warning(pulled: Pulled) -> None:
    features = embed(np.zeros(64_000, np.float32), model=pulled("musicnn-msd"))
    assert features.warnings == ("the clip is silent",)
    assert np.isfinite(features.tags).all()


def _nan() -> npt.NDArray[np.float32]:
    return np.array([0.0, np.nan] * 24_000, dtype=np.float32)


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (np.zeros(0, np.float32), "no sound"),
        (_nan(), "not finite"),
        (np.zeros((100, 2), np.float32), "not a mono clip"),
        (np.zeros(100, np.int16), "not a mono clip"),
    ],
)
def test_what_cannot_be_heard_is_refused(pulled: Pulled, samples: npt.NDArray[np.float32], words: str) -> None:
    with pytest.raises(InputError, match=words):
        embed(samples, model=pulled("musicnn-msd"))


@pytest.mark.parametrize("hop", [0.0, -1.0, float("nan"), 1e9])
def test_a_hop_must_be_sensible(hop: float) -> None:
    with pytest.raises(InputError, match="apart"):
        PatchOptions(hop_seconds=hop).hop_frames()


def test_a_vector_is_made_of_named_parts(pulled: Pulled) -> None:
    features = embed(sound(10 * 16_000), model=pulled("musicnn-msd"))
    assert features.vector().shape == (200,)
    vector = features.vector(("penultimate", "max_pool.temporal"), ("mean", "std"))
    assert vector.shape == (2 * 200 + 2 * 153,)
    np.testing.assert_allclose(vector[200:400], features.penultimate.std(axis=0), rtol=1e-5)
    np.testing.assert_allclose(vector[400:553], features.max_pool[:, 408:561].mean(axis=0), rtol=1e-5)
    for wrong in ("penultimat", "mean_pool.nothing", "tags.timbral"):
        with pytest.raises(InputError, match="has no part"):
            features.part(wrong)
    assert sum(part.stop - part.start for part in musicnn.LAYERS.values()) == 753


def test_the_spread_within_a_patch_is_never_negative_and_the_peak_never_below_the_mean(pulled: Pulled) -> None:
    features = embed(sound(6 * 16_000), model=pulled("musicnn-msd"))
    assert (features.std_pool >= 0).all()
    assert (features.max_pool >= features.mean_pool - 1e-4).all()


def test_memory_stays_flat_however_long_the_clip(pulled: Pulled) -> None:
    model = pulled("musicnn-msd")
    block = sound(10 * 16_000)

    def minutes(count: int) -> Iterator[npt.NDArray[np.float32]]:
        yield from (block for _ in range(6 * count))

    def peak(count: int) -> int:
        tracemalloc.start()
        embed(minutes(count), model=model, options=PatchOptions(hop_seconds=60))
        high = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return high

    peak(1)
    # Six minutes more at 16 kHz are 23 MB of samples.
    assert peak(8) < peak(2) + 2_000_000
