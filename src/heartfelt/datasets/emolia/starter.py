"""Studies after EmoLia in small: three voices by eight emotions, or by four dimensions at three levels."""

from __future__ import annotations

import math

from heartfelt.stimuli.prompts.prompt import StimulusPrompt, prompts_for
from heartfelt.stimuli.starter import STARTERS, Sketch, SmallClips, StarterStimulus
from heartfelt.stimuli.synthesis.speech import SynthVoice

VOICE_STYLES = {"Cellar": "a low voice", "Parlour": "a middle voice", "Attic": "a high voice"}
EMO_SECONDS = 4.0
# Round numbers on 1 to 9 chosen for the synthesiser, not norms of these words.
EMOTIONS: dict[str, tuple[float, float]] = {
    "Elation": (8.4, 8.0),
    "Amusement": (7.6, 6.2),
    "Interest": (6.4, 5.4),
    "Contentment": (7.6, 3.0),
    "Anger": (2.0, 8.2),
    "Fear": (2.8, 7.0),
    "Sadness": (2.2, 2.8),
    "Fatigue_Exhaustion": (3.8, 1.6),
}


@STARTERS.register("emolia-emo")
def sketch_emo(per_cell: int) -> Sketch:
    """``per_cell`` clips for every voice and emotion, three items each."""
    maker = SmallClips(SynthVoice(seconds=EMO_SECONDS))
    intents = {name: {"valence": coordinates[0], "arousal": coordinates[1]} for name, coordinates in EMOTIONS.items()}
    prompts = prompts_for(intents, list(VOICE_STYLES), per_cell=per_cell)
    return Sketch(
        systems=VOICE_STYLES,
        stimuli=tuple(StarterStimulus(ask, maker, {"system": ask.system, "intent": ask.intent}) for ask in prompts),
        items=tuple(
            (ask.stimulus, question)
            for number, ask in enumerate(prompts)
            for question in _questions(ask.intent, number // len(EMOTIONS) + number)
        ),
        notes=(
            f"Clips of {EMO_SECONDS:g} s in which three voices babble: no words, only the voice. Eight of the forty emotions "
            "are there. `items.csv` asks each clip about the emotion it was made for (`affirmative`), and about two "
            "others: one of middling distance (`contrastive_1`, `contrastive_2`), and the farthest or the second "
            "farthest (`ultimate`, `penultimate`). The voices differ in valence and arousal alone, so Anger and "
            "Fear sound much alike."
        ),
    )


def _questions(emotion: str, turn: int) -> list[str]:
    """The questions about one clip; the ways of being absent take turns."""
    by_distance = sorted(
        (candidate for candidate in EMOTIONS if candidate != emotion),
        key=lambda candidate: math.dist(EMOTIONS[emotion], EMOTIONS[candidate]),
    )
    middle = len(by_distance) // 2
    absent = (
        [f"{by_distance[middle]}/contrastive_1", f"{by_distance[-1]}/ultimate"],
        [f"{by_distance[middle + 1]}/contrastive_2", f"{by_distance[-2]}/penultimate"],
    )
    return [f"{emotion}/affirmative", *absent[turn % 2]]


DIM_SECONDS = 5.0
HIGHEST = 6
DIMENSIONS = {"TEMP": "tempo", "CHNK": "phrasing", "RANG": "range", "EMPH": "emphasis"}
"""The recipe's dimensions that the synthesiser has a means for."""
AGAINST = {1: 5, 3: 6, 5: 1}
"""The levels that are made, each with a level it should not be taken for."""


@STARTERS.register("emolia-dim")
def sketch_dim(per_cell: int) -> Sketch:
    """``per_cell`` clips for every voice, dimension and level, two items each."""
    maker = SmallClips(SynthVoice(seconds=DIM_SECONDS))
    clips, items = [], []
    for system in VOICE_STYLES:
        for dimension, means in DIMENSIONS.items():
            for level, opposite in AGAINST.items():
                for number in range(1, per_cell + 1):
                    name = f"{system}_{dimension}_{level}_{number}"
                    coordinates = {"valence": 5.0, "arousal": 5.0, means: level / HIGHEST}
                    ask = StimulusPrompt(
                        stimulus=name,
                        system=system,
                        intent=dimension,
                        text=f"{dimension} {level}",
                        coordinates=coordinates,
                    )
                    clips.append(
                        StarterStimulus(ask, maker, {"system": system, "intent": dimension, "level": str(level)})
                    )
                    items += [(name, f"{dimension}/{level}/positive"), (name, f"{dimension}/{opposite}/negative")]
    return Sketch(
        systems=VOICE_STYLES,
        stimuli=tuple(clips),
        items=tuple(items),
        notes=(
            f"Clips of {DIM_SECONDS:g} s in which three voices babble at levels 1, 3 and 5 of four dimensions: tempo (TEMP), "
            "phrasing (CHNK), pitch range (RANG) and emphasis (EMPH). The column `level` of `stimuli.csv` says which. "
            "`items.csv` holds each clip against the level it was made for (`positive`) and against another "
            "one (`negative`). The recipe's other dimensions have no example."
        ),
    )
