"""What is put to a predictor: a case for every stimulus, with every question about it.

Only items that can be scored are asked by default: those with a label (of ordered categories also tied ones, which may be
decided as present or absent), and of questions answered in words those somebody answered. The text a model is given is, in
this order: the prompt, where raters judged the fit to it; the written level, where there is one; for an emotion that may be
present, a sentence that names it; else a sentence of the medium and the scale.

Where stimuli were judged together, a predictor that compares gets a case for every set; any other gets one for every stimulus of a
set and is asked for a number, since the difference of two numbers decides a pair.

A limited sample is balanced over questions, systems and intents. Items are picked one at a time, each from a question, system and
intent that were picked least so far (each counted against an equal share), ties drawn from the seed. Stimuli are in one seeded
order, the same under every question, so that a larger sample asks everything about the same stimuli. The order of the rows
does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import inside
from heartfelt.formats.tables.columns import need
from heartfelt.labels import Benchmark, labels
from heartfelt.predictors.answers.sets import COMPARED, holding, sets_of
from heartfelt.predictors.answers.texts import general_text, plain_text
from heartfelt.predictors.interface.predictor import Ask, Case, Media
from heartfelt.predictors.measures.references import references_of
from heartfelt.snapshot import Snapshot
from heartfelt.streams import stream
from heartfelt.study import Question, Study
from heartfelt.study.model import readable, say
from heartfelt.study.scales.scale import Numeric

EMOTION = "Speech audio in which the speaker expresses or conveys {label}."
BALANCED_OVER = ("question", "system", "intent")
_PAIR = ("stimulus", "question")
_Ints: TypeAlias = npt.NDArray[np.int64]


def cases(
    source: Snapshot | Benchmark,
    questions: Iterable[str] | None = None,
    *,
    items: pl.DataFrame | None = None,
    labelled: bool = True,
    limit: int | None = None,
    seed: int = 0,
    facts: Sequence[str] = (),
    compares: bool = False,
) -> list[Case]:
    """The cases of a study, in the order of its stimuli.

    ``questions`` selects these only; ``items`` only the pairs of its columns ``stimulus`` and ``question`` (a table of labels,
    say); ``labelled=False`` includes items without a label; ``limit`` draws a balanced sample of this many items from the
    ``seed``. ``facts`` are columns of the stimuli that predictors may see: none are shown by default, since a table may hold
    what people answered (a published mean). With ``compares``, questions about sets are asked about the sets; else about each of
    their stimuli.
    """
    source = source if isinstance(source, Benchmark) else source.without_probes
    if limit is not None and limit < 1:
        raise InputError(f"A limit of {limit} items leaves nothing to ask.", "Give at least 1, or no limit.")
    study = source.study
    chosen = [question.id for question in study.asked] if questions is None else list(questions)
    need(source.stimuli, facts, "The table of stimuli")
    judged = _judged_sets(source, chosen, items)
    if limit is not None and judged.height:
        judged = judged.join(balanced_sample(judged, limit, seed), on=_PAIR, how="semi", maintain_order="left")
    pairs = _pairs(source, items, labelled).filter(~pl.col("question").is_in(judged["question"].unique().to_list()))
    pairs = _in_order(source, pairs.filter(pl.col("question").is_in([study.question(name).id for name in chosen])))
    if limit is not None:
        pairs = balanced_sample(pairs, limit, seed)
    pairs = pairs.select(_PAIR)
    if not compares:
        pairs = pl.concat([pairs, _members_alone(source, judged)])
    by_stimulus = dict(pairs.group_by("stimulus", maintain_order=True).agg("question").iter_rows())
    out = _cases_of(source, by_stimulus, facts)
    return [*out, *_together(source, judged, facts)] if compares else out


def _judged_sets(source: Snapshot | Benchmark, questions: Sequence[str], items: pl.DataFrame | None) -> pl.DataFrame:
    """The sets that were judged together under those of the questions that compare stimuli."""
    judged = sets_of(source, [name for name in questions if isinstance(source.study.scale_of(name), COMPARED)])
    return judged if items is None else holding(judged, items)


def _in_order(source: Snapshot | Benchmark, pairs: pl.DataFrame) -> pl.DataFrame:
    """Each pair once, in the order of the stimuli and the questions, with what a sample is balanced over."""
    order = {question.id: index for index, question in enumerate(source.study.asked)}
    columns = [name for name in ("system", "intent") if name in source.stimuli.columns]
    stimuli = source.stimuli.select("stimulus", *columns).with_row_index("_at")
    return (
        pairs.unique(_PAIR)
        .join(stimuli, on="stimulus", maintain_order="left")
        .with_columns(pl.col("question").replace_strict(order, return_dtype=pl.Int64).alias("_question"))
        .sort("_at", "_question")
    )


def _members_alone(source: Snapshot | Benchmark, judged: pl.DataFrame) -> pl.DataFrame:
    """``stimulus, question`` of every member of the sets, in the order of the stimuli."""
    alone = judged.select(pl.col("members").alias("stimulus"), "question").explode("stimulus").unique()
    order_of = {name: index for index, name in enumerate(source.stimuli["stimulus"].to_list())}
    return alone.sort(pl.col("stimulus").replace_strict(order_of, default=None), "question").select(_PAIR)


def _together(source: Snapshot | Benchmark, judged: pl.DataFrame, visible: Sequence[str]) -> list[Case]:
    names = judged.select(pl.col("members").explode().unique()).to_series().to_list() if judged.height else []
    alone = {case.stimulus: case for case in _cases_of(source, dict.fromkeys(names, ()), visible)}
    study, out = source.study, []
    asks = {name: ask_of(study, study.question(name)) for name in judged["question"].unique()}
    fits = about_prompts(study)
    sets = judged.group_by("stimulus", maintain_order=True).agg(pl.first("members"), pl.first("set"), "question")
    for name, stimuli, set_id, questions in sets.iter_rows():
        members = tuple(alone[stimulus] for stimulus in stimuli)
        prompt, intent = _shared([part.prompt for part in members]), _shared([part.intent for part in members])
        shown = tuple(with_prompt(asks[question], prompt, fits) for question in questions)
        facts = {} if set_id is None else {"set": set_id}
        out.append(Case(stimulus=name, asks=shown, intent=intent, prompt=prompt, facts=facts, members=members))
    return out


def about_prompts(study: Study) -> set[str]:
    """The questions with which raters were shown the prompt."""
    return {question.id for question in study.asked if "prompt" in question.shows}


def with_prompt(ask: Ask, prompt: str | None, about_prompt: Collection[str]) -> Ask:
    """The question with the prompt that raters were shown with it, where there is one and it is about prompts."""
    return replace(ask, text=prompt, shown=prompt) if prompt and ask.question in about_prompt else ask


def _shared(values: Sequence[str | None]) -> str | None:
    """The value that all have; None where they differ."""
    return values[0] if len(set(values)) == 1 else None


def _pairs(source: Snapshot | Benchmark, items: pl.DataFrame | None, labelled: bool) -> pl.DataFrame:
    if items is not None:
        return items.select(_PAIR)
    if isinstance(source, Benchmark) or not labelled:
        return source.items.select(_PAIR)
    scored = pl.col("value").is_finite() | pl.col("question").is_in(_of_level(source.study, "ordinal"))
    have = labels(source).table.filter(scored).select(_PAIR)
    worded = _of_level(source.study, "text")
    table = source.scan_ratings()
    if not worded or "answer" not in table.collect_schema():
        return have
    answered = table.filter(pl.col("question").is_in(worded) & pl.col("answer").is_not_null())
    return pl.concat([have, answered.select(_PAIR).unique().collect()])


def _of_level(study: Study, level: str) -> list[str]:
    return [question.id for question in study.asked if study.scale_of(question.id).level == level]


def _cases_of(
    source: Snapshot | Benchmark, by_stimulus: Mapping[str, Sequence[str]], visible: Sequence[str]
) -> list[Case]:
    root = source.media_root if isinstance(source, Benchmark) else source.source.media_root
    study = source.study
    shared = {question.id: _about_one(ask_of(study, question)) for question in study.asked}
    prompts = {prompt.id: prompt.text for prompt in study.prompts}
    fits = about_prompts(study)
    columns = [name for name in ("path", *visible) if name in source.stimuli.columns]
    references = references_of(source)
    out = []
    wanted = source.stimuli.filter(pl.col("stimulus").is_in(list(by_stimulus)))
    for row in wanted.iter_rows(named=True):
        prompt = prompt_of(row, prompts)
        asks = tuple(with_prompt(shared[question], prompt, fits) for question in by_stimulus[row["stimulus"]])
        out.append(
            Case(
                stimulus=row["stimulus"],
                asks=asks,
                media=media_of(root, row.get("path")),
                system=row.get("system"),
                intent=row.get("intent"),
                prompt=prompt,
                facts={column: str(row[column]) for column in columns if row[column] is not None},
                reference=media_of(root, references.get(row["stimulus"])),
            )
        )
    return out


def prompt_of(row: Mapping[str, object], prompts: Mapping[str, str]) -> str | None:
    """The text a stimulus was made from: that of the study's prompt it names, or its own."""
    name = row.get("prompt")
    return None if name is None else prompts.get(str(name), str(name)).replace("{intent}", str(row.get("intent") or ""))


