"""Generators at the published sizes of their models, with random weights: stimuli per minute, seconds of sound per second, memory.

``python -m benchmarks.generating`` on a machine with a GPU; ``--tiny`` tries everything on a CPU with tiny models. Models are built
here from configurations written out in ``_pipelines.py`` (nothing is downloaded), saved, and loaded and run by the generators
themselves, with their default steps. What random weights make is noise, but takes as long. Needs PyTorch, Transformers, Diffusers,
NumPy and ``plugins/heartfelt-mustango``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import _pipelines
from heartfelt.stimuli.generators.generator import GeneratorOutOfMemory
from heartfelt.stimuli.generators.models.musicgen import MusicGen, MusicGenSettings
from heartfelt.stimuli.generators.models.pipelines import (
    AudioLdm2,
    AudioLdm2Settings,
    DiffusionSampling,
    StableAudio,
    StableAudioSampling,
    StableAudioSettings,
)
from heartfelt.stimuli.generators.models.text_to_image import ImageSampling, TextToImage, TextToImageSettings
from heartfelt.stimuli.generators.models.torch_models import Unusable, library
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt_mustango.checkpoint import Mustango, MustangoSampling, MustangoSettings

SECONDS = 10.0
TEXT = "happy, instrumental"


@dataclass(frozen=True)
class Architecture:
    """A model's size, how it is written, and the generator that runs it."""

    name: str
    write: Callable[..., Path]
    generator: Any
    settings: Any
    sampling: Any
    seconds: float = 0.0
    size: int = 0
    batches: tuple[int, ...] = (1, 8, 32)


def architectures(tiny: bool) -> list[Architecture]:
    steps: dict[str, Any] = {"steps": 2} if tiny else {}
    sound, few = (0.2, (1, 3)) if tiny else (SECONDS, (1, 8, 32))
    diffusion = DiffusionSampling(**steps)
    return [
        Architecture("MusicGen small", _pipelines.write_musicgen, MusicGen, MusicGenSettings, None, sound, 0, few),
        Architecture(
            "AudioLDM 2 music, 200 steps",
            _pipelines.write_audioldm2,
            AudioLdm2,
            AudioLdm2Settings,
            diffusion,
            sound,
            0,
            few,
        ),
        Architecture(
            "Stable Audio Open 1.0, 100 steps",
            _pipelines.write_stable_audio,
            StableAudio,
            StableAudioSettings,
            StableAudioSampling(**steps),
            sound,
            0,
            few if tiny else (1, 8),
        ),
        Architecture(
            "Stable Diffusion 1.5, 512 pixels, 50 steps",
            _pipelines.write_stable_diffusion,
            TextToImage,
            TextToImageSettings,
            ImageSampling(**(steps or {"steps": 50})),
            0.0,
            32 if tiny else 512,
            few,
        ),
        Architecture(
            "Stable Diffusion XL, 1024 pixels, 30 steps",
            _pipelines.write_stable_diffusion_xl,
            TextToImage,
            TextToImageSettings,
            ImageSampling(**(steps or {"steps": 30})),
            0.0,
            32 if tiny else 1_024,
            few if tiny else (1, 8),
        ),
        Architecture(
            "Mustango, 100 steps",
            _pipelines.write_mustango,
            Mustango,
            MustangoSettings,
            MustangoSampling(**steps),
            0.0,
            0,
            (1,) if tiny else (1, 8),
        ),
    ]


