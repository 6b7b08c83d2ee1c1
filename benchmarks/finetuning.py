"""The training loop next to a plain Transformers ``Trainer``: the same networks, samples, loss, optimiser and precision in one run.

``python benchmarks/finetuning.py`` on a machine with a GPU; ``--tiny`` for a quick try on a CPU. The networks have their real
size and random weights, the samples are synthetic (crops of noise, kept in memory), so that nothing is fetched. Needs torch,
transformers, accelerate and NumPy next to this tree; the parts of heartfelt that read studies are not loaded.

Reported per network and loop: stimuli per second (after a warm-up, waiting for the GPU at both ends), the largest memory that was
allocated, and the share of the time in which the GPU computed, sampled from the driver. Rounds alternate between the loops; the
table has medians.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

TASKS = ("clap-mos", "image-emotion")
WARM_UP = 10
_SAMPLE_MS = 100


@dataclass(frozen=True, slots=True)
class Work:
    """One network with its samples: what both loops train."""

    name: str
    build: Callable[[], Any]
    sample: Callable[[int, np.random.Generator], dict[str, Any]]
    loss: Callable[[Any, Any], Any]
    targets: dict[str, Any]
    """By question; a row of shares where it has categories."""
    batch: int
    rate: float
    momentum: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What one loop reached."""

    loop: str
    per_second: float
    memory_gib: float
    busy: float | None


