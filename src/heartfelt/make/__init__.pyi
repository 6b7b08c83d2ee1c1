from .batch import make_stimuli
from .conveyance import Conveyance
from .generators import GENERATORS, render_clip, render_image
from .prompts import Prompt, prompts_for

__all__ = ["GENERATORS", "Conveyance", "Prompt", "make_stimuli", "prompts_for", "render_clip", "render_image"]
