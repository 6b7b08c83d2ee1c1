"""The built-in generators: they render real media with a planted profile. All kinds: ``heartfelt.generation.GENERATORS``."""

from heartfelt.make.generators.image import SynthImage
from heartfelt.make.generators.music import SynthMusic
from heartfelt.make.generators.speech import SynthVoice

__all__ = ["SynthImage", "SynthMusic", "SynthVoice"]
