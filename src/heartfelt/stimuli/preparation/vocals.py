"""Whether somebody sings or speaks in a clip that is meant to be instrumental, by the tags of MusicNN.

The score is the share of the tags about a voice (vocal, singing, female voice, man …) among these and the tags that deny one (no
vocals, no vocal, no voice), each tag's probability averaged over patches of three seconds. It runs from 0 to 1 and is no
probability; from :data:`LIKELY` on, a voice is likely.

How good it is, on 132 of AImoclips' instrumental clips (every sixth), as they are and with a voice mixed in at the clip's own level
and 6 dB below it: the area under the curve is .98 and .99 for two singers and .99 for a reader, at -6 dB .88 and .92. From 0.9 on,
91%, 95% and 98% of the clips with a voice are named, 61% and 75% at -6 dB, and 7% of the untouched ones; nobody has
listened whether some of those have a voice after all.

Source: tags of MagnaTagATune, as in ``musicnn.py``; singers from vocadito (Bittner et al. 2021), reader from LibriVox.
"""

from __future__ import annotations

from heartfelt.media.sound import Samples, resample, to_one_channel
from heartfelt.predictors.networks import musicnn
from heartfelt.predictors.weights.loading import load_model
from heartfelt.stimuli.preparation.prepared import VocalCheck, VocalsHeard

MODEL = "musicnn-mtt"
LIKELY = 0.9
_VOICE = (
    "vocal", "vocals", "singing", "voice", "female", "male", "woman", "man", "female vocal", "male vocal", "female voice",
    "male voice",
)  # fmt: skip
_NO_VOICE = ("no vocals", "no vocal", "no voice")


def vocal_check() -> VocalCheck:
    """A check for voices; its model is loaded, and fetched on first use, before this returns."""
    model = load_model(MODEL)

    def hear(samples: Samples, rate: int) -> VocalsHeard:
        mono = resample(to_one_channel(samples), rate, musicnn.RATE)
        tags = musicnn.embed(mono, model=model, options=musicnn.PatchOptions(to_the_end=True)).mean_tags()
        voice, none = (sum(tags[name] for name in names) for names in (_VOICE, _NO_VOICE))
        score = voice / (voice + none) if voice + none > 0 else 0.0
        return VocalsHeard(score, score >= LIKELY)

    return hear
