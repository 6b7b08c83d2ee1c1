"""``synth-image``: abstract images that carry an intended valence and arousal.

Valence: brightness, warm against cold hue, round against pointed shapes. Arousal: saturation, clutter,
contrast, pointed shapes again. Four systems draw in different styles, each with its own planted
faithfulness.

Source: Valdez & Mehrabian 1994 (brightness and saturation); Bar & Neta 2006 (pointed shapes are liked less).
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from heartfelt.errors import InputError
from heartfelt.media.images.image import PictureFile
from heartfelt.simulate.conveyed_emotion import ConveyanceProfile, conveyed, profile, system_of
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt.streams import stream

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

Colour = tuple[int, int, int]
NAME = "synth-image"
_OUTLINE_POINTS = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSystem:
    """One style of drawing, and its conveyance. ``blur`` and ``outline`` are shares of the width."""

    conveyance: ConveyanceProfile
    blur: float = 0.0
    outline: float = 0.0
    shadow: bool = False
    opacity: float = 1.0


IMAGE_SYSTEMS: Mapping[str, ImageSystem] = MappingProxyType(
    {
        "Gouache": ImageSystem(conveyance=profile(0.90, 0.2, 0.85, -0.3, 0.35), blur=0.004, opacity=0.8),
        "Linocut": ImageSystem(conveyance=profile(0.70, -0.8, 0.90, 0.4, 0.45), outline=0.006),
        "Papercut": ImageSystem(conveyance=profile(0.45, 0.6, 0.70, 0.0, 0.45), shadow=True),
        "Neonlight": ImageSystem(
            conveyance=profile(0.60, 0.0, 0.50, 1.2, 0.60), blur=0.002, outline=0.008, opacity=0.55
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The visual means that carry one feeling; shares from 0 to 1."""

    hue: float
    brightness: float
    saturation: float
    angularity: float
    shapes: int
    spread: float


def look(valence: float, arousal: float) -> Look:
    high, awake = (min(max(x, 1.0), 9.0) / 8.0 - 0.125 for x in (valence, arousal))
    corners = (
        (0.63, (1 - high) * (1 - awake)),
        (0.98, (1 - high) * awake),
        (0.42, high * (1 - awake)),
        (0.12, high * awake),
    )
    across = sum(weight * np.cos(2 * np.pi * hue) for hue, weight in corners)
    up = sum(weight * np.sin(2 * np.pi * hue) for hue, weight in corners)
    return Look(
        hue=float(np.arctan2(up, across) / (2 * np.pi)) % 1.0,
        brightness=0.30 + 0.58 * high + 0.06 * awake,
        saturation=0.16 + 0.58 * awake + 0.10 * high,
        angularity=0.6 * awake + 0.4 * (1 - high),
        shapes=round(5 + 45 * awake**1.3),
        spread=0.06 + 0.16 * awake,
    )


def render_image(
    valence: float, arousal: float, *, system: str, size: int = 512, seed: int = 0, name: str = ""
) -> PilImage:
    """Draw one image meant to convey ``valence`` and ``arousal`` (1-9), ``size`` pixels square.

    ``name`` is the stimulus id; with ``seed`` it decides everything chance decides.
    """
    from PIL import Image, ImageFilter

    if not 16 <= size <= 8_192:
        raise InputError(f"Cannot draw an image {size} pixels wide.", "Ask for 16 to 8,192 pixels.")
    style = system_of(NAME, system, IMAGE_SYSTEMS)
    means = look(*conveyed(NAME, IMAGE_SYSTEMS, valence, arousal, system=system, seed=seed, name=name))
    rng = stream(seed, "make", NAME, "drawing", system, name)
    wide = 2 * size
    canvas = _background(means, wide)
    for _ in range(means.shapes):
        _shape(canvas, means, style, rng)
    if style.blur:
        canvas = canvas.filter(ImageFilter.GaussianBlur(style.blur * wide))
    return canvas.resize((size, size), Image.Resampling.BOX)


def _background(means: Look, wide: int) -> PilImage:
    from PIL import Image

    top, bottom = (
        np.array(_colour(means.hue, 0.75 * means.saturation, means.brightness * light)) for light in (1.06, 0.94)
    )
    fade = np.linspace(0.0, 1.0, wide)[:, None]
    column = np.rint(top * (1.0 - fade) + bottom * fade).astype(np.uint8)
    return Image.fromarray(np.ascontiguousarray(np.broadcast_to(column[:, None, :], (wide, wide, 3))), "RGB")


def _shape(canvas: PilImage, means: Look, style: ImageSystem, rng: np.random.Generator) -> None:
    from PIL import ImageDraw

    wide = canvas.width
    # Many shapes are smaller ones: clutter grows while the covered area stays about the same.
    radius = wide * (0.5 / np.sqrt(means.shapes)) * float(rng.uniform(0.6, 1.3))
    across, down = rng.uniform(0.0, wide, 2)
    points = outline(means.angularity, rng) * radius + np.array([across, down])
    tint = _colour(
        (means.hue + float(rng.normal(0.0, 0.05))) % 1.0,
        means.saturation * float(rng.uniform(0.85, 1.25)),
        means.brightness * float(rng.uniform(1.0 - 2.2 * means.spread, 1.0 + 2.2 * means.spread)),
    )
    draw = ImageDraw.Draw(canvas, "RGBA")
    path = [(float(x), float(y)) for x, y in points]
    if style.shadow:
        drop = 0.008 * wide
        draw.polygon([(x + drop, y + drop) for x, y in path], fill=(0, 0, 0, 70))
    draw.polygon(path, fill=(*tint, round(255 * style.opacity)))
    if style.outline:
        edge = _colour(
            means.hue,
            means.saturation,
            means.brightness * (1.0 - 2.5 * means.spread if style.opacity == 1.0 else 1.0 + 2.0 * means.spread),
        )
        draw.line([*path, path[0]], fill=(*edge, 255), width=max(1, round(style.outline * wide)))


def outline(angularity: float, rng: np.random.Generator) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The outline of one shape around the origin, radius about one: a soft blob at 0, a spiked star at 1."""
    turn = np.linspace(0.0, 2 * np.pi, _OUTLINE_POINTS, endpoint=False)
    soft = 1.0 + 0.12 * np.sin(2 * turn + rng.uniform(0, 6.28)) + 0.08 * np.sin(3 * turn + rng.uniform(0, 6.28))
    spikes = int(rng.integers(4, 9))
    saw = np.abs(((turn * spikes / (2 * np.pi) + rng.random()) % 1.0) * 2.0 - 1.0)
    radius = (1.0 - angularity) * soft + angularity * (0.38 + 1.1 * saw**1.6)
    return np.stack([np.cos(turn) * radius, np.sin(turn) * radius], axis=1)


def _colour(hue: float, saturation: float, brightness: float) -> Colour:
    red, green, blue = colorsys.hsv_to_rgb(hue, min(max(saturation, 0.0), 1.0), min(max(brightness, 0.0), 1.0))
    return round(255 * red), round(255 * green), round(255 * blue)


@dataclass(frozen=True, slots=True)
class SynthImage:
    """The generator ``synth-image``: square images of ``size`` pixels."""

    size: int = 512
    kind: str = "image"
    suffix: str = ".png"
    systems: tuple[str, ...] = tuple(IMAGE_SYSTEMS)

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> PictureFile:
        """Draw the image that the prompt's coordinates ask for; its text is not read."""
        return PictureFile(render_image(**prompt.rendering(seed), size=self.size))
