"""A study after AImoclips in small: four music systems by twelve intents."""

from __future__ import annotations

from heartfelt.stimuli.prompts.prompt import prompts_for
from heartfelt.stimuli.starter import MUSIC_STYLES, STARTERS, Sketch, SmallClips, StarterStimulus, comment, listed
from heartfelt.stimuli.synthesis import SynthMusic
from heartfelt.study.recipes import recipe_study

SECONDS = 6.0
TEMPLATE = "{intent}, instrumental"


@STARTERS.register("aimoclips")
def sketch(per_cell: int) -> Sketch:
    """``per_cell`` clips for every system and intent, made for the recipe's own coordinates."""
    maker = SmallClips(SynthMusic(seconds=SECONDS))
    intents = {intent.id: intent.reference for intent in recipe_study("aimoclips").intents}
    prompts = prompts_for(intents, list(MUSIC_STYLES), per_cell=per_cell, template=TEMPLATE)
    return Sketch(
        systems=MUSIC_STYLES,
        stimuli=tuple(
            StarterStimulus(ask, maker, {"system": ask.system, "intent": ask.intent, "prompt": ask.text})
            for ask in prompts
        ),
        blocks={
            "prompts": "\n".join(
                [
                    comment(
                        "The published study gave its two commercial systems '{intent}' alone and turned their "
                        "instrumental switch on; 'systems: [...]' in a prompt says whom it is for."
                    ),
                    listed("prompts", [f'id: instrumental, text: "{TEMPLATE}"']),
                ]
            )
        },
        notes=(
            f"Clips of {SECONDS:g} s, rendered for the valence and arousal of each intent in `study.yaml`. The four "
            "systems play with different instruments and convey with different faithfulness, so there is "
            "something to find in the ratings. They are no models of music."
        ),
    )
