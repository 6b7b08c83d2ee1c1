"""The conversations of ``chat-lora`` as files for other trainers: the same questions, labels and parts, no model needed.

A file of JSON lines per part (``train.jsonl``, ``validation.jsonl``, and one for each part that is scored), a line per stimulus and
question: ``messages`` with the roles system, user and assistant, where ``<image>`` or ``<audio>`` marks the place of the file in
``images`` or ``audios``; then ``stimulus``, ``question``, ``weight`` (the label's reliability) and ``sha256`` of the file.
``export.json`` says how the parts were made, with the hash of each file; ``ledger.csv`` what was left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.progress import Progress
from heartfelt.serialization import dumps, write_json
from heartfelt.snapshot import Snapshot
from heartfelt.training.finetuning.options import FineTuneOptions
from heartfelt.training.finetuning.recipe import recipe_named, settings_of
from heartfelt.training.finetuning.recipes.chat.conversations import NO_LABEL, chat_questions, labelled_answers
from heartfelt.training.finetuning.recipes.chat.recipe import ChatLoraRecipe, medium_of
from heartfelt.training.finetuning.running import data_hash, gather_for
from heartfelt.training.finetuning.stimuli.parts import VALIDATION
from heartfelt.training.heads.label_checks import TRAIN

FACTS, LEDGER_FILE = "export.json", "ledger.csv"


@dataclass(frozen=True, slots=True)
class ExportedPart:
    """One file of conversations."""

    file: str
    stimuli: int
    conversations: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatExport:
    """What was exported, and how the parts were made."""

    studies: tuple[str, ...]
    snapshots: tuple[str, ...]
    questions: tuple[str, ...]
    policy: str
    seed: int
    split: str
    grouping: str
    data: str
    """The hash of stimuli, labels and parts that a training run with the same options has."""
    parts: dict[str, ExportedPart]
    left_out: int
    notes: tuple[str, ...] = ()


def export_chat_training(
    sources: Sequence[Snapshot], options: FineTuneOptions, folder: Path, progress: Progress | None = None
) -> ChatExport:
    """Write the conversations into ``folder``, which is there and empty."""
    recipe = recipe_named(options.recipe)
    if not isinstance(recipe, ChatLoraRecipe):
        raise InputError(f"The recipe '{options.recipe}' has no conversations to export.", "Use --recipe chat-lora.")
    settings: Any = settings_of(recipe, options.settings)
    data = gather_for(recipe, settings, sources, options, progress)
    data.need_prompts([output.question for output in data.outputs if output.shows_prompt])
    medium, questions = medium_of(data), chat_questions(data, settings.levels)
    chosen = labelled_answers(questions, data.targets)
    parts: dict[str, ExportedPart] = {}
    for part, indices in {TRAIN: data.parts.train, VALIDATION: data.parts.validation, **data.parts.test}.items():
        lines = []
        for at in indices:
            example = data.examples[at]
            for column, question in enumerate(questions):
                if chosen[at, column] == NO_LABEL:
                    continue
                user = f"<{medium}>\n{question.asked(example.prompt)}"
                answer = question.answers[chosen[at, column]]
                line = {
                    "messages": [
                        {"role": "system", "content": question.system},
                        {"role": "user", "content": user},
                        {"role": "assistant", "content": answer},
                    ],
                    f"{medium}s": [str(example.path.resolve())],
                    "source": example.source,
                    "stimulus": example.stimulus,
                    "question": question.question,
                    "weight": round(float(data.targets[column].weight[at]), 6),
                    "sha256": example.content,
                }
                lines.append(dumps(line, indent=None) + "\n")
        name, text = f"{_file_name(part)}.jsonl", "".join(lines)
        write_text(folder / name, text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        parts[part] = ExportedPart(name, int(indices.size), len(lines), digest)
    write_text(folder / LEDGER_FILE, csv_text(data.ledger))
    export = ChatExport(
        studies=tuple(source.study.name for source in data.sources),
        snapshots=tuple(source.hash for source in data.sources),
        questions=tuple(question.question for question in questions),
        policy=data.panels[0].policy.name,
        seed=options.seed,
        split=data.parts.words,
        grouping=data.grouping.words,
        data=data_hash(data),
        parts=parts,
        left_out=data.unusable,
        notes=data.notes,
    )
    write_json(folder / FACTS, export)
    return export


def _file_name(part: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in part)
