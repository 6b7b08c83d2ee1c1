"""What a fine-tuning recipe is: settings, and a task that the engine trains.

A recipe turns data into a :class:`FineTuneTask`: a PyTorch module with everything around it that belongs to the problem (how a
stimulus becomes tensors, the loss, the optimiser, what the outputs mean). The engine does the rest, the same for every recipe:
order, batches, precision, accumulation, checkpoints, early stopping, scores, the model's folder. The same task object answers for
the trained model, so that training and prediction cannot prepare stimuli differently.

A recipe of your own is an object with the attributes of :class:`FineTuneRecipe` in any module that Python can import; it is
named ``my_package:recipe``. See docs/training.md.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from pydantic import ValidationError

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.registry import Registry
from heartfelt.training.finetuning.settings import FineTuneSettings
from heartfelt.training.finetuning.task import FineTuneTask, QuestionOutput
from heartfelt.training.heads.material import RECIPES as HEAD_RECIPES

if TYPE_CHECKING:
    from heartfelt.training.finetuning.stimuli.data import TrainingData

Level: TypeAlias = Literal["interval", "ordinal", "nominal"]


@runtime_checkable
class FineTuneRecipe(Protocol):
    """A recipe: a name, a line about it, its settings, how a task is built from data and how it is read from a model's folder."""

    name: str
    about: str
    media: str
    """``audio`` or ``image``; empty for any."""
    questions: tuple[str, ...]
    """Parts of the ids of the questions it is for; a study with none of them is trained on all it can learn."""
    levels: tuple[Level, ...]
    """Scales it can learn: ``interval`` (numbers), ``ordinal``, ``nominal`` (categories)."""
    settings: type[FineTuneSettings]

    def build(self, data: TrainingData, settings: Any) -> FineTuneTask:
        """The task for these data, not trained yet."""
        ...

    def load(self, folder: Path, outputs: tuple[QuestionOutput, ...]) -> FineTuneTask:
        """The task as ``Task.save`` wrote it; the weights are loaded into its module afterwards."""
        ...


_HOMES: dict[str, str] = {
    "clap-mos": "heartfelt.training.finetuning.recipes.sound.clap_mos",
    "soft-mos": "heartfelt.training.finetuning.recipes.sound.soft_mos",
    "chat-lora": "heartfelt.training.finetuning.recipes.chat.recipe",
    **dict.fromkeys(("image-emotion", "attributes"), "heartfelt.training.finetuning.recipes.images.recipe"),
}
"""The module that registers each recipe."""
FINE_TUNE_RECIPES: Registry[FineTuneRecipe] = Registry("fine-tuning recipe", homes=_HOMES)
_OWN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def recipe_names() -> list[str]:
    """Every recipe of ``heartfelt train``: heads on frozen embeddings and fine-tuning alike."""
    return sorted({*HEAD_RECIPES, *FINE_TUNE_RECIPES})


def is_fine_tuning(name: str) -> bool:
    """Whether a name is that of a fine-tuning recipe; one that nothing is called by is an error."""
    if name in FINE_TUNE_RECIPES or _OWN.fullmatch(name):
        return True
    if name in HEAD_RECIPES:
        return False
    fix = f"{suggestion(name, recipe_names(), 'Recipes')} A recipe of your own is named my_package:recipe."
    raise UnknownNameError(f"No training recipe is called '{name}'.", fix)


def recipe_named(name: str) -> FineTuneRecipe:
    """A registered fine-tuning recipe, or one from a module: ``my_package:recipe``."""
    if name in FINE_TUNE_RECIPES or not _OWN.fullmatch(name):
        return FINE_TUNE_RECIPES[name]
    module, _, attribute = name.partition(":")
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise UnknownNameError(
            f"The recipe '{name}' cannot be imported: {error}.",
            "Install the package, or run where Python finds it (PYTHONPATH).",
        ) from error
    recipe = getattr(loaded, attribute, None)
    if recipe is None:
        raise UnknownNameError(
            f"The module '{module}' has no '{attribute}'.", suggestion(attribute, vars(loaded), "It has")
        )
    if isinstance(recipe, type) or not isinstance(recipe, FineTuneRecipe):
        lacking = [part for part in FineTuneRecipe.__annotations__ if not hasattr(recipe, part)]
        lacking += [part for part in ("build", "load") if not callable(getattr(recipe, part, None))]
        problem = "a class" if isinstance(recipe, type) else f"without {', '.join(lacking)}"
        raise InputError(
            f"'{name}' is not a recipe: it is {problem}.",
            "Give an object with the attributes of heartfelt.training.finetuning.FineTuneRecipe; see docs/training.md.",
        )
    return recipe


def settings_of(recipe: FineTuneRecipe, values: Mapping[str, object]) -> FineTuneSettings:
    """A recipe's settings with what the user gave; mistakes are named with what is allowed."""
    kind = recipe.settings
    for key in values:
        if key not in kind.model_fields:
            raise InputError(
                f"The recipe '{recipe.name}' has no setting '{key}'.", suggestion(key, kind.model_fields, "Settings")
            )
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        setting, reason = (".".join(str(part) for part in first["loc"]), first["msg"].removeprefix("Value error, "))
        if not setting:
            raise InputError(
                f"The settings of '{recipe.name}' do not fit together: {reason}.", "Change one of them."
            ) from error
        about = kind.model_fields[setting].description if setting in kind.model_fields else None
        raise InputError(
            f"The setting {setting}={first['input']} of '{recipe.name}' cannot be used: {reason}.",
            f"{setting} is: {about}." if about else "See docs/training.md.",
        ) from error
