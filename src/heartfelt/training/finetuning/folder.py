"""The folder of a fine-tuned model, in the layout of :mod:`heartfelt.predictors.trained.folder`.

``config.json`` and the preprocessing files are added to it as the recipe's task writes them.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from heartfelt.errors import DamagedError, HeartfeltError, InputError
from heartfelt.failures import is_bug
from heartfelt.files import whole_file
from heartfelt.predictors.interface.predictor import Case
from heartfelt.predictors.trained.finetuned import MODEL_LOADERS, Answered, ErrorInterval, damaged
from heartfelt.predictors.trained.folder import FINE_TUNED, ONNX, TRAINING_STIMULI, ModelCore, read_manifest
from heartfelt.predictors.trained.heads.layout1 import TRAINED_ON, upgraded
from heartfelt.serialization import from_json, read_json
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.training.finetuning.loop.batches import answers_for
from heartfelt.training.finetuning.loop.engine import TrainingResult
from heartfelt.training.finetuning.recipe import FineTuneRecipe, recipe_named
from heartfelt.training.finetuning.task import Example, FineTuneTask, QuestionOutput
from heartfelt.training.heads.fitting import Floats

_ONNX_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class PartScore:
    """One metric on one part that was not trained on."""

    part: str
    source: str
    task: str
    metric: str
    aggregation: str
    n: int
    estimate: Estimate
    ceiling: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What a fine-tuned model's folder says of it."""

    core: ModelCore = field(metadata={"flatten": True})
    settings: Mapping[str, Any]
    outputs: tuple[QuestionOutput, ...]
    policy: str
    stimuli: Mapping[str, int]
    """How many stimuli each part has."""
    left_out: int
    systems: tuple[str, ...]
    grouping: str
    split: str
    seed: int
    fitted: TrainingResult
    scores: tuple[PartScore, ...]
    credit: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    labels: str = field(default="", metadata={"omit": True})
    """Whose answers the labels are, in a sentence."""
    intervals: Mapping[str, ErrorInterval] = field(default_factory=dict, metadata={"omit": True})
    """By question answered with numbers, how far predictions were off on stimuli that were not trained on."""


def save_weights(task: FineTuneTask, path: Path) -> None:
    from safetensors.torch import save

    weights = {key: value.detach().cpu().contiguous().clone() for key, value in task.module.state_dict().items()}
    with whole_file(path) as out:
        out.write(save(weights, metadata={"format": "pt"}))


