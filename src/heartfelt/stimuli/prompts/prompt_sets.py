"""Sets of prompts: what they cover, which are the same, and which system gets which.

*Length* in words, *vocabulary* and its variety as in :mod:`heartfelt.stats.texts.diversity`. *Aspects*: what a prompt mentions, by
lists of words that can be replaced: emotion, genre, instrumentation, rhythm, structure and theme for music, after the aspects
that MusicEval's prompts were written for. A list is no reader: it misses what it does not hold. *Duplicates*: prompts that
are the same but for case and punctuation; *near-duplicates*: prompts that share at least 80% of their different words (Jaccard).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import yaml

from heartfelt.errors import InputError, require
from heartfelt.formats.study_folder.manifest import is_study
from heartfelt.formats.tables.columns import need, read_table
from heartfelt.formats.tables.json_files import numbered_lines
from heartfelt.formats.tables.texts import LINES
from heartfelt.stats.texts.diversity import Diversity, diversity
from heartfelt.stats.texts.segmentation import words
from heartfelt.streams import stream
from heartfelt.study import Study, load_study
from heartfelt.study.load import STUDY_FILE
from heartfelt.study.model import fill

NEAR = 0.8
_LONG = 25
"""Prompts of more words are long, of fewer than a third of it short: the strata that systems are balanced over."""
ASPECTS: Mapping[str, tuple[str, ...]] = {
    aspect: tuple(aspect_words)
    for aspect, aspect_words in tomllib.loads(files(__package__).joinpath("aspects.toml").read_text("utf-8")).items()
}


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts by id, in order."""

    prompts: Mapping[str, str]
    sources: Mapping[str, str]
    """Where a prompt is from, where that is known."""
    intents: Mapping[str, str] = field(default_factory=dict)
    """What a prompt is meant to convey, where that is known."""


_IDS = ("prompt_id", "id", "ID")
_TEXTS = ("text", "prompt", "prompts", "caption")
_SOURCES = ("source", "category", "dataset")


def read_prompts(source: Path) -> PromptSet:
    """The prompts of a study, of a text file with one per line (``id<tab>text`` too), or of a table."""
    if is_study(source) or source.name == STUDY_FILE:
        return _of_study(load_study(source))
    if not source.is_file():
        raise InputError(f"There are no prompts in {source}.", "Give a study folder, a text file or a table.")
    if source.suffix.lower() in LINES:
        return _of_lines(source)
    table = read_table(source)
    text, name, of = (_first(columns, table) for columns in (_TEXTS, _IDS, _SOURCES))
    if text is None:
        need(table, ["prompt"], str(source))
    table = table.filter(pl.col(str(text)).cast(pl.String).str.strip_chars().str.len_chars() > 0)
    table = table.with_columns(pl.all().cast(pl.String))
    names = _numbered(table.height) if name is None else table[name].fill_null("").to_list()
    sources = {} if of is None else dict(zip(names, table[of].fill_null("").to_list(), strict=True))
    return _distinct(names, table[str(text)].to_list(), sources, source)


def _first(names: Sequence[str], table: pl.DataFrame) -> str | None:
    return next((name for name in names if name in table.columns), None)


def _of_lines(source: Path) -> PromptSet:
    """A prompt per line, with its id before a tab where every line has one."""
    lines = [line.strip() for _, line in numbered_lines(source)]
    parts = [line.partition("\t") for line in lines]
    if all(tab for _, tab, _ in parts):
        return _distinct([name.strip() for name, _, _ in parts], [text for _, _, text in parts], {}, source)
    return _distinct(_numbered(len(lines)), lines, {}, source)


def _numbered(count: int) -> list[str]:
    return [f"p{number}" for number in range(1, count + 1)]


def _distinct(names: Sequence[str], texts: Sequence[str], sources: Mapping[str, str], where: Path) -> PromptSet:
    doubled = [name for name, count in Counter(names).items() if count > 1 or not name]
    if doubled:
        raise InputError(f"{where}: two prompts have the id '{doubled[0]}'.", "Give every prompt an id of its own.")
    return PromptSet(dict(zip(names, texts, strict=True)), sources)


def _of_study(study: Study) -> PromptSet:
    """Every text that the study's prompts give, once for each intent where they mention it."""
    out: dict[str, str] = {}
    intents: dict[str, str] = {}
    for prompt in study.prompts:
        for intent in study.intents if "{intent}" in prompt.text else (None,):
            name = prompt.id if intent is None else f"{prompt.id}_{intent.id}"
            out[name] = prompt.text if intent is None else fill(prompt.text, {"intent": intent.id})
            if intent is not None:
                intents[name] = intent.id
    return PromptSet(out, {}, intents)


def read_aspects(path: Path) -> dict[str, tuple[str, ...]]:
    """Lists of words by aspect, from a YAML file such as ``emotion: [happy, sad]``."""
    fix = "Write lists of words by aspect, such as 'emotion: [happy, sad]'."
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}.", fix) from None
    if not isinstance(content, dict) or not all(
        isinstance(aspect_words, list) and aspect_words for aspect_words in content.values()
    ):
        raise InputError(f"{path} holds no lists of words by aspect.", fix)
    return {str(name): tuple(str(word).lower() for word in aspect_words) for name, aspect_words in content.items()}


