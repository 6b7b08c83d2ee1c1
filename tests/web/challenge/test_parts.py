"""The hidden labels in two parts: a secret draw, alike, and nothing torn apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, SplitOptions
from heartfelt.labels.benchmark import BENCHMARK_COURSES, BENCHMARK_ITEMS, CHOICES
from heartfelt.study import parse_study
from heartfelt.tables import LEDGER, STIMULI
from heartfelt.web.challenge.parts import FEWEST_GROUPS, _draw_public, _features, _groups, _joined, divided

STUDY = parse_study(
    "name: s\nscales: {nine: {type: points, points: 9}}\nquestions:\n  - {id: q, text: Q, scale: nine}\n"
    "  - {id: r, text: R, scale: nine}\n"
)


def hidden(stimuli: int = 80, per_prompt: int = 4, pairs: list[tuple[str, str]] | None = None) -> Benchmark:
    """Two labels for each of so many stimuli, of five systems and some prompts."""
    rng = np.random.default_rng(3)
    names = [f"s{at:03}" for at in range(stimuli)]
    table = pl.DataFrame(
        {
            "stimulus": names,
            "system": [f"m{at % 5}" for at in range(stimuli)],
            "prompt": [f"p{at // per_prompt}" for at in range(stimuli)],
        }
    )
    rows = [
        (name, q, float(rng.integers(1, 10)), "test" if at % 4 else "train")
        for at, name in enumerate(names)
        for q in "qr"
    ]
    items = pl.DataFrame(rows, schema=["stimulus", "question", "label", "split"], orient="row").with_columns(
        pl.lit(0.5).alias("standard_error"), pl.lit(5, pl.Int64).alias("n"), pl.col("stimulus").alias("group"),
        *(pl.lit(None, pl.Float64).alias(name) for name in ("low", "high", "share")),
        pl.lit(None, pl.String).alias("answer"),
        pl.lit("mean").alias("method"),
    )  # fmt: skip
    choices = pl.DataFrame(
        [("q", "1", a, b, 1.0, None, "test") for a, b in pairs or []],
        schema={column.name: column.dtype for column in CHOICES.columns},
        orient="row",
    )
    return Benchmark(
        study=STUDY,
        items=BENCHMARK_ITEMS.check(items, "items"),
        stimuli=STIMULI.check(table, "stimuli"),
        ledger=LEDGER.empty(),
        split=SplitOptions(shares={"train": 0.25, "test": 0.75}),
        snapshot_hash="",
        choices=choices,
    )


def test_both_parts_are_alike_and_nothing_is_lost_or_shared() -> None:
    made = divided(hidden(), "test", 0.5, b"key")
    first, second = made.public.items, made.final.items
    assert first.height + second.height == hidden().part("test").height
    assert set(first["stimulus"]).isdisjoint(second["stimulus"])
    assert set(first["split"]) == {"test"}
    # Stimuli of a prompt stay together: 20 prompts in all.
    prompt = dict(hidden().stimuli.select("stimulus", "prompt").iter_rows())
    assert {prompt[s] for s in first["stimulus"]}.isdisjoint({prompt[s] for s in second["stimulus"]})
    assert made.kept_together == "stimuli of one prompt"
    assert made.in_neither == 0
    for question in "qr":
        counts = [part.filter(question=question).height for part in (first, second)]
        assert abs(counts[0] - counts[1]) <= 6
    # Means of labels differ less than by chance, which would be 0.67 here.
    apart = []
    for key in range(8):
        drawn = divided(hidden(), "test", 0.5, bytes([key]))
        means = [part.items.filter(question="q")["label"].to_numpy().mean() for part in (drawn.public, drawn.final)]
        apart.append(means[0] - means[1])
    assert np.sqrt(np.mean(np.square(apart))) < 0.45
    # The labels of all parts, where no part is named.
    everything = divided(hidden(), None, 0.5, b"key")
    assert everything.public.items.height + everything.final.items.height == hidden().items.height


def test_the_key_decides_and_the_order_of_rows_does_not() -> None:
    def public(key: bytes, source: Benchmark | None = None) -> set[str]:
        return set(divided(source or hidden(), "test", 0.5, key).public.items["stimulus"])

    base = hidden()
    shuffled = Benchmark(
        study=base.study,
        items=base.items.sample(fraction=1, shuffle=True, seed=1),
        stimuli=base.stimuli.reverse(),
        ledger=base.ledger,
        split=base.split,
        snapshot_hash="",
    )
    assert public(b"one") == public(b"one", shuffled)
    drawn = [public(bytes([at])) for at in range(12)]
    assert len({frozenset(each) for each in drawn}) == 12
    # Nobody without the key knows where a stimulus is: each is public in about half of the draws.
    share = np.mean([[name in each for name in base.part("test")["stimulus"].unique()] for each in drawn], axis=0)
    assert 0 < share.min() <= share.max() < 1
    assert share.mean() == pytest.approx(0.5, abs=0.03)


def test_the_share_is_met_and_must_lie_between_0_and_1() -> None:
    whole = hidden().part("test").height
    for share in (0.2, 0.5, 0.8):
        assert divided(hidden(), "test", share, b"k").public.items.height == pytest.approx(share * whole, abs=6)
    for share in (0.0, 1.0, -0.5):
        with pytest.raises(InputError, match="between 0 and 1"):
            divided(hidden(), "test", share, b"k")
    with pytest.raises(InputError, match="fewer than two labels"):
        divided(hidden(4, 1), "test", 0.05, b"k")


def test_what_was_compared_stays_together_where_enough_is_left_to_divide() -> None:
    names = [f"s{at:03}" for at in range(80)]
    chains = [(names[at], names[at + 1]) for at in range(0, 80, 2)]
    made = divided(hidden(pairs=chains), "test", 0.5, b"key")
    assert made.in_neither == 0
    assert made.public.choices.height + made.final.choices.height == 40
    assert made.kept_together == "stimuli of one prompt and stimuli that were compared"
    # Everything compared with everything: prompts are kept together, and comparisons across the parts are in neither.
    everything = [(a, b) for at, a in enumerate(names) for b in names[:at]]
    made = divided(hidden(pairs=everything), "test", 0.5, b"key")
    assert made.kept_together == "stimuli of one prompt"
    assert made.in_neither == len(everything) - made.public.choices.height - made.final.choices.height > 0
    for part in (made.public, made.final):
        inside = {*part.choices["first"], *part.choices["second"]}
        other = made.final if part is made.public else made.public
        assert inside.isdisjoint({*other.choices["first"], *other.choices["second"]})
    # A few large prompts: only the items of a stimulus are kept together.
    assert divided(hidden(80, 40), "test", 0.5, b"key").kept_together == "the items of a stimulus"
    groups, words = _groups(hidden(FEWEST_GROUPS * 3, 3), [f"s{at:03}" for at in range(FEWEST_GROUPS * 3)])
    assert (len(groups), words) == (FEWEST_GROUPS, "stimuli of one prompt")
    groups, words = _groups(hidden(21, 3), [f"s{at:03}" for at in range(21)])
    assert (len(groups), words) == (21, "the items of a stimulus")


def test_linked_names_are_one_group() -> None:
    assert _joined("abcdef", [("a", "c"), ("c", "f"), ("b", "e")]) == [["a", "c", "f"], ["b", "e"], ["d"]]


def test_labels_are_balanced_by_thirds_and_few_values_one_by_one() -> None:
    features = _features(hidden())
    assert features["s001"]["item q"] == 1
    labels = {name for counts in features.values() for name in counts if name.startswith("label q")}
    assert len(labels) == 3
    halves = _draw_public([[name] for name in features], features, 0.5, b"k")
    for label in labels:
        inside = sum(features[name][label] for name in halves)
        assert abs(inside - sum(counts[label] for counts in features.values()) / 2) <= 3


def test_groups_that_nothing_tells_apart_are_drawn_by_coins() -> None:
    names = [[f"s{at}"] for at in range(200)]
    for share in (0.3, 0.5, 0.7):
        assert len(_draw_public(names, {}, share, b"k")) == pytest.approx(200 * share, abs=25)


def test_a_group_of_a_quarter_of_the_items_is_kept_together_and_a_larger_one_is_not() -> None:
    names = [f"s{at:03}" for at in range(16)]
    for size, words in ((4, "stimuli that were compared"), (5, "the items of a stimulus")):
        links = [(names[at], names[at + 1]) for at in range(size - 1)]
        assert _groups(hidden(16, 1, links), names)[1] == words


def test_courses_are_divided_too() -> None:
    rows = [{"stimulus": f"s{at:03}", "question": "q", "split": "test", "group": f"s{at:03}"} for at in range(40)]
    schema = {column.name: column.dtype for column in BENCHMARK_COURSES.columns}
    courses = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
    made = divided(replace(hidden(), courses=courses), "test", 0.5, b"key")
    inside = [set(part.courses["stimulus"]) for part in (made.public, made.final)]
    assert inside[0].isdisjoint(inside[1])
    assert len(inside[0] | inside[1]) == 40
    assert min(map(len, inside)) >= 12


def labelled(labels: list[float], **facts: list[str | None]) -> Benchmark:
    """A stimulus for each label, with nothing in common but what ``facts`` say."""
    names = [f"s{at:03}" for at in range(len(labels))]
    base = hidden(len(labels), 1)
    items = base.items.filter(question="q").with_columns(
        pl.lit("test").alias("split"), pl.Series("label", labels), pl.Series("stimulus", names)
    )
    stimuli = base.stimuli.drop("system", "prompt").with_columns(
        pl.Series(name, values) for name, values in facts.items()
    )
    return replace(base, items=items, stimuli=stimuli)


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_every_label_system_and_intent_has_its_share_in_the_public_part(share: float) -> None:
    rng = np.random.default_rng(1)
    labels = [float(at % 6) for at in range(120)]
    systems = [f"m{at}" for at in rng.integers(0, 3, 120)]
    # Four stimuli of a rare intent: two of them, or one, whatever the key.
    intents = ["rare" if at % 30 == 7 else "usual" for at in range(120)]
    made = labelled(labels, system=list(systems), intent=list(intents))
    for key in range(6):
        public = divided(made, "test", share, bytes([key])).public.items
        names = [int(name[1:]) for name in public["stimulus"]]
        assert abs(len(names) - 120 * share) <= 3
        assert sum(intents[at] == "rare" for at in names) == 4 * share
        counted = Counter(labels[at] for at in names)
        assert all(abs(counted[label] - 20 * share) <= 1.5 for label in range(6)), counted
        for system in set(systems):
            assert abs(sum(systems[at] == system for at in names) - systems.count(system) * share) <= 2


def test_up_to_six_labels_are_balanced_one_by_one_and_more_by_thirds() -> None:
    def levels(labels: list[float]) -> list[int]:
        counted = Counter[str]()
        for counts in _features(labelled(labels)).values():
            counted.update(name for name in counts.elements() if name.startswith("label"))
        return sorted(counted.values())

    assert levels([float(at % 6) for at in range(18)]) == [3] * 6
    assert levels([float(at) for at in range(12)]) == [4, 4, 4]
    assert levels([float(at % 7) for at in range(21)]) == [6, 6, 9]


def test_comparisons_are_balanced_and_those_of_other_parts_are_in_no_part() -> None:
    names = [f"s{at:03}" for at in range(80)]
    chains = [(names[at], names[at + 1]) for at in range(0, 80, 2)]
    whole = hidden(pairs=chains)
    others = whole.choices.with_columns(pl.lit("train").alias("split"))
    only = replace(whole, items=whole.items.clear(), choices=pl.concat([whole.choices, others]))
    for key in range(6):
        made = divided(only, "test", 0.25, bytes([key]))
        assert set(made.public.choices["split"]) == set(made.final.choices["split"]) == {"test"}
        assert abs(made.public.choices.height - 10) <= 1
        assert made.final.choices.height == 40 - made.public.choices.height


def test_two_labels_in_a_part_are_enough_and_one_is_not() -> None:
    made = divided(labelled([1.0, 2.0] * 4), "test", 0.25, b"k")
    assert (made.public.items.height, made.final.items.height) == (2, 6)
    for labels, share, words in (([1.0, 2.0] * 2, 0.25, "public"), ([1.0, 2.0] * 2, 0.75, "final")):
        with pytest.raises(InputError, match=f"The {words} part would have fewer than two labels"):
            divided(labelled(labels), "test", share, b"k")


def test_two_stimuli_of_a_prompt_stay_together_and_those_without_a_prompt_do_not() -> None:
    prompts = [f"p{at // 2}" if at < 40 else None for at in range(80)]
    made = divided(labelled([float(at % 9) for at in range(80)], prompt=list(prompts)), "test", 0.5, b"k")
    assert made.kept_together == "stimuli of one prompt"
    public = {int(name[1:]) for name in made.public.items["stimulus"]}
    assert all((at in public) == (at + 1 in public) for at in range(0, 40, 2))
    assert 12 <= sum(at in public for at in range(40, 80)) <= 28
