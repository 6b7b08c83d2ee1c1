"""A study after emolia-dim in small: three voices by four dimensions at three levels, each asked yes and no."""

from __future__ import annotations

from heartfelt.make.generators.speech import SynthVoice
from heartfelt.make.prompts import Prompt
from heartfelt.make.starter.clips import SmallClips
from heartfelt.make.starter.emolia_emo import VOICE_STYLES
from heartfelt.make.starter.sketch import Planned, Sketch

SECONDS = 5.0
HIGHEST = 6
DIMENSIONS = {"TEMP": "tempo", "CHNK": "phrasing", "RANG": "range", "EMPH": "emphasis"}
"""The recipe's dimensions that the synthesiser has a means for."""
AGAINST = {1: 5, 3: 6, 5: 1}
"""The levels that are made, each with a level it should not be taken for."""


def sketch(per_cell: int) -> Sketch:
    """``per_cell`` clips for every voice, dimension and level, two items each."""
    maker = SmallClips(SynthVoice(seconds=SECONDS))
    clips, items = [], []
    for system in VOICE_STYLES:
        for dimension, means in DIMENSIONS.items():
            for level, other in AGAINST.items():
                for number in range(1, per_cell + 1):
                    name = f"{system}_{dimension}_{level}_{number}"
                    coordinates = {"valence": 5.0, "arousal": 5.0, means: level / HIGHEST}
                    ask = Prompt(name, system, dimension, f"{dimension} {level}", coordinates)
                    clips.append(
                        Planned(ask, maker, {"system": system, "intent": dimension, "level": str(level)})
                    )
                    items += [
                        (name, f"{dimension}/{level}/positive"),
                        (name, f"{dimension}/{other}/negative"),
                    ]
    return Sketch(
        VOICE_STYLES,
        tuple(clips),
        items=tuple(items),
        notes=(
            f"Clips of {SECONDS:g} s in which three voices babble at levels 1, 3 and 5 of four dimensions: tempo (TEMP), "
            "phrasing (CHNK), pitch range (RANG) and emphasis (EMPH). The column `level` of `stimuli.csv` says which. "
            "`items.csv` holds each clip against the level it was made for (`positive`) and against another "
            "one (`negative`). The recipe's other dimensions have no example."
        ),
    )