def write_model_files(task: FineTuneTask, folder: Path) -> tuple[dict[str, str], str]:
    """Write weights, preprocessing and ONNX; the hashes of the files, and why there is no ONNX."""
    save_weights(task, folder / task.weights_file)
    task.save(folder)
    reason = _export(task, folder / ONNX)
    # ONNX files differ between versions of the exporter, so they are no part of what the model is known by.
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ONNX)
    hashes = {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return hashes, reason


def _export(task: FineTuneTask, path: Path) -> str:
    """Write model.onnx and compare its answers with the module's; why there is none, or nothing."""
    import torch

    task.module.eval().cpu()
    exported = task.export()
    if exported is None:
        return "the recipe has no ONNX form"
    module, names_out = exported.module.eval().cpu(), exported.outputs
    names, axes = (list(exported.inputs), {name: {0: "batch"} for name in (*exported.inputs, *exported.outputs)})
    for name in exported.texts:
        axes[name][1] = "tokens"
    # One stimulus with a shorter text: sizes that the exported graph must not have taken for constants.
    smaller = {name: value[:1, :-2] if name in exported.texts else value[:1] for name, value in exported.inputs.items()}

    class Positional(torch.nn.Module):  # type: ignore[misc]  # torch is not read by the type checker
        """The exporter passes inputs by place."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *tensors: Any) -> tuple[Any, ...]:
            outputs = self.module(**dict(zip(names, tensors, strict=True)))
            return tuple(outputs[name] for name in names_out)

    wrapped, fast = Positional().eval(), torch.backends.mha.get_fastpath_enabled()
    try:
        # The exporter knows the plain form of attention only, and prints the whole graph where it fails.
        torch.backends.mha.set_fastpath_enabled(False)
        with warnings.catch_warnings(), torch.no_grad(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            expected = wrapped(*smaller.values())
            torch.onnx.export(
                wrapped,
                tuple(exported.inputs.values()),
                str(path),
                input_names=names,
                output_names=list(exported.outputs),
                dynamic_axes=axes,
                dynamo=False,
            )
        import onnxruntime

        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        input_names = {entry.name for entry in session.get_inputs()}
        answered = session.run(
            list(exported.outputs),
            {name: value.contiguous().numpy() for name, value in smaller.items() if name in input_names},
        )
        worst = max(
            float(np.abs(expected_output.numpy() - answered_output).max())
            for expected_output, answered_output in zip(expected, answered, strict=True)
        )
        if worst > _ONNX_TOLERANCE:
            raise ValueError(f"its answers differ by up to {worst:.2g}")
    except Exception as error:  # exporters raise errors of many kinds; the folder is complete without
        path.unlink(missing_ok=True)
        if is_bug(error):
            raise
        return f"it could not be exported: {(str(error).strip().splitlines() or [type(error).__name__])[0][:200]}"
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return ""


class LoadedModel:
    """A fine-tuned model, read from its folder: the predictor ``trained:DIR`` asks it."""

    def __init__(self, folder: Path, facts: ModelFacts, task: FineTuneTask, trained_on: Sequence[str]) -> None:
        self.folder, self.facts, self.task = folder, facts, task
        self.name, self.version = facts.core.name, f"heartfelt {facts.core.heartfelt}"
        self.hash = facts.core.weights_hash
        self.media = recipe_named(facts.core.recipe).media
        self.answered: tuple[Answered, ...] = facts.outputs
        self.intervals = facts.intervals
        self._trained_on = frozenset(trained_on)

    def saw(self, content: str) -> bool:
        """Whether a file with this SHA-256 was trained on."""
        return content in self._trained_on

    def know_fields(self, source: Snapshot) -> str:
        """Look up annotation fields that are inputs; a hash of them, empty where none is used."""
        return self.task.know_fields(source)

    def answers(self, cases: Sequence[Case]) -> Mapping[str, Floats]:
        """By question, a number or a row of probabilities for every case."""
        return self.of_files(
            [
                Example(
                    stimulus=case.stimulus,
                    path=case.media_file.path,
                    content=case.media_file.hash,
                    prompt=case.prompt,
                    system=case.system,
                    intent=case.intent,
                    facts=case.facts,
                )
                for case in cases
            ]
        )

    def of_files(self, examples: Sequence[Example]) -> Mapping[str, Floats]:
        """The same for files; a question about the prompt needs it."""
        for example in examples:
            if not example.prompt and any(output.shows_prompt for output in self.facts.outputs):
                raise InputError(
                    f"{example.stimulus} has no prompt, and the model judges the fit to it.",
                    "Give the text it was made from.",
                )
        return answers_for(self.task, examples)


@MODEL_LOADERS.register(FINE_TUNED)
def load_model(folder: Path) -> LoadedModel:
    """Read a folder, check it against its hashes, and load the weights."""
    from safetensors.torch import load

    manifest = read_manifest(folder)
    try:
        old = manifest["layout"] == 1
        facts = from_json(ModelFacts, upgraded(manifest) if old else manifest)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(folder, f"model.json: {error}") from error
    facts.core.check_files(folder)
    recipe: FineTuneRecipe = recipe_named(facts.core.recipe)
    try:
        task = recipe.load(folder, facts.outputs)
        task.module.load_state_dict(load((folder / task.weights_file).read_bytes()))
    except (HeartfeltError, OSError, RuntimeError, ValueError, KeyError) as error:
        if isinstance(error, DamagedError):
            raise
        raise damaged(folder, (str(error).strip().splitlines() or [type(error).__name__])[0]) from error
    task.module.eval()
    stimuli = read_json(folder / TRAINED_ON, list[str]) if old else read_json(folder / TRAINING_STIMULI, dict[str, Any])
    return LoadedModel(folder, facts, task, list(stimuli))
