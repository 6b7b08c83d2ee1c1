"""The built-in generators: they render real media with a planted profile. All kinds: ``heartfelt.stimuli.GENERATORS``."""

from heartfelt.stimuli.synthesis.image import SynthImage
from heartfelt.stimuli.synthesis.music import SynthMusic
from heartfelt.stimuli.synthesis.speech import SynthVoice

__all__ = ["SynthImage", "SynthMusic", "SynthVoice"]