def clap_work(batch: int, stimuli: int, *, tiny: bool) -> Work:
    """``clap-mos`` with a CLAP of the size of laion/larger_clap_music, crops of ten seconds at 48 kHz, prompts of 32 tokens."""
    import torch
    from transformers import ClapConfig, ClapFeatureExtractor, ClapModel

    from heartfelt.training.finetuning.recipes.sound.networks import ClapMosNetwork

    if tiny:
        text: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
        text |= {"num_attention_heads": 2, "vocab_size": 300}
        audio: dict[str, Any] = {"spec_size": 32, "num_mel_bins": 16, "window_size": 2, "depths": [1, 1]}
        audio |= {"patch_embeds_hidden_size": 8, "hidden_size": 16, "num_attention_heads": [2, 2]}
        extractor = ClapFeatureExtractor(
            feature_size=16, sampling_rate=8_000, hop_length=160, max_length_s=1, fft_window_size=256,
            frequency_max=4_000, truncation="rand_trunc",
        )  # fmt: skip
    else:
        text = {}
        audio = {"depths": [2, 2, 12, 2], "patch_embeds_hidden_size": 128, "hidden_size": 1024}
        extractor = ClapFeatureExtractor(truncation="rand_trunc")
    config = ClapConfig(text_config=text, audio_config=audio, projection_dim=16 if tiny else 512)
    length, vocabulary = int(extractor.nb_max_samples), int(config.text_config.vocab_size)
    draw = np.random.default_rng(0)
    sounds = draw.normal(0, 0.1, (min(stimuli, 64), 2 * length)).astype(np.float32)
    tokens = draw.integers(4, vocabulary, (stimuli, 32))

    def build() -> Any:
        heads = {"impression": False, "alignment": True}
        clap = ClapModel(config)
        for name in ("logit_scale_a", "logit_scale_t"):
            getattr(clap, name).requires_grad_(False)
        return ClapMosNetwork(clap, extractor, heads, (256, 64), 0.0)

    def sample(place: int, generator: np.random.Generator) -> dict[str, Any]:
        start = int(generator.integers(0, length))
        crop = sounds[place % len(sounds), start : start + length]
        ids = torch.from_numpy(tokens[place])
        return {"waveform": torch.from_numpy(crop), "input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def loss(outputs: Any, targets: Any) -> Any:
        both = torch.stack([targets["impression"], targets["alignment"]], dim=1)
        return (outputs["values"] - both).abs().mean()

    labels = {name: draw.normal(0, 1, stimuli) for name in ("impression", "alignment")}
    return Work("clap-mos", build, sample, loss, labels, batch, 5e-4, 0.9)


def image_work(batch: int, stimuli: int, *, tiny: bool) -> Work:
    """``image-emotion`` with ViT-B/16: eight categories and two numbers, crops of 224 pixels."""
    import torch

    from heartfelt.training.finetuning.recipes.images.architectures import NetworkSpec
    from heartfelt.training.finetuning.recipes.images.networks.losses import soft_cross_entropy
    from heartfelt.training.finetuning.recipes.images.networks.network import build_network

    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    side = 32 if tiny else 224
    given: dict[str, object] = {**small, "image_size": side} if tiny else {}
    spec = NetworkSpec(architecture="vit-b16", backbone="vit-b16", config=given, categories=8, numbers=2)
    draw = np.random.default_rng(0)
    pictures = draw.integers(0, 256, (min(stimuli, 256), 3, side + 32, side + 32), dtype=np.uint8)

    def sample(place: int, generator: np.random.Generator) -> dict[str, Any]:
        top, left = generator.integers(0, 33, 2)
        crop = pictures[place % len(pictures), :, top : top + side, left : left + side]
        crop = crop[:, :, ::-1] if generator.random() < 0.5 else crop
        return {"pixels": torch.from_numpy(np.ascontiguousarray(crop))}

    def loss(outputs: Any, targets: Any) -> Any:
        numbers = torch.stack([targets["valence"], targets["arousal"]], dim=1)
        return (
            soft_cross_entropy(outputs["logits"], targets["emotion"]).mean()
            + (outputs["values"] - numbers).abs().mean()
        )

    labels = {name: draw.uniform(-1, 1, stimuli) for name in ("valence", "arousal")}
    labels["emotion"] = draw.dirichlet(np.ones(8), stimuli)
    return Work("image-emotion", lambda: build_network(spec), sample, loss, labels, batch, 1e-3, 0.9)


class Clock:
    """Marks the first step after the warm-up and the last, each when the GPU is done; samples how busy it is between."""

    def __init__(self, last: int) -> None:
        self.last, self.marks, self.busy = last, list[float](), list[float]()
        self._reader: subprocess.Popen[str] | None = None

    def step(self, number: int) -> None:
        """Called after every step."""
        if number in (WARM_UP, self.last):
            import torch

            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self.marks.append(time.perf_counter())
            self._watch() if number == WARM_UP else self.close()

    def _watch(self) -> None:
        query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", f"-lms={_SAMPLE_MS}"]
        try:
            self._reader = subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            return
        threading.Thread(target=self._collect, args=(self._reader,), daemon=True).start()

    def _collect(self, reader: subprocess.Popen[str]) -> None:
        for line in reader.stdout or ():
            if line.strip().isdigit():
                self.busy.append(float(line))

    def close(self) -> None:
        """End the sampling."""
        if self._reader is not None:
            self._reader.terminate()
            self._reader.wait()
            self._reader = None


def run_engine(work: Work, steps: int, workers: int) -> Clock:
    """heartfelt's own loop."""
    from heartfelt.training.finetuning.loop.engine import TrainingLoop
    from heartfelt.training.finetuning.task import Batch, FineTuneTask

    class Synthetic(FineTuneTask):
        """Samples that are already in memory."""

        def __init__(self) -> None:
            self.module = work.build()
            self.outputs = ()

        def sample(self, example: Any, *, training: bool, generator: np.random.Generator) -> Any:
            del training
            return work.sample(example.place, generator)

        def loss(self, outputs: Any, batch: Batch) -> Any:
            return work.loss(outputs, batch.targets)

        def optimizer(self, settings: Any, steps: int) -> tuple[Any, None]:
            del steps
            return sgd(self.module, settings.learning_rate, work.momentum), None

        def answers(self, outputs: Any) -> Any:
            del outputs
            return {}

        def save(self, folder: Path) -> None:
            del folder

    stimuli = len(next(iter(work.targets.values())))
    examples = [SimpleNamespace(place=at, source="", stimulus=str(at)) for at in range(stimuli)]
    targets = [
        SimpleNamespace(question=name, values=value, weight=np.ones(stimuli)) for name, value in work.targets.items()
    ]
    parts = SimpleNamespace(train=np.arange(stimuli), validation=np.arange(min(4, stimuli)))
    data: Any = SimpleNamespace(examples=examples, targets=targets, parts=parts, seed=0)
    epochs = -(-steps * work.batch // stimuli)
    settings: Any = SimpleNamespace(
        device="auto", precision="auto", workers=workers, batch=work.batch, accumulate=1, epochs=epochs, patience=epochs,
        learning_rate=work.rate, clip_gradients=1.0, checkpoint_every=10**9,
    )  # fmt: skip
    clock = Clock(steps)

    def progress(doing: str, done: int, total: int) -> None:
        del total
        if doing == "training":
            clock.step(done)
            if done == steps:
                raise Finished

    engine = TrainingLoop(Synthetic(), data, settings, progress=progress)
    with suppress(Finished):
        engine.fit()
    return clock


def run_trainer(work: Work, steps: int, workers: int) -> Clock:
    """A plain Trainer with the same module, samples, loss, optimiser and precision."""
    import tempfile

    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Module(torch.nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
        """The network with its loss, as the Trainer wants it."""

        def __init__(self) -> None:
            super().__init__()
            self.network = work.build()

        def forward(self, targets: Any, **inputs: Any) -> dict[str, Any]:
            return {"loss": work.loss(self.network(**inputs), targets)}

    class Items(torch.utils.data.Dataset):  # type: ignore[misc]  # torch is not read by the type checker
        """The same samples."""

        def __len__(self) -> int:
            return len(next(iter(work.targets.values())))

        def __getitem__(self, place: int) -> tuple[dict[str, Any], int]:
            return work.sample(place, np.random.default_rng(place)), place

    def collate(items: Sequence[tuple[dict[str, Any], int]]) -> dict[str, Any]:
        places = [place for _, place in items]
        made = {key: torch.stack([sample[key] for sample, _ in items]) for key in items[0][0]}
        targets = {name: torch.from_numpy(value[places].astype(np.float32)) for name, value in work.targets.items()}
        return {**made, "targets": targets}

    clock = Clock(steps)

    class Marks(TrainerCallback):  # type: ignore[misc]  # transformers is not read by the type checker
        """Tells the clock of every step."""

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            del args, control, more
            clock.step(state.global_step)

    gpu = torch.cuda.is_available()
    more: dict[str, Any] = {"dataloader_prefetch_factor": 4, "dataloader_persistent_workers": True} if workers else {}
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, max_steps=steps, per_device_train_batch_size=work.batch, bf16=gpu, use_cpu=not gpu,
            dataloader_num_workers=workers, dataloader_pin_memory=gpu, max_grad_norm=1.0, learning_rate=work.rate,
            logging_strategy="no", save_strategy="no", report_to=[], disable_tqdm=True, remove_unused_columns=False, **more,
        )  # fmt: skip
        module = Module()
        optimizer = sgd(module, work.rate, work.momentum)
        constant = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0, 0)
        trainer = Trainer(
            module, arguments, train_dataset=Items(), data_collator=collate, optimizers=(optimizer, constant),
            callbacks=[Marks()],
        )  # fmt: skip
        trainer.train()
    return clock


def sgd(module: Any, rate: float, momentum: float) -> Any:
    """The optimiser of both loops."""
    import torch

    return torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=rate, momentum=momentum)


