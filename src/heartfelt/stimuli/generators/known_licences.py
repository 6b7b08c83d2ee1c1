"""Licences of well-known generative models, by their names on the hub: shown before a model is first used.

Only licences that the models' own pages state are listed; they can change, and the page decides. ``commercial`` says whether the
licence allows commercial use at all, whatever conditions it sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from heartfelt.stimuli.generators.generator import Licence

_CC = "https://creativecommons.org/licenses/"
_BY_NC = Licence("CC BY-NC 4.0", f"{_CC}by-nc/4.0/", False)
_BY_NC_SA = Licence("CC BY-NC-SA 4.0", f"{_CC}by-nc-sa/4.0/", False)
_MIT = Licence("MIT", "https://opensource.org/license/mit", True)
_APACHE = Licence("Apache 2.0", "https://www.apache.org/licenses/LICENSE-2.0", True)
_RAIL = Licence(
    "CreativeML OpenRAIL-M",
    "https://huggingface.co/spaces/CompVis/stable-diffusion-license",
    True,
    "It lists uses that are not allowed.",
)
_RAIL_PLUS = Licence(
    "CreativeML OpenRAIL++-M",
    "https://huggingface.co/stabilityai/stable-diffusion-xl-base-1.0/blob/main/LICENSE.md",
    True,
    "It lists uses that are not allowed.",
)
_STABILITY = Licence(
    "Stability AI Community License",
    "https://stability.ai/license",
    True,
    "Free below a yearly revenue that the licence states. Accept it on the model's page first.",
)
_FLUX = Licence(
    "FLUX.1 [dev] Non-Commercial License",
    "https://huggingface.co/black-forest-labs/FLUX.1-dev/blob/main/LICENSE.md",
    False,
    "Accept it on the model's page first.",
)

LICENCES: Mapping[str, Licence] = MappingProxyType(
    {
        **dict.fromkeys((f"facebook/musicgen-{size}" for size in ("small", "medium", "large", "melody")), _BY_NC),
        **dict.fromkeys(
            (f"facebook/musicgen-stereo-{size}" for size in ("small", "medium", "large", "melody")), _BY_NC
        ),
        **dict.fromkeys(("cvssp/audioldm2", "cvssp/audioldm2-large", "cvssp/audioldm2-music"), _BY_NC_SA),
        "stabilityai/stable-audio-open-1.0": _STABILITY,
        "stabilityai/stable-diffusion-3-medium-diffusers": _STABILITY,
        "stabilityai/stable-diffusion-3.5-medium": _STABILITY,
        "stabilityai/stable-diffusion-3.5-large": _STABILITY,
        "stabilityai/stable-diffusion-xl-base-1.0": _RAIL_PLUS,
        "stable-diffusion-v1-5/stable-diffusion-v1-5": _RAIL,
        "black-forest-labs/FLUX.1-dev": _FLUX,
        "black-forest-labs/FLUX.1-schnell": _APACHE,
        "suno/bark": _MIT,
        "suno/bark-small": _MIT,
        "microsoft/speecht5_tts": _MIT,
    }
)


def licence_of(model: str) -> Licence:
    if model in LICENCES:
        return LICENCES[model]
    if model.startswith("facebook/mms-tts"):
        return _BY_NC
    return Licence("not known", f"https://huggingface.co/{model}" if model.count("/") == 1 else "")
