from .batch import make_stimuli
from .conveyance import Conveyance
from .generators.image import render_image
from .generators.music import render_clip
from .prompts import Prompt, prompts_for

__all__ = ["Conveyance", "Prompt", "make_stimuli", "prompts_for", "render_clip", "render_image"]
