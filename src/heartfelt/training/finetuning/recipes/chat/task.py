"""A language model as a task of the training loop: conversations as rows of a batch, losses on answers, probabilities of answers.

A stimulus has a row per question in training: the question and the label as its answer, with loss on the answer's tokens only. In
evaluation it also has the rows that the probability of every allowed answer is read from
(:mod:`heartfelt.training.finetuning.recipes.chat.decisions`); a question with numbers is answered with their expectation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.media.images.image import decode_image
from heartfelt.media.sound import decode
from heartfelt.predictors.trained.folder import ADAPTER, BaseModel
from heartfelt.serialization import write_json
from heartfelt.training.finetuning.recipes.chat.conversations import NO_LABEL, ChatQuestion
from heartfelt.training.finetuning.recipes.chat.decisions import Decisions
from heartfelt.training.finetuning.recipes.chat.model import Conversations
from heartfelt.training.finetuning.task import Batch, Example, FineTuneTask, QuestionOutput, Tensors

if TYPE_CHECKING:
    import torch

    from heartfelt.stats.columns.triples import Ints

CONFIG = "config.json"
_PER_TOKEN = frozenset({"input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids"})
"""What a processor gives for every token; anything else belongs to the image or sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatConfig:
    """What the folder of a trained model says besides its adapters."""

    base: str
    """The base model: a name on the hub, or a folder."""
    revision: str
    identity: str
    """Of the base model: its revision on the hub, or a hash of its folder."""
    medium: str
    seconds: float
    questions: tuple[ChatQuestion, ...]
    architecture: str = "chat-lora"


@dataclass(frozen=True, slots=True)
class _Row:
    """One conversation with one of its allowed answers."""

    stimulus: int
    question: int
    answer: int
    labelled: bool


