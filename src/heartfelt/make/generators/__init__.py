"""Generators: what makes a stimulus from a prompt. Three small ones are built in, all rendering real media."""

from heartfelt.make.generators.image import IMAGE_SYSTEMS, SynthImage, render_image
from heartfelt.make.generators.music import MUSIC_SYSTEMS, SynthMusic, render_clip
from heartfelt.make.generators.speech import VOICE_SYSTEMS, SynthVoice, render_voice
from heartfelt.make.prompts import Generator, Media
from heartfelt.registry import Registry

__all__ = [
    "GENERATORS",
    "IMAGE_SYSTEMS",
    "MUSIC_SYSTEMS",
    "VOICE_SYSTEMS",
    "Generator",
    "Media",
    "SynthImage",
    "SynthMusic",
    "SynthVoice",
    "render_clip",
    "render_image",
    "render_voice",
]

GENERATORS: Registry[Generator] = Registry("generator")
GENERATORS.add("synth-image", SynthImage())
GENERATORS.add("synth-music", SynthMusic())
GENERATORS.add("synth-voice", SynthVoice())
