"""What is put to a predictor: a case for every stimulus, with everything asked of it.

Only items that can be scored are asked, unless told otherwise: those with a label (of ordered categories also tied ones,
which may be decided as present or absent), and of questions answered in words those somebody answered. The text a model is
given is, in this order: the prompt, where raters judged the fit to it; the written level, where there is one; for an emotion
that may be present, EmoLia's sentence; else a sentence of the medium and the scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import inside
from heartfelt.formats.columns import need
from heartfelt.labels import Benchmark, labels
from heartfelt.predictors.predictor import Ask, Case, Media
from heartfelt.predictors.sampling import balanced_sample
from heartfelt.predictors.sentences import general_text, plain_text
from heartfelt.snapshot import Snapshot
from heartfelt.study import Question, Study
from heartfelt.study.model import say
from heartfelt.study.question import readable

EMOTION = "Speech audio in which the speaker expresses or conveys {label}."
_PAIR = ("stimulus", "question")


def cases(
    source: Snapshot | Benchmark,
    questions: Iterable[str] | None = None,
    *,
    items: pl.DataFrame | None = None,
    labelled: bool = True,
    limit: int | None = None,
    seed: int = 0,
    facts: Sequence[str] = (),
) -> list[Case]:
    """The cases of a study, in the order of its stimuli.

    ``questions`` keeps only these; ``items`` only the pairs of its columns ``stimulus`` and ``question`` (a table of labels,
    say); ``labelled=False`` also takes items without a label; ``limit`` takes so many items, balanced over
    questions, systems and intents and drawn from the ``seed``. ``facts`` are columns of the
    stimuli that predictors may see: none are shown unasked, since a table may hold what people said (a published mean).
    """
    source = source if isinstance(source, Benchmark) else source.without_probes
    if limit is not None and limit < 1:
        raise InputError(f"A limit of {limit} items leaves nothing to ask.", "Give at least 1, or no limit.")
    asked = (
        [source.study.question(name) for name in questions] if questions is not None else source.study.asked
    )
    pairs = _pairs(source, items, labelled).filter(pl.col("question").is_in([one.id for one in asked]))
    order = {question.id: place for place, question in enumerate(source.study.asked)}
    known = [name for name in ("system", "intent") if name in source.stimuli.columns]
    stimuli = source.stimuli.select("stimulus", *known).with_row_index("_at")
    pairs = (
        pairs.unique(_PAIR)
        .join(stimuli, on="stimulus")
        .with_columns(pl.col("question").replace_strict(order, return_dtype=pl.Int64).alias("_question"))
        .sort("_at", "_question")
    )
    if limit is not None:
        pairs = balanced_sample(pairs, limit, seed)
    by_stimulus = dict(pairs.group_by("stimulus", maintain_order=True).agg("question").iter_rows())
    need(source.stimuli, facts, "The table of stimuli")
    return _made(source, by_stimulus, facts)


def _pairs(source: Snapshot | Benchmark, items: pl.DataFrame | None, labelled: bool) -> pl.DataFrame:
    if items is not None:
        return items.select(_PAIR)
    if isinstance(source, Benchmark):
        return source.items.select(_PAIR)
    if not labelled:
        return source.items.select(_PAIR)
    ordered = [q.id for q in source.study.asked if source.study.scale_of(q.id).level == "ordinal"]
    have = (
        labels(source)
        .table.filter(pl.col("value").is_finite() | pl.col("question").is_in(ordered))
        .select(_PAIR)
    )
    words = [q.id for q in source.study.asked if source.study.scale_of(q.id).level == "text"]
    table = source.scan_ratings()
    if not words or "answer" not in table.collect_schema():
        return have
    told = table.filter(pl.col("question").is_in(words) & pl.col("answer").is_not_null())
    return pl.concat([have, told.select(_PAIR).unique().collect()])


def _made(
    source: Snapshot | Benchmark, by_stimulus: Mapping[str, list[str]], shown: Sequence[str]
) -> list[Case]:
    root = source.media_root if isinstance(source, Benchmark) else source.source.media_root
    study = source.study
    shared = {question.id: ask_of(study, question) for question in study.asked}
    prompts = {prompt.id: prompt.text for prompt in study.prompts}
    fits = {question.id for question in study.asked if "prompt" in question.shows}
    known = [name for name in ("path", *shown) if name in source.stimuli.columns]
    out = []
    wanted = source.stimuli.filter(pl.col("stimulus").is_in(list(by_stimulus)))
    for row in wanted.iter_rows(named=True):
        prompt = _prompt(row.get("prompt"), row.get("intent"), prompts)
        asks = tuple(
            _with_prompt(shared[name], prompt) if name in fits and prompt else shared[name]
            for name in by_stimulus[row["stimulus"]]
        )
        facts = {name: str(row[name]) for name in known if row[name] is not None}
        media = _media(root, row.get("path"))
        out.append(Case(row["stimulus"], asks, media, row.get("system"), row.get("intent"), prompt, facts))
    return out


def _prompt(name: str | None, intent: str | None, prompts: Mapping[str, str]) -> str | None:
    if name is None:
        return None
    return prompts.get(name, name).replace("{intent}", intent or "")


def _with_prompt(ask: Ask, prompt: str) -> Ask:
    return replace(ask, text=prompt, shown=prompt)


def _media(root: Path | None, path: str | None) -> Media | None:
    if root is None or path is None:
        return None
    place = inside(root, path, "stimuli")
    return Media(place) if place.is_file() else None


def ask_of(study: Study, question: Question) -> Ask:
    """One question of a study, as it is put to a predictor."""
    scale, words = study.scale_of(question.id), say(question.text)
    about, shown = {**question.about, "media": study.media}, ""
    if question.emotion is not None:
        about["emotion"] = question.emotion
    if question.rubric is not None:
        text = shown = say(question.rubric)
    elif "prompt" in question.shows:
        text, about["matches"] = plain_text(words, about), "prompt"
    elif "queried_emotion" in about:
        text = EMOTION.format(label=readable(about["queried_emotion"]))
    else:
        text = general_text(scale, words, about)
    return Ask(question.id, scale, text, words, about, shown)


def narrowed(case: Case, keep: Sequence[int]) -> Case:
    """The case with only some of its questions, by their places."""
    if len(keep) == len(case.asks):
        return case
    return replace(case, asks=tuple(case.asks[place] for place in keep), together=case.all_asks)