@dataclass(frozen=True, kw_only=True)
class PromptCoverage:
    """What a set of prompts covers."""

    lengths: Mapping[str, int]
    """Words of every prompt, by id."""
    diversity: Diversity
    aspects: Mapping[str, int]
    """How many prompts mention each aspect."""
    without_aspect: tuple[str, ...]
    """Prompts in which no aspect was recognised."""
    duplicates: tuple[tuple[str, ...], ...]
    """Groups of prompts that are the same but for case and punctuation."""
    near_duplicates: tuple[tuple[str, str, float], ...]
    """Pairs that share most of their words, and the share; the closest first."""
    sources: Mapping[str, int]

    @cached_property
    def quantiles(self) -> tuple[float, ...]:
        return tuple(np.quantile(list(self.lengths.values()), (0, 0.25, 0.5, 0.75, 1)).tolist())


def coverage(prompts: PromptSet, aspects: Mapping[str, Iterable[str]] = ASPECTS, near: float = NEAR) -> PromptCoverage:
    """What the prompts cover, which mention no aspect, and which are the same or nearly so."""
    require(bool(prompts.prompts), "There are no prompts.", "Give a file with a prompt per line or row.")
    tokens = {name: tuple(words(text)) for name, text in prompts.prompts.items()}
    sets = {name: frozenset(prompt_words) for name, prompt_words in tokens.items()}
    mentioning = {aspect: _mentioning(sets, frozenset(aspect_words)) for aspect, aspect_words in aspects.items()}
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, prompt_words in tokens.items():
        groups.setdefault(prompt_words, []).append(name)
    return PromptCoverage(
        lengths={name: len(prompt_words) for name, prompt_words in tokens.items()},
        diversity=diversity(list(prompts.prompts.values())),
        aspects={aspect: len(names) for aspect, names in mentioning.items()},
        without_aspect=tuple(name for name in tokens if not any(name in names for names in mentioning.values())),
        duplicates=tuple(tuple(group) for group in groups.values() if len(group) > 1),
        near_duplicates=tuple(_near([group[0] for group in groups.values()], sets, near)),
        sources=dict(Counter(prompts.sources.values())),
    )


def _mentioning(prompts: Mapping[str, frozenset[str]], aspect: frozenset[str]) -> set[str]:
    """The prompts that hold a word of an aspect."""
    return {name for name, prompt_words in prompts.items() if prompt_words & aspect}


def _near(names: Sequence[str], sets: Mapping[str, frozenset[str]], near: float) -> list[tuple[str, str, float]]:
    """Pairs whose words overlap enough, found through the words they share rather than by comparing every pair.

    Two sets of Jaccard similarity s or more share a word among the first n - ceil(s n) + 1 of each, where words are sorted by how
    rare they are (prefix filtering; Chaudhuri, Ganti and Kaushik 2006).
    """
    often = Counter(word for name in names for word in sets[name])
    by_word: dict[str, list[str]] = {}
    out: list[tuple[str, str, float]] = []
    for name in names:
        word_set = sets[name]
        rare = sorted(word_set, key=lambda word: (often[word], word))
        prefix = rare[: len(rare) - int(np.ceil(near * len(rare) - 1e-9)) + 1]
        for earlier in dict.fromkeys(candidate for word in prefix for candidate in by_word.get(word, ())):
            shared = len(word_set & sets[earlier]) / len(word_set | sets[earlier])
            if shared >= near - 1e-9:
                out.append((earlier, name, shared))
        for word in prefix:
            by_word.setdefault(word, []).append(name)
    return sorted(out, key=lambda pair: (-pair[2], pair[:2]))


def dealt(prompts: PromptSet, systems: Sequence[str], per_system: int | None = None, seed: int = 0) -> pl.DataFrame:
    """Which system renders which prompt: ``stimulus, system, prompt, text``, a row per stimulus; ``intent`` where it is known.

    By default every system renders every prompt. With ``per_system`` each gets that many, so that every prompt is rendered by as
    many systems as the others (or one more) and every system gets its share of short, middling and long prompts of each source.
    """
    names = list(prompts.prompts)
    require(bool(names) and bool(systems), "There is nothing to deal.", "Give prompts, and systems by name.")
    if len(set(systems)) < len(systems):
        raise InputError("A system is named twice.", "Name every system once.")
    size = len(names) if per_system is None else per_system
    if not 1 <= size <= len(names):
        raise InputError(
            f"A system cannot get {size} of {len(names)} prompts.", f"Ask for 1 to {len(names)}, or give more prompts."
        )
    rng = stream(seed, "prompts")
    strata: dict[tuple[str, int], list[str]] = {}
    for name in (names[index] for index in rng.permutation(len(names))):
        length = len(words(prompts.prompts[name]))
        strata.setdefault((prompts.sources.get(name, ""), (3 * length > _LONG) + (length > _LONG)), []).append(name)
    # Every stratum is strewn evenly over the order, so any run of neighbours has its share of each; systems take runs in turn,
    # around and around, so no prompt is taken twice more often than another.
    position_of = {
        name: (index + 0.5) / len(stratum) for stratum in strata.values() for index, name in enumerate(stratum)
    }
    order = sorted(names, key=lambda name: position_of[name])
    assignments = (
        (system, order[(turn * size + offset) % len(order)])
        for turn, system in enumerate(systems)
        for offset in range(size)
    )
    rows = [(f"{system}_{name}", system, name, prompts.prompts[name]) for system, name in assignments]
    table = pl.DataFrame(rows, schema=["stimulus", "system", "prompt", "text"], orient="row")
    if not prompts.intents:
        return table
    intents = [prompts.intents.get(name) for name in table["prompt"]]
    return table.with_columns(pl.Series("intent", intents, pl.String))
