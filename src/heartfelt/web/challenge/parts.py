"""Hidden labels divided, once and by a secret key, into a public part that feeds the board and a final part for the last ranking.

What belongs together stays together where that leaves enough to divide: the items of a stimulus always, stimuli that were compared
with each other, and those of one prompt. In an order that the key decides, each group goes where both parts stay most alike in
their numbers of items by question and label, system and intent. Comparisons across the parts belong to neither.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark

FEWEST_GROUPS = 8
LARGEST_GROUP = 0.25
"""Prompts, and stimuli that were compared, are kept together only in groups no larger than this share of the items."""
_LEVELS = 3
"""Labels that are numbers are balanced by thirds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A benchmark's hidden labels in two parts; both hold the same stimuli, each its own labels."""

    public: Benchmark
    final: Benchmark
    kept_together: str
    """What was never divided between the parts, in words."""
    in_neither: int
    """Comparisons whose stimuli are in different parts."""


def divided(benchmark: Benchmark, part: str | None, share: float, key: bytes) -> Division:
    """Divide the labels of a part (None: all) so that about ``share`` of the items is public."""
    if not 0 < share < 1:
        raise InputError(
            f"The public share must lie between 0 and 1; got {share:g}.", "Use 0.5 for one half on the running board."
        )
    hidden = _of_part(benchmark, part)
    names = sorted(
        {*hidden.items["stimulus"], *hidden.courses["stimulus"], *hidden.choices["first"], *hidden.choices["second"]}
    )
    groups, kept_together = _groups(hidden, names)
    features = _features(hidden)
    public = _draw_public(groups, features, share, key)
    first, second = (_only(hidden, chosen) for chosen in (public, set(names) - public))
    lost = hidden.choices.height - first.choices.height - second.choices.height
    for hidden_part, words in ((first, "public"), (second, "final")):
        if hidden_part.items.height + hidden_part.choices.height < 2:
            raise InputError(
                f"The {words} part would have fewer than two labels.",
                "Hold out more stimuli, or choose another public share.",
            )
    return Division(public=first, final=second, kept_together=kept_together, in_neither=lost)


def _of_part(benchmark: Benchmark, part: str | None) -> Benchmark:
    if part is None:
        return benchmark
    inside = pl.col("split") == part
    return replace(
        benchmark,
        items=benchmark.part(part),
        choices=benchmark.choices.filter(inside),
        courses=benchmark.courses.filter(inside),
    )


def _only(hidden: Benchmark, stimuli: set[str]) -> Benchmark:
    inside = list(stimuli)
    both = pl.col("first").is_in(inside) & pl.col("second").is_in(inside)
    belongs = pl.col("stimulus").is_in(inside)
    return replace(
        hidden,
        items=hidden.items.filter(belongs),
        choices=hidden.choices.filter(both),
        courses=hidden.courses.filter(belongs),
    )


def _groups(hidden: Benchmark, names: Sequence[str]) -> tuple[list[list[str]], str]:
    """What is never divided: the coarsest grouping that leaves enough groups of no great size."""
    compared = [(a, b) for a, b in hidden.choices.select("first", "second").iter_rows()]
    prompts: list[tuple[str, str]] = []
    if "prompt" in hidden.stimuli.columns:
        prompted = hidden.stimuli.filter(pl.col("stimulus").is_in(list(names))).drop_nulls("prompt")
        for members in prompted.group_by("prompt", maintain_order=True).agg("stimulus")["stimulus"]:
            prompts += [(members[0], member) for member in members[1:]]
    with_prompts = [("stimuli of one prompt", prompts)] if prompts else []
    with_sets = [("stimuli that were compared", compared)] if compared else []
    ways = [[*with_prompts, *with_sets], with_sets, with_prompts]
    for way in ways:
        groups = _joined(names, [link for _, links in way for link in links])
        if way and len(groups) >= FEWEST_GROUPS and max(map(len, groups)) <= LARGEST_GROUP * len(names):
            return groups, " and ".join(words for words, _ in way)
    return [[name] for name in names], "the items of a stimulus"


def _joined(names: Sequence[str], links: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Names in groups, so that linked ones are in the same."""
    leader = {name: name for name in names}

    def top(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for first, second in links:
        leader[top(first)] = top(second)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(top(name), []).append(name)
    return list(groups.values())


def _features(hidden: Benchmark) -> dict[str, Counter[str]]:
    """Of each stimulus: how many items it has, by question and label, by system and by intent."""
    out: dict[str, Counter[str]] = {}
    third = ((pl.col("label").rank("min") - 1) * _LEVELS // pl.len()).over("question")
    few = pl.col("label").n_unique().over("question") <= 2 * _LEVELS
    labelled = hidden.items.with_columns(pl.when(few).then("label").otherwise(third).alias("_level"))
    for stimulus, question, label in labelled.select("stimulus", "question", "_level").iter_rows():
        out.setdefault(stimulus, Counter()).update((f"item {question}", f"label {question} {label}"))
    for side in ("first", "second"):
        for stimulus, question in hidden.choices.select(side, "question").iter_rows():
            out.setdefault(stimulus, Counter())[f"choice {question}"] += 1
    for stimulus, question in hidden.courses.select("stimulus", "question").iter_rows():
        out.setdefault(stimulus, Counter())[f"course {question}"] += 1
    facts = [name for name in ("system", "intent") if name in hidden.stimuli.columns]
    for stimulus, *values in hidden.stimuli.select("stimulus", *facts).iter_rows():
        if stimulus in out:
            out[stimulus].update(f"{name} {value}" for name, value in zip(facts, values, strict=True))
    return out


def _draw_public(
    groups: Sequence[Sequence[str]], features: Mapping[str, Counter[str]], share: float, key: bytes
) -> set[str]:

    def keyed_order(group: Sequence[str]) -> bytes:
        return hmac.digest(key, "\x1f".join(sorted(group)).encode(), "sha256")

    names = sorted({name for counts in features.values() for name in counts})
    column = {name: at for at, name in enumerate(names)}
    rows = np.zeros((len(groups), len(names)))
    order = sorted(groups, key=keyed_order)
    for row, group in zip(rows, order, strict=True):
        for stimulus in group:
            for name, count in features.get(stimulus, {}).items():
                row[column[name]] += count
    scale = 1 / np.maximum(rows.sum(axis=0), 1)
    # What the public part has beyond its share.
    balance, public = np.zeros(len(names)), set[str]()
    for row, group in zip(rows, order, strict=True):
        inside, outside = balance + (1 - share) * row, balance - share * row
        costs = float((scale * inside**2).sum()), float((scale * outside**2).sum())
        coin = int.from_bytes(keyed_order(group)[-8:], "big") / 2**64 < share
        chosen = coin if abs(costs[0] - costs[1]) <= 1e-9 * sum(costs) else costs[0] < costs[1]
        balance = inside if chosen else outside
        if chosen:
            public.update(group)
    return public
