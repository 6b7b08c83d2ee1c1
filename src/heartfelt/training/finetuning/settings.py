"""The settings that every fine-tuning recipe has; recipes add their own fields and defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def listed(value: object) -> object:
    """Text with commas as a list, anything else as it is: what a setting with several values is read with."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""Several names; in text they are separated by commas."""


class FineTuneSettings(BaseModel):
    """What every recipe may be told; recipes add their own fields and defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    epochs: Annotated[int, Field(ge=1, description="passes over the training part, at most")] = 20
    batch: Annotated[int, Field(ge=1, description="stimuli per step")] = 64
    accumulate: Annotated[
        int, Field(ge=1, description="pieces a batch is computed in, where it does not fit the memory")
    ] = 1
    learning_rate: Annotated[float, Field(gt=0, description="the optimiser's rate")] = 1e-4
    patience: Annotated[int, Field(ge=1, description="epochs without a better validation loss before it stops")] = 5
    clip_gradients: Annotated[float, Field(ge=0, description="largest norm of the gradient; 0 for no limit")] = 1.0
    precision: Annotated[
        Literal["auto", "no", "bf16", "fp16"], Field(description="auto is bf16 on a GPU, no on a CPU")
    ] = "auto"
    device: Annotated[Literal["auto", "cpu", "cuda"], Field(description="auto is a GPU where there is one")] = "auto"
    workers: Annotated[int, Field(ge=-1, description="processes that prepare batches; -1 chooses")] = -1
    checkpoint_every: Annotated[int, Field(ge=1, description="steps between checkpoints")] = 200
    validation: Annotated[float, Field(gt=0, le=0.5, description="share of the training stimuli to stop early by")] = (
        0.15
    )
    test: Annotated[float, Field(gt=0, le=0.5, description="share of the stimuli to score on")] = 0.2
    left_out_system: Annotated[str, Field(description="score on this system, which is then not trained on")] = ""
    questions: Annotated[Names, Field(description="questions to train on; the recipe's own if empty")] = ()
