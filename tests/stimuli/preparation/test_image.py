from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import InputError, UnknownNameError
from heartfelt.stimuli.synthesis.image import IMAGE_SYSTEMS, look, outline, render_image
from heartfelt.streams import stream

SYSTEMS = list(IMAGE_SYSTEMS)


def features(valence: float, arousal: float, system: str) -> np.ndarray:
    """Mean brightness, saturation and edge strength over a few images."""
    out = []
    for k in range(5):
        image = render_image(valence, arousal, system=system, size=96, name=f"n{k}")
        pixels = np.asarray(image, dtype=np.float64) / 255
        high, low = pixels.max(axis=2), pixels.min(axis=2)
        grey = pixels.mean(axis=2)
        edges = np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean()
        out.append([high.mean(), ((high - low) / np.maximum(high, 1e-6)).mean(), edges])
    mean: np.ndarray = np.mean(out, axis=0)
    return mean


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_brightness_follows_valence(system: str) -> None:
    dark, bright = features(2.0, 5.0, system)[0], features(8.0, 5.0, system)[0]
    gain = IMAGE_SYSTEMS[system].conveyance.gain["valence"]
    # 0.58 over 8 points, planted; the drawing must show at least two thirds of it.
    assert bright - dark > 0.66 * 0.58 * 6 / 8 * gain


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_saturation_and_clutter_follow_arousal(system: str) -> None:
    calm, wild = features(5.0, 2.0, system), features(5.0, 8.0, system)
    gain = IMAGE_SYSTEMS[system].conveyance.gain["arousal"]
    assert wild[1] - calm[1] > 0.66 * 0.58 * 6 / 8 * gain
    assert wild[2] > (1 + 0.5 * gain) * calm[2]


def test_shapes_grow_points() -> None:
    def roundness(angularity: float) -> float:
        shares = []
        for k in range(30):
            points = outline(angularity, stream(k, "outline"))
            step = np.roll(points, -1, axis=0) - points
            area = 0.5 * abs(
                np.sum(points[:, 0] * np.roll(points[:, 1], -1) - points[:, 1] * np.roll(points[:, 0], -1))
            )
            shares.append(4 * np.pi * area / np.sum(np.hypot(step[:, 0], step[:, 1])) ** 2)
        return float(np.mean(shares))

    values = [roundness(a) for a in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert all(np.diff(values) < 0)
    assert values[0] > 0.85
    assert values[-1] < 0.45


def test_hue_turns_from_blue_to_yellow() -> None:
    assert 0.55 < look(1.0, 1.0).hue < 0.7
    assert 0.05 < look(9.0, 9.0).hue < 0.2
    assert look(1.0, 9.0).hue > 0.9
    assert 0.3 < look(9.0, 1.0).hue < 0.5


def test_the_same_seed_and_name_give_the_same_image() -> None:
    each, two = (render_image(4.0, 7.0, system="Linocut", size=64, seed=1, name="a").tobytes() for _ in range(2))
    assert each == two
    assert each != render_image(4.0, 7.0, system="Linocut", size=64, seed=1, name="b").tobytes()
    assert each != render_image(4.0, 7.0, system="Linocut", size=64, seed=2, name="a").tobytes()


def test_size_and_mode() -> None:
    image = render_image(5.0, 5.0, system="Papercut", size=80)
    assert image.size == (80, 80)
    assert image.mode == "RGB"


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Gouache"):
        render_image(5.0, 5.0, system="Guache")
    with pytest.raises(InputError, match="off the scale"):
        render_image(5.0, 9.5, system="Gouache")
    with pytest.raises(InputError, match="pixels"):
        render_image(5.0, 5.0, system="Gouache", size=0)
