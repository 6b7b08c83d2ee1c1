"""A study after AIGIEmo in small: four image systems by eight emotions."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.stimuli.prompts.prompt import StimulusPrompt, prompts_for
from heartfelt.stimuli.starter import STARTERS, Sketch, StarterStimulus
from heartfelt.stimuli.synthesis import SynthImage
from heartfelt.stimuli.synthesis.image import look
from heartfelt.study.recipes import recipe_study

IMAGE_STYLES = {
    "Gouache": "soft translucent shapes",
    "Linocut": "outlined flat shapes",
    "Papercut": "shapes with a shadow",
    "Neonlight": "glowing outlines",
}
SIZE = 512
# Round numbers on 1 to 9 chosen for the synthesiser, not norms of these words.
EMOTIONS: dict[str, tuple[float, float]] = {
    "amusement": (7.8, 6.2),
    "awe": (6.8, 5.0),
    "contentment": (7.6, 2.4),
    "excitement": (7.6, 8.4),
    "anger": (2.0, 8.4),
    "disgust": (2.2, 5.4),
    "fear": (3.0, 7.0),
    "sadness": (2.4, 2.4),
}


@STARTERS.register("aigiemo")
def sketch(per_cell: int) -> Sketch:
    """``per_cell`` images for every system and emotion."""
    maker = SynthImage(size=SIZE)
    intents = {name: {"valence": coordinates[0], "arousal": coordinates[1]} for name, coordinates in EMOTIONS.items()}
    template = recipe_study("aigiemo").prompts[0].text
    prompts = prompts_for(intents, list(IMAGE_STYLES), per_cell=per_cell, template=template)
    return Sketch(
        systems=IMAGE_STYLES,
        stimuli=tuple(
            StarterStimulus(ask, maker, {"system": ask.system, "intent": ask.intent, "prompt": ask.text})
            for ask in prompts
        ),
        notes=(
            f"Abstract images of {SIZE} x {SIZE} pixels, drawn for a valence and an arousal that suit each emotion. They "
            "show no faces and no actions. What raters verify was filled in by the synthesiser, which knows what it was asked "
            "to draw (style, scene, objects), and by measures of the pixels (colour, brightness)."
        ),
        drafts=_drafts(prompts),
    )


def _drafts(prompts: Sequence[StimulusPrompt]) -> dict[str, dict[str, str]]:
    """What is known of the images from what they were drawn for; chance decides the rest, so some of it may be wrong."""
    out: dict[str, dict[str, str]] = {"style": {}, "scene": {}, "objects": {}}
    for ask in prompts:
        means = look(*EMOTIONS[ask.intent])
        shape = "stars" if means.angularity > 0.5 else "blobs"
        number = next(word for most, word in ((12, "few"), (30, "some"), (99, "many")) if means.shapes <= most)
        out["style"][ask.stimulus] = IMAGE_STYLES[ask.system]
        out["scene"][ask.stimulus] = f"{number} {shape} on a plain ground"
        out["objects"][ask.stimulus] = shape
    return out
