"""A study after emolia-emo in small: three voices by eight emotions, each asked present and absent."""

from __future__ import annotations

import math

from heartfelt.make.generators.speech import SynthVoice
from heartfelt.make.prompts import prompts_for
from heartfelt.make.starter.clips import SmallClips
from heartfelt.make.starter.sketch import Planned, Sketch

VOICE_STYLES = {"Cellar": "a low voice", "Parlour": "a middle voice", "Attic": "a high voice"}
SECONDS = 4.0
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


def sketch(per_cell: int) -> Sketch:
    """``per_cell`` clips for every voice and emotion, three items each."""
    maker = SmallClips(SynthVoice(seconds=SECONDS))
    intents = {name: {"valence": place[0], "arousal": place[1]} for name, place in EMOTIONS.items()}
    asked = prompts_for(intents, list(VOICE_STYLES), per_cell=per_cell)
    return Sketch(
        VOICE_STYLES,
        tuple(Planned(ask, maker, {"system": ask.system, "intent": ask.intent}) for ask in asked),
        items=tuple(
            (ask.stimulus, question)
            for number, ask in enumerate(asked)
            for question in _questions(ask.intent, number // len(EMOTIONS) + number)
        ),
        notes=(
            f"Clips of {SECONDS:g} s in which three voices babble: no words, only the voice. Eight of the forty emotions "
            "are there. `items.csv` asks each clip about the emotion it was made for (`affirmative`), and about two "
            "others: one of middling distance (`contrastive_1`, `contrastive_2`), and the farthest or the second "
            "farthest (`ultimate`, `penultimate`). The voices differ in valence and arousal alone, so Anger and "
            "Fear sound much alike."
        ),
    )


def _questions(emotion: str, turn: int) -> list[str]:
    """The questions about one clip; the ways of being absent take turns."""
    others = sorted(
        (other for other in EMOTIONS if other != emotion),
        key=lambda other: math.dist(EMOTIONS[emotion], EMOTIONS[other]),
    )
    middle = len(others) // 2
    absent = (
        [f"{others[middle]}/contrastive_1", f"{others[-1]}/ultimate"],
        [f"{others[middle + 1]}/contrastive_2", f"{others[-2]}/penultimate"],
    )
    return [f"{emotion}/affirmative", *absent[turn % 2]]
