"""What is put to a drafter: a case for every stimulus, with the fields it is to draft.

A drafter is given the media and the questions. It is not given the system or the intent, nor the prompt, unless raters are shown
the prompt with the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from heartfelt.formats.study_folder.machine_values import machine_values
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.predictors.interface.predictor import Ask, Case
from heartfelt.predictors.task import about_prompts, ask_of, media_of, prompt_of, with_prompt
from heartfelt.study import Question, Study
from heartfelt.study.model import say


def draft_ask(study: Study, question: Question, language: str) -> Ask:
    """A field as it is put to a drafter: the question in the study's language, with its help text as guidance."""
    words = [say(part, language) for part in (question.text, question.help) if part]
    return replace(ask_of(study, question), words=" ".join(words), none=bool(question.none))


def draft_cases(opened: OpenStudy, asks: Mapping[str, Ask], pending: pl.DataFrame) -> list[Case]:
    """The cases of the ``pending`` items (stimulus, question), in the order of the stimuli and the ``asks``."""
    study, root = opened.study, opened.media_root
    prompts = {prompt.id: prompt.text for prompt in study.prompts}
    fits = about_prompts(study)
    wanted: dict[str, set[str]] = {}
    for stimulus, question in pending.select("stimulus", "question").iter_rows():
        wanted.setdefault(stimulus, set()).add(question)
    out = []
    for row in opened.stimuli.iter_rows(named=True):
        fields = wanted.get(row["stimulus"])
        if fields is None:
            continue
        prompt, path = prompt_of(row, prompts), row.get("path")
        shown = tuple(with_prompt(ask, prompt, fits) for name, ask in asks.items() if name in fields)
        facts = {} if path is None else {"path": str(path)}
        out.append(Case(stimulus=row["stimulus"], asks=shown, media=media_of(root, path), facts=facts))
    return out


def pending_items(opened: OpenStudy, fields: Sequence[str], *, again: bool) -> pl.DataFrame:
    """The items (stimulus, question) of ``fields`` that no machine has filled in yet; with ``again`` all of them."""
    items = opened.items.select("stimulus", "question").filter(pl.col("question").is_in(list(fields)))
    if again:
        return items
    schema = dict.fromkeys(("stimulus", "question"), pl.String)
    filled = pl.DataFrame(list(machine_values(opened)), schema=schema, orient="row")
    return items.join(filled, on=["stimulus", "question"], how="anti", maintain_order="left")