class Finished(Exception):
    """Enough steps were measured."""


LOOPS = {"heartfelt": run_engine, "Trainer": run_trainer}


def measure(loop: str, work: Work, steps: int, workers: int) -> Measured:
    """One loop on one network."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(0)
    clock = LOOPS[loop](work, steps, workers)
    clock.close()
    first, last = clock.marks
    memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0
    # The driver's first sample is of the time before the mark.
    sampled = clock.busy[1:]
    busy = sum(sampled) / len(sampled) / 100 if sampled else None
    return Measured(loop, (steps - WARM_UP) * work.batch / (last - first), memory, busy)


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, print a table, and write JSON where asked."""
    import torch

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tiny", action="store_true", help="tiny networks, few steps: a try on a CPU")
    parser.add_argument("--steps", type=int, default=0, help="steps per run (120; with --tiny 14)")
    parser.add_argument("--batch", type=int, default=0, help="stimuli per step (64; with --tiny 4)")
    parser.add_argument(
        "--workers", type=int, default=-1, help="processes that prepare batches (one per core, at most 16)"
    )
    parser.add_argument("--rounds", type=int, default=0, help="runs of each loop (3; with --tiny 1)")
    parser.add_argument("--only", choices=TASKS, help="one network")
    parser.add_argument("--out", type=Path, help="a JSON file for every run")
    given = parser.parse_args(list(arguments))
    tiny = given.tiny or not torch.cuda.is_available()
    steps, batch = given.steps or (14 if tiny else 120), given.batch or (4 if tiny else 64)
    rounds = given.rounds or (1 if tiny else 3)
    from heartfelt.training.finetuning.loop.batches import worker_count

    workers = worker_count(given.workers, 10**6, gpu=torch.cuda.is_available())
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(
        f"{device}, {workers} workers, batches of {batch}, {steps} steps of which {WARM_UP} are warm-up, {rounds} rounds"
    )
    # One epoch holds every step, so that neither loop stops to validate.
    stimuli = steps * batch
    makers = {"clap-mos": clap_work, "image-emotion": image_work}
    runs: dict[str, list[Measured]] = {}
    for name in [given.only] if given.only else TASKS:
        work = makers[name](batch, stimuli, tiny=tiny)
        for _ in range(rounds):
            runs.setdefault(name, []).extend(measure(loop, work, steps, workers) for loop in LOOPS)
        print(f"\n{name}\n| loop | stimuli/s | peak memory, GiB | GPU busy |\n|---|---|---|---|")
        medians = {}
        for loop in LOOPS:
            own = [run for run in runs[name] if run.loop == loop]
            medians[loop] = median(run.per_second for run in own)
            sampled = [run.busy for run in own if run.busy is not None]
            busy = f"{median(sampled):.0%}" if sampled else "not measured"
            print(f"| {loop} | {medians[loop]:.1f} | {median(run.memory_gib for run in own):.2f} | {busy} |")
        print(f"heartfelt / Trainer: {medians['heartfelt'] / medians['Trainer']:.2f}", flush=True)
    if given.out is not None:
        plain = {name: [asdict(run) for run in own] for name, own in runs.items()}
        given.out.write_text(json.dumps({"device": device, "batch": batch, "steps": steps, "runs": plain}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
