"""Small studies after established methods, with media by the built-in synthesiser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from heartfelt.stimuli.methods.clips import Moving, Versions
from heartfelt.stimuli.prompts.prompt import Generator, StimulusPrompt, prompts_for
from heartfelt.stimuli.starter import MUSIC_STYLES, STARTERS, ClipMaker, Sketch, SmallClips, StarterStimulus
from heartfelt.stimuli.synthesis import SynthMusic, SynthVoice
from heartfelt.stimuli.synthesis.speech import render_voice
from heartfelt.study.recipes import recipe_study

MUSIC_SECONDS = 6.0
SPEECH_SECONDS = 3.0
MUSHRA_SECONDS = 8.0
MOVING_SECONDS = 20.0
VOICE_STYLES = {"Cellar": "a low voice", "Parlour": "a middle voice", "Attic": "a high voice"}
VERSION_STYLES = {
    "original": "the music as rendered",
    "narrowband": "low-passed at 5 kHz",
    "eightbit": "8 bits per sample",
    "anchor35": "low-passed at 3.5 kHz",
    "anchor70": "low-passed at 7 kHz",
}
DEGRADATIONS = {
    "original": "the speech as rendered",
    "narrowband": "low-passed at 5 kHz",
    "telephone": "low-passed at 3.4 kHz",
    "eightbit": "8 bits per sample",
}
INSTRUMENTS = {"brass": "Brassline", "chip": "Chipling", "strings": "Pluckbox", "warm": "Sinewood"}
# What the synthesiser is told in place of the text, which it cannot read: valence and arousal on 1 to 9.
UTTERANCES: Mapping[str, tuple[float, float]] = {
    "s1": (6.0, 3.0),
    "s2": (8.0, 6.0),
    "s3": (2.4, 3.0),
    "s4": (2.2, 8.0),
    "s5": (7.6, 8.2),
    "s6": (4.0, 1.8),
}
EXCERPTS: Mapping[str, tuple[float, float]] = {
    "brass": (6.4, 7.6),
    "chip": (7.6, 8.2),
    "strings": (6.6, 3.0),
    "warm": (4.0, 2.4),
}


@STARTERS.register("cmos")
def cmos(per_cell: int) -> Sketch:
    maker = SmallClips(SynthVoice(seconds=SPEECH_SECONDS))
    stimuli = _by_prompt(VOICE_STYLES, UTTERANCES, maker, per_cell, lambda name, _: (name, name))
    return Sketch(
        systems=VOICE_STYLES,
        stimuli=stimuli,
        notes=(
            f"Babbled speech of {SPEECH_SECONDS:g} s by three built-in voices. Cellar stands for the reference system: "
            "every trial compares another voice with it on the same utterance."
        ),
    )


@STARTERS.register("mushra")
def mushra(per_cell: int) -> Sketch:
    return Sketch(
        systems=VERSION_STYLES,
        stimuli=_excerpts(VERSION_STYLES, Versions(seconds=MUSHRA_SECONDS), per_cell),
        notes=(
            f"Excerpts of {MUSHRA_SECONDS:g} s by the built-in synthesiser, each in five versions of equal length: the "
            "original, two to be graded, and the anchors low-passed at 3.5 and 7 kHz that BS.1534 asks for. They are "
            "FLAC files, so that nothing else changes the sound."
        ),
    )


@STARTERS.register("abx")
def abx(per_cell: int) -> Sketch:
    systems = {name: VERSION_STYLES[name] for name in ("original", "narrowband", "eightbit")}
    notes = (
        f"Excerpts of {MUSIC_SECONDS:g} s by the built-in synthesiser: the original, and two versions that differ from it "
        "audibly. They are FLAC files of equal length, so that nothing else changes the sound."
    )
    return Sketch(systems=systems, stimuli=_excerpts(systems, Versions(seconds=MUSIC_SECONDS), per_cell), notes=notes)


@STARTERS.register("preference")
def preference(per_cell: int) -> Sketch:
    maker = SmallClips(SynthVoice(seconds=SPEECH_SECONDS))
    stimuli = _by_prompt(VOICE_STYLES, UTTERANCES, maker, per_cell, lambda name, _: (name, name))
    notes = f"Babbled speech of {SPEECH_SECONDS:g} s by three built-in voices. Every two voices meet on each utterance."
    return Sketch(systems=VOICE_STYLES, stimuli=stimuli, notes=notes)


@STARTERS.register("dcr")
def dcr(per_cell: int) -> Sketch:
    maker = Versions(seconds=SPEECH_SECONDS, render=render_voice)
    stimuli = _by_prompt(
        DEGRADATIONS, UTTERANCES, maker, per_cell, lambda name, number: ("Parlour", f"{name} {number}")
    )
    notes = (
        f"Babbled speech of {SPEECH_SECONDS:g} s by a built-in voice: the reference, called original, and three degraded "
        "versions. They are FLAC files, so that nothing else changes the sound."
    )
    return Sketch(systems=DEGRADATIONS, stimuli=stimuli, notes=notes)


@STARTERS.register("ranking")
def ranking(per_cell: int) -> Sketch:
    notes = f"Clips of {MUSIC_SECONDS:g} s by four built-in systems for each emotion; a set has one of each."
    return _music("ranking", SynthMusic(seconds=MUSIC_SECONDS), per_cell, notes, "music that conveys: {intent}")


@STARTERS.register("arena")
def arena(per_cell: int) -> Sketch:
    notes = (
        f"Clips of {MUSIC_SECONDS:g} s by four built-in systems for each emotion. The systems convey with different "
        "faithfulness, so there is a ranking to find."
    )
    return _music("arena", SynthMusic(seconds=MUSIC_SECONDS), per_cell, notes, "music that conveys: {intent}")


@STARTERS.register("best-worst")
def best_worst(per_cell: int) -> Sketch:
    notes = f"Clips of {MUSIC_SECONDS:g} s by four built-in systems, from sad to happy."
    return _music("best-worst", SynthMusic(seconds=MUSIC_SECONDS), per_cell, notes)


@STARTERS.register("continuous")
def continuous(per_cell: int) -> Sketch:
    notes = (
        f"Clips of {MOVING_SECONDS:g} s by the built-in synthesiser. Half-way through, each turns from the opposite place "
        "on the plane to the coordinates of its intent, so that traces have something to follow."
    )
    return _music("continuous", Moving(seconds=MOVING_SECONDS), per_cell, notes)


def _excerpts(systems: Iterable[str], maker: Versions, per_cell: int) -> tuple[StarterStimulus, ...]:
    return _by_prompt(systems, EXCERPTS, maker, per_cell, lambda name, number: (INSTRUMENTS[name], f"{name} {number}"))


def _by_prompt(
    systems: Iterable[str],
    coordinates: Mapping[str, tuple[float, float]],
    maker: Generator,
    per_cell: int,
    intent_and_text: Callable[[str, int], tuple[str, str]],
) -> tuple[StarterStimulus, ...]:
    """``per_cell`` clips for every system and prompt; ``intent_and_text`` gives the intent and the text of each."""
    return tuple(
        StarterStimulus(
            StimulusPrompt(
                stimulus=f"{system}_{name}_{number}",
                system=system,
                intent=intent,
                text=text,
                coordinates={"valence": valence, "arousal": arousal},
            ),
            maker,
            {"system": system, "prompt": name},
        )
        for system in systems
        for name, (valence, arousal) in coordinates.items()
        for number in range(1, per_cell + 1)
        for intent, text in (intent_and_text(name, number),)
    )


def _music(recipe: str, maker: ClipMaker, per_cell: int, notes: str, template: str = "") -> Sketch:
    """A clip for every system and intent; with a ``template`` for the prompt that raters see."""
    intents = {intent.id: intent.reference for intent in recipe_study(recipe).intents}
    clips = SmallClips(maker)
    prompts = prompts_for(intents, list(MUSIC_STYLES), per_cell=per_cell, template=template or "{intent}")
    rows = (
        StarterStimulus(
            ask, clips, {"system": ask.system, "intent": ask.intent, **({"prompt": ask.text} if template else {})}
        )
        for ask in prompts
    )
    return Sketch(systems=MUSIC_STYLES, stimuli=tuple(rows), notes=notes)
