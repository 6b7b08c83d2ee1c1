"""Making stimuli: prompts, generators, and getting media ready for raters. Loaded when first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heartfelt.make.batch import make_stimuli
    from heartfelt.make.conveyance import Conveyance
    from heartfelt.make.generators import GENERATORS, render_clip, render_image
    from heartfelt.make.prompts import Prompt, prompts_for

__all__ = ["GENERATORS", "Conveyance", "Prompt", "make_stimuli", "prompts_for", "render_clip", "render_image"]

_HOMES = {
    "make_stimuli": "batch",
    "Conveyance": "conveyance",
    "GENERATORS": "generators",
    "render_clip": "generators",
    "render_image": "generators",
    "Prompt": "prompts",
    "prompts_for": "prompts",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: reading a sound file should not wait for the synthesisers."""
    if name in _HOMES:
        return getattr(import_module(f"heartfelt.make.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'heartfelt.make' has no attribute '{name}'")
