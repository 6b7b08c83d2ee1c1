"""Generators: what makes a stimulus from a prompt. Three small ones are built in, all rendering real media."""

from heartfelt.make.generators.image import SynthImage
from heartfelt.make.generators.music import SynthMusic
from heartfelt.make.generators.speech import SynthVoice
from heartfelt.make.prompts import Generator
from heartfelt.registry import Registry

__all__ = ["GENERATORS", "SynthImage", "SynthMusic", "SynthVoice"]

GENERATORS: Registry[Generator] = Registry("generator")
GENERATORS.add("synth-image", SynthImage())
GENERATORS.add("synth-music", SynthMusic())
GENERATORS.add("synth-voice", SynthVoice())