def media_of(root: Path | None, path: str | None) -> Media | None:
    """The media file of a stimulus; None where it is missing."""
    if root is None or path is None:
        return None
    file = inside(root, path, "stimuli")
    return Media(file) if file.is_file() else None


def _about_one(ask: Ask) -> Ask:
    """A question about a set as it is asked about each stimulus: a number, the larger the better it would do."""
    compared = isinstance(ask.scale, COMPARED)
    return replace(ask, scale=Numeric(type="numeric"), compared=True) if compared else ask


def ask_of(study: Study, question: Question) -> Ask:
    scale, words = study.scale_of(question.id), say(question.text)
    about, shown = {**question.about, "media": study.media}, ""
    if question.emotion is not None:
        about["emotion"] = question.emotion
    if question.axis is not None and isinstance(scale, COMPARED):
        about["axis"] = question.axis
    if question.rubric is not None:
        text = shown = say(question.rubric)
    elif "prompt" in question.shows:
        text, about["matches"] = plain_text(words, about), "prompt"
    elif "queried_emotion" in about:
        text = EMOTION.format(label=readable(about["queried_emotion"]))
    else:
        text = general_text(scale, words, about)
    return Ask(question=question.id, scale=scale, text=text, words=words, about=about, shown=shown)


def balanced_sample(items: pl.DataFrame, size: int, seed: int = 0) -> pl.DataFrame:
    """``stimulus, question`` of ``size`` items (all, if there are no more), in the order they were given.

    ``items`` has the columns stimulus and question and, where known, system and intent.
    """
    factors = [name for name in BALANCED_OVER if name in items.columns]
    numbered = items.select("stimulus", *factors).with_row_index("_at")
    if numbered.height <= size:
        return items.select("stimulus", "question")
    codes = [_codes(numbered[name].cast(pl.String).fill_null("")) for name in factors]
    names = numbered["stimulus"].unique().sort()
    order = stream(seed, "sample", "stimuli").permutation(len(names))
    rank_of = dict(zip(names.to_list(), order.tolist(), strict=True))
    rank = np.array([rank_of[name] for name in numbered["stimulus"].to_list()])
    strata, of_stratum = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    # The rows of each stratum, the first to be picked last.
    queues: list[list[int]] = [[] for _ in strata]
    for row in np.lexsort((rank,))[::-1].tolist():
        queues[of_stratum.ravel()[row]].append(row)
    picked = _picked(strata, queues, size, seed)
    return numbered.filter(pl.col("_at").is_in(picked)).select("stimulus", "question")


def _codes(column: pl.Series) -> _Ints:
    return np.unique(column.to_numpy().astype(str), return_inverse=True)[1].astype(np.int64)


def _picked(strata: _Ints, queues: list[list[int]], size: int, seed: int) -> list[int]:
    levels = [int(column.max()) + 1 for column in strata.T]
    counts = [np.zeros(count) for count in levels]
    tie = stream(seed, "sample", "ties").random(len(strata)) * 1e-6
    queued = np.array([len(queue) for queue in queues])
    picked = np.zeros(len(strata))
    out: list[int] = []
    for _ in range(size):
        cost = tie + np.where(queued > 0, 0.0, np.inf)
        for column, count in enumerate(counts):
            cost = cost + count[strata[:, column]] * levels[column]
        best = int(np.argmin(cost + 1e-3 * picked))
        out.append(queues[best].pop())
        queued[best] -= 1
        picked[best] += 1
        for column, count in enumerate(counts):
            count[strata[best, column]] += 1
    return out
