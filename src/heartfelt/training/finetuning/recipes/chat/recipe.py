"""``chat-lora``: a language model that sees or hears, fine-tuned with LoRA adapters to answer the study's own questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from heartfelt.errors import InputError
from heartfelt.serialization import read_json
from heartfelt.training.finetuning.recipe import FINE_TUNE_RECIPES, Level
from heartfelt.training.finetuning.recipes.chat.conversations import NO_LABEL, chat_questions, labelled_answers
from heartfelt.training.finetuning.recipes.chat.model import (
    Conversations,
    adapters_from,
    base_identity,
    language_model,
    recompute_activations,
    with_adapters,
)
from heartfelt.training.finetuning.recipes.chat.task import CONFIG, ChatConfig, ChatTask
from heartfelt.training.finetuning.settings import FineTuneSettings, Names

if TYPE_CHECKING:
    from heartfelt.training.finetuning.stimuli.data import TrainingData
    from heartfelt.training.finetuning.task import QuestionOutput

_MODELS = {"image": "HuggingFaceTB/SmolVLM-Instruct", "audio": "Qwen/Qwen2-Audio-7B-Instruct"}


class ChatLoraSettings(FineTuneSettings):
    """Settings of ``chat-lora``."""

    model: Annotated[
        str, Field(description=f"a folder or a name on the hub; {' or '.join(_MODELS.values())} if empty")
    ] = ""
    revision: Annotated[str, Field(description="of the model on the hub")] = "main"
    epochs: Annotated[int, Field(ge=1, description="passes over the training part, at most")] = 3
    patience: Annotated[int, Field(ge=1, description="epochs without a better validation loss")] = 2
    batch: Annotated[int, Field(ge=1, description="stimuli per step")] = 16
    rank: Annotated[int, Field(ge=1, le=1024, description="of the adapters")] = 16
    alpha: Annotated[float, Field(gt=0, description="their scale is alpha / rank")] = 32.0
    dropout: Annotated[float, Field(ge=0, lt=1, description="before the adapters")] = 0.05
    target_modules: Annotated[Names, Field(description="linear layers that get adapters, by name")] = (
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
    )
    everywhere: Annotated[
        bool, Field(description="adapters also where images or sound are encoded, not only in the language part")
    ] = False
    gradient_checkpointing: Annotated[
        bool, Field(description="compute activations again for the gradients: less memory, about a third more time")
    ] = False
    levels: Annotated[
        int, Field(ge=0, le=101, description="numbers of a scale that are answers; 0 for its own points")
    ] = 0
    seconds: Annotated[float, Field(gt=0, description="of each sound that are listened to")] = 30.0


class ChatLoraRecipe:
    """The recipe ``chat-lora``."""

    name = "chat-lora"
    about = "a language model that sees or hears, fine-tuned with LoRA to answer the study's own questions"
    media = ""
    questions: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ("interval", "ordinal", "nominal")
    settings: type[FineTuneSettings] = ChatLoraSettings

    def build(self, data: TrainingData, settings: ChatLoraSettings) -> ChatTask:
        data.need_prompts([output.question for output in data.outputs if output.shows_prompt])
        medium = medium_of(data)
        questions = chat_questions(data, settings.levels)
        chosen = labelled_answers(questions, data.targets)
        for question, question_answers in zip(questions, chosen[data.parts.train].T, strict=True):
            if (question_answers == NO_LABEL).all():
                raise InputError(
                    f"No stimulus of the training part has one label for '{question.question}': every vote is a tie.",
                    "Train on other questions: --set questions=NAME.",
                )
        where = settings.model or _MODELS[medium]
        model, processor = language_model(where, settings.revision, medium)
        identity = base_identity(where, model, processor)
        base = str(Path(where).expanduser().resolve()) if Path(where).expanduser().is_dir() else where
        conversations = Conversations(processor, medium)
        adapted = with_adapters(
            model,
            settings.target_modules,
            rank=settings.rank,
            alpha=settings.alpha,
            dropout=settings.dropout,
            everywhere=settings.everywhere,
        )
        if settings.gradient_checkpointing:
            recompute_activations(adapted)
        revision = getattr(model.config, "_commit_hash", None) or settings.revision
        config = ChatConfig(
            base=base,
            revision=revision,
            identity=identity,
            medium=medium,
            seconds=settings.seconds,
            questions=questions,
        )
        labels = {(example.source, example.stimulus): row for example, row in zip(data.examples, chosen, strict=True)}
        return ChatTask(data.outputs, adapted, conversations, config, labels)

    def load(self, folder: Path, outputs: tuple[QuestionOutput, ...]) -> ChatTask:
        """The base model, by its name and revision, with the adapters' form; their weights are loaded afterwards."""
        config = read_json(folder / CONFIG, ChatConfig)
        model, processor = language_model(config.base, config.revision, config.medium)
        if (identity := base_identity(config.base, model, processor)) != config.identity:
            raise InputError(
                f"The base model {config.base} is not the one it was trained on ({identity}, not {config.identity}).",
                "Restore the base model, or train again.",
            )
        return ChatTask(outputs, adapters_from(folder, model), Conversations(processor, config.medium), config)


def medium_of(data: TrainingData) -> str:
    """``image`` or ``audio``, the same for every source."""
    kinds = sorted({"image" if source.study.media == "image" else "audio" for source in data.sources})
    if len(kinds) > 1:
        raise InputError(
            "The sources are of images and of sound: one conversation has one kind of media.",
            "Train on sources of the same media.",
        )
    return kinds[0]


FINE_TUNE_RECIPES.add(ChatLoraRecipe.name, ChatLoraRecipe())
