"""Checkpoints: everything that training needs to continue, in one file that is either complete or absent.

``checkpoint.pt`` holds the weights, the optimiser, its schedule, the step and the curves so far; ``best-STEP.safetensors`` the
weights of the best epoch so far, which the checkpoint names. Random numbers need no room: they follow from the seed and the
step. A checkpoint belongs to one recipe, version, data, seed and settings, and is refused by any other.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heartfelt import __version__
from heartfelt.errors import DamagedError, InputError
from heartfelt.files import whole_file
from heartfelt.serialization import from_json, to_json
from heartfelt.training.finetuning.task import Tensors

CHECKPOINT = "checkpoint.pt"
LAYOUT = 1
FREE = ("workers", "checkpoint_every", "device")
"""Settings that may change between the parts of one run: they do not change what is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """What a checkpoint belongs to."""

    recipe: str
    settings: Mapping[str, Any]
    data: str
    """A hash of the stimuli, labels and parts."""
    seed: int
    heartfelt: str = __version__
    layout: int = LAYOUT

    def refuse_other(self, stored: RunIdentity, where: Path) -> None:
        """Raise where a stored checkpoint belongs to another run, naming the first difference."""
        again = f"or remove {where} and start again."
        if stored.recipe == self.recipe and (stored.heartfelt, stored.layout) != (self.heartfelt, self.layout):
            raise InputError(
                f"The checkpoint in {where} was written by heartfelt {stored.heartfelt}; this is {self.heartfelt}.",
                f"Continue with heartfelt {stored.heartfelt}, {again}",
            )
        if difference := self._difference(stored):
            raise InputError(
                f"The checkpoint in {where} {difference}.", f"Continue with what it was started with, {again}"
            )

    def _difference(self, stored: RunIdentity) -> str:
        """The first difference of a stored checkpoint in words; empty where there is none."""
        if stored.recipe != self.recipe:
            return f"is of the recipe '{stored.recipe}', not '{self.recipe}'"
        for name in (*self.settings, *stored.settings):
            before, now = stored.settings.get(name), self.settings.get(name)
            if before != now and name not in FREE:
                return f"was made with {name}={before}, not {now}"
        if stored.seed != self.seed:
            return f"has the seed {stored.seed}, not {self.seed}"
        return "was made from other data: ratings, files or parts have changed" if stored.data != self.data else ""


class Checkpoints:
    """The folder of a run that is not finished."""

    def __init__(self, folder: Path, identity: RunIdentity) -> None:
        self.folder, self.identity = Path(folder), identity
        self.path = self.folder / CHECKPOINT

    def check(self, *, resume: bool) -> None:
        """Refuse to lose a run that was interrupted, and to continue one that is not there."""
        if self.path.exists() and not resume:
            raise InputError(
                f"Training into this folder was interrupted: {self.folder} has a checkpoint.",
                f"Continue it with --resume, or remove {self.folder} and start again.",
            )

    def write(self, state: Mapping[str, Any], best: Mapping[str, Any] | None, best_step: int) -> None:
        import torch
        from safetensors.torch import save

        self.folder.mkdir(parents=True, exist_ok=True)
        if best is not None:
            with whole_file(self.best_path(best_step)) as out:
                out.write(save({key: value.contiguous() for key, value in best.items()}))
        with whole_file(self.path) as out:
            torch.save({"identity": to_json(self.identity), "best_step": best_step, **state}, out)
        for old in self.folder.glob("best-*.safetensors"):
            if old != self.best_path(best_step):
                old.unlink(missing_ok=True)

    def best_path(self, step: int) -> Path:
        """The file of the best weights, reached at this step."""
        return self.folder / f"best-{step:08d}.safetensors"

    def read(self) -> dict[str, Any] | None:
        """The state; None where there is no checkpoint."""
        import torch

        if not self.path.exists():
            return None
        try:
            state: dict[str, Any] = torch.load(self.path, map_location="cpu", weights_only=True)
            stored = from_json(RunIdentity, state["identity"])
        except (
            OSError,
            EOFError,
            KeyError,
            TypeError,
            ValueError,
            RuntimeError,
            pickle.UnpicklingError,
            zipfile.BadZipFile,
        ) as error:
            raise DamagedError(
                f"The checkpoint {self.path} cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}.",
                f"Remove {self.folder} and start again.",
            ) from error
        self.identity.refuse_other(stored, self.folder)
        return state

    def best(self, step: int) -> Tensors:
        from safetensors.torch import load

        try:
            weights: Tensors = load(self.best_path(step).read_bytes())
        except (OSError, ValueError) as error:
            raise DamagedError(
                f"The best weights so far, {self.best_path(step)}, cannot be read.",
                f"Remove {self.folder} and start again.",
            ) from error
        return weights
