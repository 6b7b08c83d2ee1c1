from .conveyance import Conveyance
from .generators.image import render_image
from .generators.music import render_clip
from .prompts import Prompt, prompts_for

__all__ = ["Conveyance", "Prompt", "prompts_for", "render_clip", "render_image"]
