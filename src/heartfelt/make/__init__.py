"""Making stimuli: prompts, generators, and preparing media for raters. Loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.on_demand import on_demand

if TYPE_CHECKING:
    from heartfelt.make.batch import make_stimuli
    from heartfelt.make.conveyance import Conveyance
    from heartfelt.make.generators import GENERATORS, render_clip, render_image
    from heartfelt.make.prompts import Prompt, prompts_for

__all__ = ["GENERATORS", "Conveyance", "Prompt", "make_stimuli", "prompts_for", "render_clip", "render_image"]

_HOMES = {
    "batch": ("make_stimuli",),
    "conveyance": ("Conveyance",),
    "generators": ("GENERATORS", "render_clip", "render_image"),
    "prompts": ("Prompt", "prompts_for"),
}

__getattr__ = on_demand(__name__, _HOMES)
