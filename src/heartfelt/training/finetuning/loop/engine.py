"""The training loop, the same for every recipe: Accelerate moves module and batches to one CPU, one GPU or several.

The run is determined by data, settings and seed. A run that was killed continues from its last checkpoint to the same weights, bit
for bit on a CPU. A batch that does not fit the memory is computed in twice as many pieces, with the same effective size. A loss
that is not finite stops the run; the checkpoint before it stays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from heartfelt.errors import InputError
from heartfelt.predictors.weights.devices import checked_device
from heartfelt.progress import Progress
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.streams import derived_seed
from heartfelt.training.finetuning.loop.batches import (
    BatchSchedule,
    EvaluationItems,
    TrainingItems,
    TrainingStep,
    answer,
    loader,
    worker_count,
)
from heartfelt.training.finetuning.loop.checkpoints import Checkpoints
from heartfelt.training.finetuning.task import FineTuneTask, Tensors

if TYPE_CHECKING:
    from heartfelt.training.finetuning.settings import FineTuneSettings
    from heartfelt.training.finetuning.stimuli.data import TrainingData

_CHECK_EVERY = 20
"""On a GPU, losses are looked at this often: each look waits for the GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One point of the curves."""

    epoch: int
    step: int
    training_loss: float
    validation_loss: float
    agreement: Mapping[str, float | None]
    """On the validation part, by question: Pearson's correlation, or the share of correct categories."""
    learning_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingResult:
    """How training went."""

    history: tuple[Epoch, ...]
    best_epoch: int
    steps: int
    stopped: str
    device: str
    precision: str
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, metadata={"skip": True})
    """Of this process; a run that was continued took longer."""


