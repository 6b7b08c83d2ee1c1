"""Speech told from music, by Silero VAD and by pauses: the table of docs/models.md.

Speech is that of eSpeak NG (the program ``espeak-ng`` must be there), alone, with noise, and over clips of AImoclips, whose folder
is in that which HEARTFELT_DATA names (by default ``../shared/data``). A clip is speech if half of it is; for pauses, if half of its
windows of ten seconds are.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.valence_arousal import DATA
from heartfelt.media.sound import decode
from heartfelt.predictors.networks.mel import RATE
from heartfelt.predictors.networks.sound_features import pauses
from heartfelt.predictors.networks.speech_activity import speech_activity
from heartfelt.predictors.trained.embeddings import _MOST_PAUSES
from heartfelt.predictors.weights import load_model
from heartfelt.stats._bounds import wilson
from heartfelt.streams import stream

Array = npt.NDArray[np.float32]

TEXTS = {
    "en": (
        "The north wind and the sun were disputing which was the stronger, when a traveler came along wrapped in a warm cloak. "
        "They agreed that the one who first succeeded in making the traveler take his cloak off should be considered stronger.",
        "Please call Stella. Ask her to bring these things with her from the store: six spoons of fresh snow peas, five thick "
        "slabs of blue cheese, and maybe a snack for her brother Bob.",
    ),
    "de": (
        "Einst stritten sich Nordwind und Sonne, wer von ihnen beiden wohl der Stärkere wäre, als ein Wanderer, der in einen "
        "warmen Mantel gehüllt war, des Weges daherkam.",
    ),
    "fr": (
        "La bise et le soleil se disputaient, chacun assurant qu'il était le plus fort, quand ils ont vu un voyageur qui "
        "s'avançait, enveloppé dans son manteau.",
    ),
    "es": (
        "El viento norte y el sol discutían sobre cuál de ellos era el más fuerte, cuando pasó un viajero envuelto en una "
        "gruesa capa.",
    ),
    "cmn": ("有一回北风跟太阳正在那儿争论谁的本领大，说着说着来了一个过路的，身上穿了一件厚袍子。",),
}
VOICES, SPEEDS = ("", "+f2", "+m3", "+f4", "+m7"), (130, 175, 220)


def main() -> None:
    clips = sorted((DATA / "aimoclips" / "music_clips").rglob("*.opus"))
    if shutil.which("espeak-ng") is None or not clips:
        print("espeak-ng or AImoclips is missing; nothing is measured")
        return
    voices = list(_voices())
    order = stream(0, "beds").permutation(len(clips))[: len(voices)]
    beds = [np.resize(decode(clips[at], RATE), len(voice)) for at, voice in zip(order, voices, strict=True)]
    hiss = [stream(0, "hiss", at).normal(size=len(voice)).astype(np.float32) for at, voice in enumerate(voices)]
    _row("speech alone", voices)
    mixtures: list[tuple[str, list[Array], float]]
    mixtures = [("noise", hiss, 10), ("music", beds, 10), ("music", beds, 0)]
    for name, others, decibels in mixtures:
        mixed = [_mixed(voice, other, decibels) for voice, other in zip(voices, others, strict=True)]
        _row(f"speech with {name} {decibels} dB below", mixed)
    _row("music", [decode(clip, RATE) for clip in clips])


def _voices() -> Iterator[Array]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "voice.wav"
        for language, texts in TEXTS.items():
            for text in texts:
                for voice in VOICES:
                    for speed in SPEEDS:
                        command = ["espeak-ng", "-v", f"{language}{voice}", "-s", str(speed), "-w", str(path), text]
                        subprocess.run(command, check=True)
                        yield decode(path, RATE)


def _mixed(voice: Array, other: Array, decibels: float) -> Array:
    gain = np.sqrt(np.mean(voice**2) / max(float(np.mean(other**2)), 1e-9)) * 10 ** (-decibels / 20)
    return np.asarray(voice + gain * other, np.float32)


def _by_pauses(samples: Array) -> bool:
    windows = [samples[at : at + 10 * RATE] for at in range(0, max(len(samples) - RATE, 1), 10 * RATE)]
    return bool(np.mean([pauses(window, RATE) > _MOST_PAUSES for window in windows]) >= 0.5)


def _row(name: str, clips: Sequence[Array]) -> None:
    model = load_model("silero-vad")
    rules: dict[str, Callable[[Array], bool]] = {
        "pauses": _by_pauses,
        "Silero VAD": lambda samples: speech_activity(samples, model=model).share >= 0.5,
    }
    words = []
    for rule, is_speech in rules.items():
        begun = time.process_time()
        hits = sum(map(is_speech, clips))
        milliseconds = 1000 * (time.process_time() - begun) / len(clips)
        low, high = wilson(hits, len(clips), 0.95)
        words.append(f"{rule} {hits / len(clips):.1%} [{low:.1%}, {high:.1%}], {milliseconds:.1f} ms")
    print(f"{name}, {len(clips)} clips: {'; '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
