"""Making stimuli: prompts, generators, and getting media ready for raters."""

from heartfelt.make.batch import make_stimuli
from heartfelt.make.conveyance import Conveyance
from heartfelt.make.generators import GENERATORS, render_clip, render_image
from heartfelt.make.prompts import Prompt, prompts_for

__all__ = ["GENERATORS", "Conveyance", "Prompt", "make_stimuli", "prompts_for", "render_clip", "render_image"]