@dataclass(slots=True, kw_only=True)
class _State:
    """Where a run stands between two steps."""

    step: int = 0
    pieces: int = 1
    loss_sum: float = 0.0
    loss_count: int = 0
    best_loss: float = math.inf
    best_step: int = 0
    best_epoch: int = 0
    finished: str = ""
    history: list[Epoch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def accelerator_of(settings: FineTuneSettings) -> Any:
    import torch
    from accelerate import Accelerator, DistributedDataParallelKwargs
    from accelerate.state import AcceleratorState

    gpu = checked_device(settings.device) != "cpu"
    precision = settings.precision
    if precision == "auto":
        precision = "bf16" if gpu and torch.cuda.is_bf16_supported() else "no"
    if precision == "fp16" and not gpu:
        raise InputError("precision=fp16 needs a GPU.", "Use --set precision=bf16 or leave it out.")
    # The library keeps the first precision of a process; each run has its own.
    AcceleratorState._reset_state()
    # Parts of a published model that a recipe does not use get no gradient on any process.
    unused = DistributedDataParallelKwargs(find_unused_parameters=True)
    return Accelerator(cpu=not gpu, mixed_precision=precision, kwargs_handlers=[unused])


class TrainingLoop:
    """One training run of one task."""

    def __init__(
        self,
        task: FineTuneTask,
        data: TrainingData,
        settings: FineTuneSettings,
        *,
        checkpoints: Checkpoints | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.task, self.data, self.settings = task, data, settings
        self.checkpoints = checkpoints
        self.progress = progress
        self.accelerator = accelerator_of(settings)
        self.gpu = self.accelerator.device.type != "cpu"
        self.workers = worker_count(settings.workers, data.parts.train.size, gpu=self.gpu)
        self._evaluation_size = max(1, settings.batch // settings.accumulate)
        self._loaders: dict[bytes, Any] = {}

    def fit(self) -> TrainingResult:
        """Train until the validation loss stops falling; the module then has the best weights."""
        started = time.monotonic()
        accelerator, settings = self.accelerator, self.settings
        rank, world = accelerator.process_index, accelerator.num_processes
        plan = BatchSchedule(
            places=self.data.parts.train,
            batch=settings.batch,
            epochs=settings.epochs,
            seed=self.data.seed,
            rank=rank,
            world=world,
        )
        self.task.prepare(self.data.examples, accelerator.device, self.progress)
        trained = sum(p.numel() for p in self.task.module.parameters() if p.requires_grad)
        if not trained:
            raise InputError("Nothing is left to train: every weight is frozen.", "Unfreeze a part of the model.")
        task_optimizer, schedule = self.task.optimizer(settings, plan.total)
        model, optimizer = accelerator.prepare(self.task.module, task_optimizer)
        state = _State(pieces=settings.accumulate)
        stored = self.checkpoints.read() if self.checkpoints is not None else None
        if stored is not None:
            state = self._restore(stored, model, optimizer, schedule)
        while not state.finished:
            state = self._run(plan, model, optimizer, schedule, state)
        self.task.module = accelerator.unwrap_model(model, keep_fp32_wrapper=False)
        if self.checkpoints is not None:
            self.task.module.load_state_dict(self.checkpoints.best(state.best_step))
        else:
            self.task.module.load_state_dict(self._best)
        return TrainingResult(
            history=tuple(state.history),
            best_epoch=state.best_epoch,
            steps=state.step,
            stopped=state.finished,
            device=self._device_name(),
            precision=accelerator.mixed_precision,
            notes=tuple(state.notes),
            seconds=time.monotonic() - started,
        )

    def _device_name(self) -> str:
        import torch

        name = torch.cuda.get_device_name() if self.gpu else "CPU"
        count = self.accelerator.num_processes
        return f"{count} x {name}" if count > 1 else name

    def _run(self, plan: BatchSchedule, model: Any, optimizer: Any, schedule: Any, state: _State) -> _State:
        """Steps until the end, or until a batch must be computed in more pieces."""
        import torch
        from accelerate.utils.memory import should_reduce_batch_size

        if state.step >= plan.total:
            state.finished = "all epochs were used"
            return state
        keys = (piece for step in plan.steps(state.step, state.pieces) for piece in step.pieces)
        ready = iter(loader(TrainingItems(self.task, self.data), workers=self.workers, pin=self.gpu, batches=keys))
        losses: list[Any] = []
        model.train()
        for step in plan.steps(state.step, state.pieces):
            torch.manual_seed(derived_seed(self.data.seed, "finetune", "step", step.number, plan.rank))
            try:
                losses.append(self._gradients(step, ready, model))
            except RuntimeError as error:
                if not should_reduce_batch_size(error):
                    raise
                self._halve(state, step, error)
                optimizer.zero_grad(set_to_none=True)
                self._note_losses(state, losses)
                return state
            self._move(optimizer, schedule)
            state.step = step.number + 1
            due = state.step % self.settings.checkpoint_every == 0
            if not self.gpu or due or step.last_of_epoch or len(losses) >= _CHECK_EVERY:
                self._note_losses(state, losses)
            if self.progress is not None:
                self.progress("training", state.step, plan.total)
            if step.last_of_epoch:
                self._end_epoch(step, plan, model, optimizer, schedule, state)
                model.train()
                if state.finished:
                    return state
            elif due:
                self._checkpoint(model, optimizer, schedule, state)
        return state

    def _gradients(self, step: TrainingStep, ready: Iterator[Any], model: Any) -> Any:
        """Forward and backward over the pieces of a step; the loss, not yet waited for."""
        accelerator, total = self.accelerator, 0.0
        for piece_number, _ in enumerate(step.pieces, 1):
            batch = next(ready).to(accelerator.device)
            quiet = accelerator.no_sync(model) if piece_number < len(step.pieces) else nullcontext()
            with quiet:
                loss = self.task.loss(model(**batch.inputs), batch) * (batch.size / step.size)
                accelerator.backward(loss)
            total = total + loss.detach()
        return total

    def _move(self, optimizer: Any, schedule: Any) -> None:
        if self.settings.clip_gradients:
            self.accelerator.clip_grad_norm_(self.task.module.parameters(), self.settings.clip_gradients)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if schedule is not None and not self.accelerator.optimizer_step_was_skipped:
            schedule.step()

    def _note_losses(self, state: _State, losses: list[Any]) -> None:
        """Add losses to the epoch's mean; stop where one is not finite."""
        for at, loss in enumerate(losses):
            value = float(loss)
            if not math.isfinite(value):
                raise self._diverged(state, f"The loss is {value} at step {state.step - len(losses) + at + 1}")
            state.loss_sum += value
            state.loss_count += 1
        losses.clear()

    def _diverged(self, state: _State, problem: str) -> InputError:
        """The error of a run that cannot go on, with where the checkpoint before is."""
        stored = ""
        if self.checkpoints is not None and self.checkpoints.path.exists():
            stored = f" The checkpoint before it is in {self.checkpoints.folder}."
        return InputError(
            f"{problem}, after {len(state.history)} full epochs: training has diverged.{stored}",
            f"Use a smaller learning rate (--set learning_rate={self.settings.learning_rate / 10:g}), clip gradients"
            " (--set clip_gradients=1), or --set precision=no; and check the labels and media.",
        )

    def _halve(self, state: _State, step: TrainingStep, error: RuntimeError) -> None:
        """Twice as many pieces; an error where a piece is a single stimulus already."""
        largest = max(len(piece) for piece in step.pieces)
        if largest == 1 or self.accelerator.num_processes > 1:
            fix = "Use a smaller model or shorter inputs, or another device (--set device=cpu)."
            if largest > 1:
                fix = f"Use a larger --set accumulate={2 * state.pieces}."
            raise InputError(f"The memory is too small for {largest} stimuli at once.", fix) from error
        import gc

        import torch

        state.pieces = -(-step.size // (largest // 2))
        state.notes.append(
            f"{largest} stimuli at once did not fit the memory at step {step.number + 1}: batches of {self.settings.batch}"
            f" were computed in {state.pieces} pieces from then on, with the same effective size."
        )
        # The error's traceback holds the tensors of the failed step; without them the next try has the whole memory.
        gc.collect()
        if self.gpu:
            torch.cuda.empty_cache()

    def _end_epoch(
        self, step: TrainingStep, plan: BatchSchedule, model: Any, optimizer: Any, schedule: Any, state: _State
    ) -> None:
        answers, loss = self.answer_parts(model, self.data.parts.validation)
        rate = float(optimizer.param_groups[0]["lr"])
        mean = state.loss_sum / max(state.loss_count, 1)
        agreement = self._agreement(answers, self.data.parts.validation)
        state.history.append(
            Epoch(
                epoch=step.epoch + 1,
                step=state.step,
                training_loss=mean,
                validation_loss=loss,
                agreement=agreement,
                learning_rate=rate,
            )
        )
        state.loss_sum, state.loss_count = 0.0, 0
        if not math.isfinite(loss):
            raise self._diverged(state, f"The validation loss is {loss}")
        improved = loss < state.best_loss
        if improved:
            state.best_loss, state.best_step, state.best_epoch = loss, state.step, step.epoch + 1
        if step.epoch + 1 - state.best_epoch >= self.settings.patience:
            state.finished = f"no better validation loss for {self.settings.patience} epochs"
        elif state.step == plan.total:
            state.finished = "all epochs were used"
        self._checkpoint(model, optimizer, schedule, state, improved=improved)

    def _weights(self, model: Any) -> Tensors:
        weights = self.accelerator.unwrap_model(model, keep_fp32_wrapper=False).state_dict()
        return {key: value.detach().cpu().clone() for key, value in weights.items()}

    def _checkpoint(self, model: Any, optimizer: Any, schedule: Any, state: _State, *, improved: bool = False) -> None:
        from heartfelt.serialization import to_json

        weights = self._weights(model)
        if not all(bool(value.isfinite().all()) for value in weights.values() if value.is_floating_point()):
            raise self._diverged(state, f"A weight is not finite after step {state.step}")
        if improved:
            self._best = weights
        if self.checkpoints is None:
            return
        scaler = self.accelerator.scaler
        if self.accelerator.is_main_process:
            # Before the first epoch has ended there is no best epoch; the present weights stand in for it.
            best = weights if improved or not state.best_step else None
            self.checkpoints.write(
                {
                    "module": weights,
                    "optimizer": optimizer.state_dict(),
                    "schedule": None if schedule is None else schedule.state_dict(),
                    "scaler": None if scaler is None else scaler.state_dict(),
                    "state": to_json(state),
                },
                best,
                state.best_step,
            )
        self.accelerator.wait_for_everyone()

    def _restore(self, stored: Mapping[str, Any], model: Any, optimizer: Any, schedule: Any) -> _State:
        from heartfelt.serialization import from_json

        self.accelerator.unwrap_model(model, keep_fp32_wrapper=False).load_state_dict(stored["module"])
        optimizer.load_state_dict(stored["optimizer"])
        if schedule is not None:
            schedule.load_state_dict(stored["schedule"])
        if self.accelerator.scaler is not None and stored["scaler"]:
            self.accelerator.scaler.load_state_dict(stored["scaler"])
        decoded = dict(stored["state"])
        # JSON has no infinity: before the first epoch there is no best loss.
        if decoded["best_loss"] is None:
            decoded["best_loss"] = math.inf
        return from_json(_State, decoded)

    def answer_parts(self, model: Any, indices: Ints) -> tuple[dict[str, Floats], float]:
        """Answers to every question for stimuli of the data, and their mean loss."""
        # Views of evaluation are fixed: each part's items are made once, however many epochs there are.
        key = indices.tobytes()
        if key not in self._loaders:
            items = EvaluationItems(self.task, [self.data.examples[at] for at in indices], self.data, indices)
            self._loaders[key] = items
        return self._answers(model, self._loaders[key])

    def _answers(self, model: Any, items: EvaluationItems) -> tuple[dict[str, Floats], float]:
        from accelerate.utils.memory import should_reduce_batch_size

        while True:
            try:
                return answer(self.task, model, items, self.accelerator.device, self._evaluation_size, self.workers)
            except RuntimeError as error:
                if not should_reduce_batch_size(error) or self._evaluation_size == 1:
                    raise
                self._evaluation_size //= 2

    def _agreement(self, answers: Mapping[str, Floats], indices: Ints) -> dict[str, float | None]:
        from heartfelt.stats import accuracy, pearson

        out: dict[str, float | None] = {}
        for target in self.data.targets:
            labelled = target.weight[indices] > 0
            truth, value = target.values[indices][labelled], answers[target.question][labelled]
            if truth.ndim == 2:
                out[target.question] = (
                    accuracy(truth.argmax(axis=1), value.argmax(axis=1)).value if labelled.any() else None
                )
            else:
                out[target.question] = pearson(truth, value).value
        return out
