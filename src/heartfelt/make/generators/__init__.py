"""Generators: what makes a stimulus from a prompt. Two small ones are built in, both rendering real media."""

from heartfelt.make.generators.generator import GENERATORS, Generator, Media
from heartfelt.make.generators.image import IMAGE_SYSTEMS, SynthImage, render_image
from heartfelt.make.generators.music import MUSIC_SYSTEMS, SynthMusic, render_clip

__all__ = [
    "GENERATORS",
    "IMAGE_SYSTEMS",
    "MUSIC_SYSTEMS",
    "Generator",
    "Media",
    "SynthImage",
    "SynthMusic",
    "render_clip",
    "render_image",
]