def measure(work: Architecture, home: Path, device: str, tiny: bool) -> Iterator[dict[str, Any]]:
    """A row for every batch size, until one does not fit into memory."""
    torch = library("torch")
    is_gpu = device.startswith("cuda")
    begun = time.perf_counter()
    folder = work.write(home / "model", tiny=tiny)
    written = time.perf_counter() - begun
    begun = time.perf_counter()
    given: dict[str, Any] = {"generator": "benchmark", "model": str(folder), "batch": max(work.batches)}
    if work.generator is Mustango:
        given |= {"text_model": str(folder / "text"), "beats_model": str(folder / "beats")}
    given |= {"seconds": work.seconds} if work.seconds else {}
    given |= {"size": work.size} if work.size else {}
    given |= {} if work.sampling is None else {"settings": work.sampling}
    generator = work.generator(work.settings(**given), device)
    loading = time.perf_counter() - begun
    prompts = [
        StimulusPrompt(stimulus=f"S_{place}", system="S", intent="happy", text=TEXT)
        for place in range(max(work.batches))
    ]
    generator.generate(prompts[0], 0)
    facts = generator.facts()
    shared = {
        "model": work.name,
        "parameters_millions": round(_parameters(generator) / 1e6),
        "hardware": facts.hardware,
    }
    shared |= {"precision": facts.settings["precision"], "written_s": round(written, 1), "loaded_s": round(loading, 1)}
    generator_seconds = work.seconds or 10.24
    for batch in work.batches:
        if is_gpu:
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
        begun = time.perf_counter()
        try:
            made = generator.generate_many(prompts[:batch], list(range(batch)))
        except GeneratorOutOfMemory as error:
            yield {**shared, "batch": batch, "problem": error.problem}
            break
        took = time.perf_counter() - begun
        # Noise may overflow in half precision; what is then refused took as long to make.
        refused = sum(isinstance(media, Unusable) for media in made)
        sound = batch * generator_seconds if made[0].kind == "audio" else 0.0
        yield {
            **shared,
            "batch": batch,
            "seconds": round(took, 2),
            "stimuli_per_minute": round(60 * batch / took, 1),
            "sound_seconds_per_second": round(sound / took, 2) if sound else None,
            "refused": refused,
            "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2) if is_gpu else None,
        }
    generator.close()


def _parameters(generator: Any) -> int:
    """Of all networks a generator holds, those of a pipeline's parts included."""
    module = library("torch").nn.Module
    parts = [part for name, part in vars(generator).items() if name.startswith("_model")]
    parts += [inner for part in parts for inner in getattr(part, "components", {}).values()]
    networks = {id(part): part for part in parts if isinstance(part, module)}
    return sum(weight.numel() for part in networks.values() for weight in part.parameters())


def show(rows: list[dict[str, Any]]) -> None:
    first = rows[0]
    print(
        f"\n{first['model']}: {first['parameters_millions']:,} million parameters, {first['precision']}, {first['hardware']}"
    )
    print(f"written in {first['written_s']} s, loaded in {first['loaded_s']} s")
    print(f"{'batch':>6} {'seconds':>9} {'stimuli/min':>12} {'sound s/s':>10} {'peak GiB':>9}")
    for row in rows:
        if "problem" in row:
            print(f"{row['batch']:>6} {row['problem']}")
            continue
        sound, peak = row["sound_seconds_per_second"], row["peak_gib"]
        print(
            f"{row['batch']:>6} {row['seconds']:>9} {row['stimuli_per_minute']:>12} "
            f"{'' if sound is None else sound:>10} {'' if peak is None else peak:>9}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generating")
    parser.add_argument("--tiny", action="store_true", help="tiny models, to try the script")
    parser.add_argument("--device", help="cuda:0 where there is a GPU, else cpu")
    parser.add_argument("--only", action="append", default=[], help="a part of a model's name; may be repeated")
    parser.add_argument("--scratch", help="folder for the models (up to 15 GB, removed one by one)")
    parser.add_argument("--out", help="file for the rows as JSON")
    options, _ = parser.parse_known_args()
    torch = library("torch")
    device = options.device or ("cuda:0" if torch.cuda.is_available() else "cpu")
    if device.startswith("cuda") and not options.tiny:
        _pipelines.PLACE.device, _pipelines.PLACE.dtype = device, "float16"
    libraries = {name: str(library(name).__version__) for name in ("torch", "transformers", "diffusers")}
    print(f"{device}; {libraries}", flush=True)
    rows: list[dict[str, Any]] = []
    for work in architectures(options.tiny):
        if options.only and not any(part.lower() in work.name.lower() for part in options.only):
            continue
        home = Path(tempfile.mkdtemp(dir=options.scratch))
        try:
            own = list(measure(work, home, device, options.tiny))
            show(own)
            rows += own
        except Exception as error:  # noqa: BLE001 - the other models are measured all the same
            print(f"\n{work.name} failed: {error}", flush=True)
            traceback.print_exc(limit=-8, file=sys.stdout)
            rows.append({"model": work.name, "problem": str(error)})
        finally:
            shutil.rmtree(home, ignore_errors=True)
            if device.startswith("cuda"):
                torch.cuda.empty_cache()
        if options.out:
            Path(options.out).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print("\n" + json.dumps(rows))


if __name__ == "__main__":
    main()
