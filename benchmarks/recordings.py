"""The same recording under other cuts: recall, false alarms and time on files of your own and clips of the built-in synthesisers.

    python -m benchmarks.recordings FOLDER [SEED]

Every audio file below FOLDER, and 84 clips of the synthesisers (three of each system and intent), are compared with 400 cuts of
them: 2 to 6 s from anywhere, at 10 to 90% of the level, as MP3, Vorbis, Opus, or WAV with noise 20 dB below, at another rate. A
false alarm is any pair of different files in one group; with files in which one recording occurs twice, listen to what is named.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from heartfelt.media.sound import decode, resample
from heartfelt.media.sounds.recordings import same_recordings
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt.stimuli.synthesis import SynthMusic, SynthVoice
from heartfelt.stimuli.synthesis.music import MUSIC_SYSTEMS
from heartfelt.stimuli.synthesis.speech import VOICE_SYSTEMS
from heartfelt.streams import stream

CUTS, SECONDS, RATE = 400, 10.0, 16_000
SUFFIXES = {".wav", ".flac", ".ogg", ".opus", ".mp3"}
INTENTS = {"happy": (7.5, 6.5), "calm": (6.9, 2.5), "angry": (2.5, 6.8), "sad": (2.4, 3.0)}
CODINGS = {
    "MP3": ("MP3", "MPEG_LAYER_III", 44_100),
    "Vorbis": ("OGG", "VORBIS", 32_000),
    "Opus": ("OGG", "OPUS", 48_000),
    "noise": ("WAV", "PCM_16", 22_050),
}


def main() -> None:
    given = sorted(path for path in Path(sys.argv[1]).rglob("*") if path.suffix.lower() in SUFFIXES)
    rng = stream(int(sys.argv[2]) if len(sys.argv) > 2 else 0, "benchmark", "recordings")
    with tempfile.TemporaryDirectory() as folder:
        originals = [*given, *_synthesised(Path(folder))]
        sources = rng.permutation(len(originals))[:CUTS].tolist()
        coded = [_cut(originals[source], Path(folder), number, rng) for number, source in enumerate(sources)]
        files = [*originals, *(path for path, _ in coded)]
        begun = time.process_time()
        groups = same_recordings(files, workers=2).tolist()
        taken = time.process_time() - begun
        found = {
            name: sum(
                groups[len(originals) + number] == groups[source]
                for number, (source, (_, coding)) in enumerate(zip(sources, coded, strict=True))
                if coding == name
            )
            for name in CODINGS
        }
        totals = Counter(coding for _, coding in coded)
        print(f"{len(files):,} files in {taken:.0f} s of processor time ({1000 * taken / len(files):.0f} s for 1,000)")
        print("cuts found: " + ", ".join(f"{name} {found[name]} of {totals[name]}" for name in CODINGS))
        print(f"in all {sum(found.values())} of {len(coded)}")
        alarms = [at for at in range(len(originals)) if groups[at] != at]
        print(f"different files called the same: {len(alarms)} of {len(originals):,}")
        for at in alarms[:20]:
            print(f"  {files[at].name} = {files[groups[at]].name}")


def _synthesised(folder: Path) -> list[Path]:
    paths = []
    for maker, systems in ((SynthMusic(seconds=SECONDS), MUSIC_SYSTEMS), (SynthVoice(seconds=SECONDS), VOICE_SYSTEMS)):
        for system in systems:
            for intent, (valence, arousal) in INTENTS.items():
                for seed in range(3):
                    name = f"{system}_{intent}_{seed}"
                    place = {"valence": valence, "arousal": arousal}
                    clip = maker.generate(
                        StimulusPrompt(
                            stimulus=name,
                            system=system,
                            intent=intent,
                            text=intent,
                            coordinates=place,
                            prompt="",
                            index=seed + 1,
                        ),
                        seed,
                    )
                    paths.append(clip.save(folder / f"{name}.wav"))
    return paths


def _cut(source: Path, folder: Path, number: int, rng: np.random.Generator) -> tuple[Path, str]:
    import soundfile

    whole = decode(source, RATE)
    length = min(round(rng.uniform(2, 6) * RATE), whole.size)
    start = int(rng.integers(0, whole.size - length + 1))
    name = list(CODINGS)[int(rng.integers(len(CODINGS)))]
    kind, subtype, rate = CODINGS[name]
    part = whole[start : start + length] * np.float32(rng.uniform(0.1, 0.9))
    if name == "noise":
        part = part + (0.1 * part.std() * rng.standard_normal(part.size)).astype(np.float32)
    path = folder / f"cut-{number}.{kind.lower()}"
    soundfile.write(path, np.clip(resample(part, RATE, rate), -1, 1), rate, format=kind, subtype=subtype)
    return path, name


if __name__ == "__main__":
    main()
