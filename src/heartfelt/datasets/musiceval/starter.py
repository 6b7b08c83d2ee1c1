"""A study after MusicEval in small: six prompts by four music systems, and two anchors."""

from __future__ import annotations

from heartfelt.datasets.musiceval.tunes import TunePlayer
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt.stimuli.starter import MUSIC_STYLES, STARTERS, Sketch, SmallClips, StarterStimulus, listed
from heartfelt.stimuli.synthesis import SynthMusic

SECONDS = 6.0
RATE = 16_000
# What the synthesiser is told in place of the text, which it cannot read: valence and arousal on 1 to 9.
PROMPTS: dict[str, tuple[str, float, float]] = {
    "P001": ("A hopeful ballad that keeps a gentle, steady pace.", 7.2, 4.4),
    "P002": ("A slow and mournful piece in a minor key.", 2.2, 2.6),
    "P003": ("Fast, bright dance music with a strong beat.", 7.6, 8.4),
    "P004": ("A cheerful tune with a light step.", 8.2, 6.0),
    "P005": ("Tense, driving music, full of dissonance.", 2.2, 8.0),
    "P006": ("A quiet lullaby, slow and sweet.", 7.6, 2.0),
}
ANCHORS = {
    "real_1": ("P007", "A graceful minuet for one plucked instrument."),
    "real_2": ("P008", "A broad, hymn-like melody that moves by step over a slow bass."),
}


@STARTERS.register("musiceval")
def sketch(per_cell: int) -> Sketch:
    """``per_cell`` clips for every system and prompt, and the two anchors."""
    maker, player = (
        SmallClips(SynthMusic(seconds=SECONDS, rate=RATE)),
        SmallClips(TunePlayer(seconds=SECONDS, rate=RATE)),
    )
    clips = [
        StarterStimulus(
            StimulusPrompt(
                stimulus=f"{system}_{name}_{number}",
                system=system,
                intent=name,
                text=text,
                coordinates={"valence": valence, "arousal": arousal},
            ),
            maker,
            {"system": system, "prompt": name},
        )
        for system in MUSIC_STYLES
        for name, (text, valence, arousal) in PROMPTS.items()
        for number in range(1, per_cell + 1)
    ]
    anchors = [
        StarterStimulus(
            StimulusPrompt(stimulus=name, system="real", intent="", text=text),
            player,
            {"system": None, "prompt": prompt},
        )
        for name, (prompt, text) in ANCHORS.items()
    ]
    texts = {name: text for name, (text, _, _) in PROMPTS.items()} | dict(ANCHORS.values())
    return Sketch(
        systems=MUSIC_STYLES,
        stimuli=(*clips, *anchors),
        anchors=tuple(ANCHORS),
        blocks={
            "prompts": listed(
                "prompts",
                [f'id: {name}, text: "{text}"' for name, text in texts.items()],
                "Example prompts; put your own here. P007 and P008 belong to the anchors.",
            )
        },
        notes=(
            f"Clips of {SECONDS:g} s, mono, 16 kHz. The synthesiser cannot read the prompts: each was given a valence "
            "and an arousal that suit its text.\n\n"
            "`real_1` and `real_2` are the anchors: tunes by Petzold and Beethoven, played by the synthesiser. They "
            "**stand in for recordings of real music**, which a rater must not score below 3. Put real "
            "recordings in their place before you collect."
        ),
    )