class ChatTask(FineTuneTask):
    """A language model with adapters, asked the study's questions."""

    weights_file = ADAPTER

    def __init__(
        self,
        outputs: tuple[QuestionOutput, ...],
        model: Any,
        conversations: Conversations,
        config: ChatConfig,
        labels: Mapping[tuple[str, str], Ints] | None = None,
    ) -> None:
        from heartfelt.training.finetuning.recipes.chat.networks import ChatNetwork

        self.outputs, self.conversations, self.config = outputs, conversations, config
        self.labels = labels or {}
        self.decisions = tuple(_decisions(question, conversations) for question in config.questions)
        self.module = ChatNetwork(model, self.decisions)

    def sample(self, example: Example, *, training: bool, generator: np.random.Generator) -> Tensors:
        """The image or sound, the prompt, and which answers are labels; nothing is drawn."""
        import torch

        del generator
        if self.config.medium == "image":
            media = torch.from_numpy(np.array(decode_image(example.path)))
        else:
            samples = decode(example.path, self.conversations.rate)
            media = torch.from_numpy(samples[: int(self.config.seconds * self.conversations.rate)].copy())
        none = np.full(len(self.outputs), NO_LABEL)
        return {
            "media": media,
            "prompt": torch.tensor(list((example.prompt or "").encode()), dtype=torch.uint8),
            "labels": torch.from_numpy(self.labels.get((example.source, example.stimulus), none)),
            "scored": torch.tensor(not training),
        }

    def _rows(self, samples: Sequence[Tensors]) -> list[_Row]:
        """The conversations of a batch: per stimulus and question those that answers are read from, then the label."""
        labelled = any(bool((sample["labels"] != NO_LABEL).any()) for sample in samples)
        rows = []
        for stimulus, sample in enumerate(samples):
            for question, (decisions, label) in enumerate(zip(self.decisions, sample["labels"].tolist(), strict=True)):
                if bool(sample["scored"]):
                    rows += [_Row(stimulus, question, answer, False) for answer in decisions.rows]
                # The last row of a question is that of its label, also where there is none: it then carries no loss.
                if labelled:
                    rows.append(_Row(stimulus, question, max(label, 0), label != NO_LABEL))
        return rows

    def collate(self, samples: Sequence[Tensors]) -> Tensors:
        """Conversations through the model's own processor, each followed by its answer, filled up on the right."""
        import torch

        from heartfelt.training.finetuning.recipes.chat.networks import IGNORED

        rows = self._rows(samples)
        media = [self._medium(sample["media"]) for sample in samples]
        prompts = [bytes(sample["prompt"].tolist()).decode() for sample in samples]
        texts = [
            self.conversations.prompt(
                self.config.questions[row.question].asked(prompts[row.stimulus]),
                self.config.questions[row.question].system,
            )
            for row in rows
        ]
        encoded = self.conversations.inputs(texts, [media[row.stimulus] for row in rows])
        attended = encoded["attention_mask"].bool()
        answers = [torch.tensor(self.decisions[row.question].answers[row.answer]) for row in rows]
        lengths = attended.sum(1).tolist()
        first = min(lengths) - 1
        last = max(length + len(answer) for length, answer in zip(lengths, answers, strict=True)) - 1
        tokenizer = self.conversations.tokenizer
        fills = {"input_ids": tokenizer.pad_token_id or 0}
        inputs: Tensors = {}
        for name, value in encoded.items():
            if name not in _PER_TOKEN:
                inputs[name] = value
                continue
            padded = torch.full((len(rows), last + 1), fills.get(name, 0), dtype=value.dtype)
            for at, (tokens, answer) in enumerate(zip(value, answers, strict=True)):
                end = lengths[at] + len(answer)
                padded[at, : lengths[at]] = tokens[attended[at]]
                padded[at, lengths[at] : end] = answer if name == "input_ids" else int(name == "attention_mask")
            inputs[name] = padded
        labels = torch.full((len(rows), last - first), IGNORED)
        for at, (row, answer) in enumerate(zip(rows, answers, strict=True)):
            if row.labelled:
                begin = lengths[at] - 1 - first
                labels[at, begin : begin + len(answer)] = answer
        inputs |= {"positions": torch.arange(first, last), "labels": labels}
        return inputs | self._read_from(rows, samples, [length - 1 - first for length in lengths])

    def _read_from(self, rows: list[_Row], samples: Sequence[Tensors], begins: list[int]) -> Tensors:
        """Which rows are labelled answers, and where the probabilities of answers are read."""
        import torch

        row_numbers: dict[tuple[int, int], list[int]] = {}
        for at, row in enumerate(rows):
            row_numbers.setdefault((row.stimulus, row.question), []).append(at)
        tensors: Tensors = {}
        size, question_numbers = len(samples), range(len(self.decisions))
        if any(bool((sample["labels"] != NO_LABEL).any()) for sample in samples):
            tensors["answered"] = torch.tensor(
                [[row_numbers[at, question][-1] for question in question_numbers] for at in range(size)]
            )
        if all(bool(sample["scored"]) for sample in samples):
            tensors["places"] = torch.tensor(
                [
                    [
                        (read := row_numbers[at, question][branch.row], begins[read] + branch.at)
                        for question in question_numbers
                        for branch in self.decisions[question].places
                    ]
                    for at in range(size)
                ]
            )
        return tensors

    def _medium(self, media: Any) -> Any:
        if self.config.medium == "audio":
            return media.numpy()
        from PIL import Image

        return Image.fromarray(media.numpy())

    def loss(self, outputs: Tensors, batch: Batch) -> torch.Tensor:
        """The mean loss of the answers' tokens over stimuli and questions, weighted by reliability."""
        import torch

        weights = torch.stack([batch.weights[output.question] for output in self.outputs], dim=1)
        return (weights * outputs["loss"]).mean()

    def answers(self, outputs: Tensors) -> Tensors:
        """Expectations over the numbers of a scale, or probabilities of categories."""
        import torch

        by_question, first = {}, 0
        for question, decisions in zip(self.config.questions, self.decisions, strict=True):
            last = first + len(decisions.places)
            shares = decisions.probabilities(outputs["logits"][:, first:last])
            first = last
            if question.values:
                shares = shares @ torch.tensor(question.values, device=shares.device)
            by_question[question.question] = shares
        return by_question

    def save(self, folder: Path) -> None:
        """What is asked and of which base model, and the adapters' configuration as PEFT reads it."""
        adapters = copy(self.module.model.peft_config["default"])
        # As a set, the names would be written in another order by every process.
        adapters.target_modules = sorted(adapters.target_modules)
        adapters.save_pretrained(str(folder))
        write_json(folder / CONFIG, self.config)

    @property
    def base_models(self) -> tuple[BaseModel, ...]:
        return (BaseModel.named(self.config.base),)

    @property
    def credit(self) -> tuple[str, ...]:
        return (f"Base model: {self.config.base} ({self.config.identity}); see its page for the licence.",)


def _decisions(question: ChatQuestion, conversations: Conversations) -> Decisions:
    tokens = [conversations.answer_tokens(answer) for answer in question.answers]
    if len(set(tokens)) < len(tokens):
        raise InputError(
            f"The model's tokenizer cannot tell the answers to '{question.question}' apart.",
            "Use another model, or train on other questions: --set questions=NAME.",
        )
    return Decisions.of(tokens)
