"""Sets: the stimuli that one trial presents together, each with a role.

A study without ``sets`` presents one stimulus per trial. With them, the type says what raters do with a set, and the
rule says where sets come from:

| rule | a set is |
|---|---|
| by-prompt | stimuli of different systems for the same prompt: all of them, or two where the type is about two |
| across-systems | two stimuli of different systems that share the intent |
| within-system | two stimuli of the same system |
| blocks | ``size`` stimuli: all appear equally often, and every two of them about equally often |
| table | what a file lists: ``set, stimulus`` and, if roles matter, ``role`` |

``by`` names other columns that the members of a set share. Roles: a ``member`` is judged; a ``reference`` is named to
the rater and not judged; a ``hidden-reference`` is the reference again, judged without its name; an ``anchor`` is judged
and poor on purpose. Which member is presented where is drawn for every rater.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from heartfelt.errors import require
from heartfelt.streams import stream
from heartfelt.study.model import ExtendedPart, Id, Part
from heartfelt.tables import need_columns

SetType: TypeAlias = Literal["pair", "ab", "abx", "reference", "mushra", "ranking", "best-worst"]
Role: TypeAlias = Literal["member", "reference", "hidden-reference", "anchor"]
Member: TypeAlias = tuple[str, Role]
SIZES: Mapping[str, tuple[int, int]] = {
    "pair": (2, 2),
    "ab": (2, 2),
    "abx": (2, 2),
    "reference": (2, 2),
    "mushra": (2, 15),
    "ranking": (2, 20),
    "best-worst": (3, 20),
}
"""The fewest and the most stimuli of a set of each type, the hidden reference not counted."""
_LISTED: Mapping[str, Role] = {"member": "member", "reference": "reference", "anchor": "anchor"}
"""The roles that a table of sets may give."""
_BY = {"by-prompt": ["prompt"], "across-systems": ["intent"], "within-system": [], "blocks": []}


class Sets(ExtendedPart, Part):
    """Which stimuli are presented together, and what raters do with them."""

    later_keys: ClassVar[tuple[str, ...]] = ("reference_first", "hidden_reference")
    type: SetType = Field(description="what raters do with the members of a set")
    rule: Literal["by-prompt", "across-systems", "within-system", "blocks", "table"] = Field(
        default="by-prompt", description="where sets come from"
    )
    by: list[Id] | None = Field(
        default=None, description="columns of the manifest that the members of a set share, in place of the rule's own"
    )
    size: int | None = Field(default=None, ge=2, le=20, description="members of a set; needed for blocks")
    rounds: int = Field(default=3, ge=1, le=1000, description="blocks each stimulus appears in")
    per_stimulus: int | None = Field(
        default=None,
        ge=1,
        description="pairs each stimulus appears in, chosen so that they connect all; every pair if left out",
    )
    reference: Id | None = Field(
        default=None, description="the system whose stimulus is the reference; with pairs, only those with it are kept"
    )
    reference_first: bool = Field(
        default=False,
        description="whether the reference system's stimulus always comes first (left); drawn if not, but for a"
        " reference that is named to the rater, which always does",
    )
    hidden_reference: bool = Field(
        default=False, description="with type: reference, whether each reference is also judged against itself"
    )
    anchors: list[Id] = Field(default=[], description="systems that are poor on purpose (MUSHRA)")
    file: str | None = Field(default=None, description="CSV or Parquet of (set, stimulus, role) for rule: table")

    @model_validator(mode="after")
    def _possible(self) -> Sets:
        low, high = SIZES[self.type]
        limits = f"{low}" if low == high else f"{low} to {high}"
        has_reference, is_table, is_pair = self.reference is not None, self.rule == "table", high == 2
        problems = (
            (
                self.type in {"reference", "mushra"} and not has_reference and not is_table,
                f"a set of type '{self.type}' needs a reference. Name the system that is: 'reference: SYSTEM'",
            ),
            (bool(self.anchors) and self.type != "mushra", "only sets of type 'mushra' have anchors"),
            (
                self.reference_first and not has_reference,
                "'reference_first' needs a reference. Name the system that is: 'reference: SYSTEM'",
            ),
            (
                self.hidden_reference and self.type != "reference",
                "'hidden_reference' is for sets of type 'reference'. MUSHRA sets have one without asking",
            ),
            (is_table != (self.file is not None), "'rule: table' and 'file' belong together. Give both, or neither"),
            (
                self.rule == "blocks" and not is_pair and self.size is None,
                "'rule: blocks' needs 'size': how many stimuli a block has",
            ),
            (
                self.size is not None and not low <= self.size <= high,
                f"a set of type '{self.type}' has {limits} stimuli",
            ),
            (
                self.rule in {"across-systems", "within-system"} and not is_pair,
                f"'rule: {self.rule}' makes pairs, and type '{self.type}' takes larger sets. Use by-prompt or blocks",
            ),
            (self.per_stimulus is not None and not is_pair, "'per_stimulus' is for pairs. Use 'rounds' for blocks"),
        )
        for impossible, problem in problems:
            if impossible:
                raise ValueError(problem)
        return self

    @property
    def judged(self) -> int | None:
        """How many members raters judge, where that is fixed by the type; an ABX trial is about its X."""
        return {"pair": 2, "ab": 2, "abx": 2, "reference": 1}.get(self.type)


@dataclass(frozen=True, slots=True)
class StimulusSet:
    """One set: its id and its members with their roles."""

    id: str
    members: tuple[Member, ...]

    @property
    def stimuli(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(stimulus for stimulus, _ in self.members))


@dataclass(frozen=True, slots=True)
class MadeSets:
    """The sets of a study, and the stimuli that are in none, with the reason."""

    sets: tuple[StimulusSet, ...]
    left_out: Mapping[str, str]


def make_sets(
    sets: Sets, stimuli: Sequence[Mapping[str, object]], rows: Sequence[Mapping[str, object]] = (), seed: int = 0
) -> MadeSets:
    """The sets of a manifest (one mapping per stimulus); ``rows`` is the table of ``rule: table``."""
    stimulus_sets = list(_table(sets, stimuli, rows) if sets.rule == "table" else _by_rule(sets, stimuli, seed))
    if sets.hidden_reference:
        stimulus_sets += _hidden_references(stimulus_sets)
    require(
        bool(stimulus_sets),
        f"study.yaml, sets: rule '{sets.rule}' makes no set of type '{sets.type}' from {len(stimuli)} stimuli.",
        "Check the columns that the members of a set share ('by'), or list the sets in a table.",
    )
    used = {name for stimulus_set in stimulus_sets for name in stimulus_set.stimuli}
    names = [str(row["stimulus"]) for row in stimuli]
    left_out = {name: f"rule '{sets.rule}' puts it in no set" for name in names if name not in used}
    return MadeSets(tuple(stimulus_sets), left_out)


def _by_rule(sets: Sets, stimuli: Sequence[Mapping[str, object]], seed: int) -> Iterator[StimulusSet]:
    columns = list(_BY[sets.rule] if sets.by is None else sets.by)
    if sets.rule == "within-system":
        columns = ["system", *columns]
    need_columns(stimuli[0] if stimuli else (), columns, "study.yaml, sets: the manifest")
    groups: dict[tuple[object, ...], list[Mapping[str, object]]] = defaultdict(list)
    for row in stimuli:
        key = tuple(row[column] for column in columns)
        if None not in key:
            groups[key].append(row)
    for key, rows in groups.items():
        label = "/".join(str(part) for part in key) or "block"
        if SIZES[sets.type][1] == 2:
            yield from _pairs(sets, rows, seed, label)
        elif sets.rule == "by-prompt":
            yield from _one_of_each_system(sets, rows, seed, label)
        else:
            members = [(str(row["stimulus"]), _role(sets, row.get("system"))) for row in rows]
            yield from _blocks(sets, members, seed, label)


def _role(sets: Sets, system: object) -> Role:
    if system is not None and system == sets.reference:
        return "reference"
    return "anchor" if system in sets.anchors else "member"


def _assembled(sets: Sets, name: str, members: Sequence[Member]) -> StimulusSet:
    """A set with its hidden reference, refused where its members do not suit its type."""
    low, high = SIZES[sets.type]
    stimuli = [stimulus for stimulus, _ in members]
    require(
        len(set(stimuli)) == len(stimuli),
        f"The set '{name}' holds a stimulus twice.",
        "A stimulus is not compared with itself: list it once.",
    )
    require(
        low <= len(members) <= high,
        f"The set '{name}' has {len(members)} {'stimulus' if len(members) == 1 else 'stimuli'}.",
        f"A set of type '{sets.type}' has {low if low == high else f'{low} to {high}'}; 'size' limits its members.",
    )
    references = [stimulus for stimulus, role in members if role == "reference"]
    if sets.type in {"reference", "mushra"}:
        require(
            len(references) == 1,
            f"The set '{name}' has {'no' if not references else 'more than one'} reference.",
            "Every set needs one stimulus of the reference system, or with the role 'reference'.",
        )
    else:
        members = [(stimulus, "member") for stimulus in stimuli]
    if sets.type == "mushra":
        members = [*members, (references[0], "hidden-reference")]
    return StimulusSet(name, tuple(members))


def _hidden_references(sets: Iterable[StimulusSet]) -> list[StimulusSet]:
    """A set for every reference, in which it is judged against itself."""
    references = (stimulus for stimulus_set in sets for stimulus, role in stimulus_set.members if role == "reference")
    return [
        StimulusSet(f"{stimulus}|{stimulus}", ((stimulus, "reference"), (stimulus, "hidden-reference")))
        for stimulus in dict.fromkeys(references)
    ]


# --- pairs ------------------------------------------------------------------------------------------------------------


def _pairs(sets: Sets, rows: Sequence[Mapping[str, object]], seed: int, label: str) -> Iterator[StimulusSet]:
    """All pairs of a group that the rule allows, or as many per stimulus as asked, in a connected graph."""
    systems = {str(row["stimulus"]): row.get("system") for row in rows}
    across = sets.rule in {"by-prompt", "across-systems"}

    def allowed(first: str, second: str) -> bool:
        if sets.reference is not None:
            return (systems[first] == sets.reference) != (systems[second] == sets.reference)
        return not across or systems[first] != systems[second]

    chosen: Iterable[tuple[str, str]]
    if sets.per_stimulus is None:
        chosen = (pair for pair in itertools.combinations(systems, 2) if allowed(*pair))
    else:
        names = list(systems)
        order = [names[index] for index in stream(seed, "sets", label).permutation(len(names))]
        chosen = _spread(order, sets.per_stimulus, allowed)
    for first, second in chosen:
        members: list[Member] = [(name, _role(sets, systems[name])) for name in (first, second)]
        yield _assembled(sets, f"{first}|{second}", members)


def _spread(order: Sequence[str], most: int, allowed: Callable[[str, str], bool]) -> Iterable[tuple[str, str]]:
    """Pairs of neighbours in a circle, then of those two apart, and so on, until everyone has enough.

    A circle is connected. Where pairs that are not allowed cut it or leave somebody short, pairs with whoever has the
    fewest close the gaps.
    """
    degree = Counter(dict.fromkeys(order, 0))
    pairs: dict[frozenset[str], tuple[str, str]] = {}

    def add(first: str, second: str) -> None:
        pairs[frozenset((first, second))] = (first, second)
        degree.update((first, second))

    for ring in _rings(order):
        for first, second in ring:
            if max(degree[first], degree[second]) < most and allowed(first, second):
                add(first, second)
        if min(degree.values()) >= most:
            break
    for first in order:
        new = [name for name in order if allowed(first, name) and frozenset((first, name)) not in pairs]
        for second in sorted((name for name in new if name != first), key=degree.__getitem__):
            if degree[first] >= most:
                break
            add(first, second)
    return [*pairs.values(), *_bridges(order, pairs.values(), allowed)]


def _rings(order: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """Every two of a circle: neighbours, then those two apart, and so on."""
    size = len(order)
    for offset in range(1, size // 2 + 1):
        # Half-way round the circle every pair would come twice.
        starts = range(size if 2 * offset != size else offset)
        yield [(order[index], order[(index + offset) % size]) for index in starts]


def _bridges(
    order: Sequence[str], pairs: Iterable[tuple[str, str]], allowed: Callable[[str, str], bool]
) -> Iterator[tuple[str, str]]:
    """Pairs that connect what is apart with the first of all."""
    parts = {name: {name} for name in order}

    def join(first: str, second: str) -> None:
        joined = parts[first] | parts[second]
        parts.update(dict.fromkeys(joined, joined))

    for first, second in pairs:
        join(first, second)
    for first, second in itertools.product(order[:1], order[1:]):
        if second in parts[first]:
            continue
        second_side, first_side = ([name for name in order if name in parts[side]] for side in (second, first))
        bridge = next((pair for pair in itertools.product(second_side, first_side) if allowed(*pair)), None)
        if bridge is not None:
            join(*bridge)
            yield bridge


# --- larger sets ------------------------------------------------------------------------------------------------------


def _one_of_each_system(
    sets: Sets, rows: Sequence[Mapping[str, object]], seed: int, label: str
) -> Iterator[StimulusSet]:
    """Sets with one stimulus of every system: the first of each, then the second of each, and so on."""
    by_system: dict[object, list[str]] = defaultdict(list)
    for row in rows:
        by_system[row.get("system")].append(str(row["stimulus"]))
    most = max((len(names) for system, names in by_system.items() if _role(sets, system) == "member"), default=0)
    for number in range(most):
        # A reference or an anchor of which there is only one serves every set of its prompt.
        members = [
            (names[min(number, len(names) - 1)], _role(sets, system))
            for system, names in by_system.items()
            if number < len(names) or _role(sets, system) != "member"
        ]
        name = label if number == 0 else f"{label}#{number + 1}"
        if len(members) < SIZES[sets.type][0]:
            continue
        if sets.size is not None and len(members) > sets.size:
            yield from _blocks(sets, members, seed, name)
        else:
            yield _assembled(sets, name, members)


def _blocks(sets: Sets, members: Sequence[Member], seed: int, label: str) -> Iterator[StimulusSet]:
    """Blocks in which every member appears ``rounds`` times, next to those it has met least so far.

    References and anchors are in every block.
    """
    fixed = [member for member in members if member[1] != "member"]
    names = [name for name, role in members if role == "member"]
    size = (sets.size or len(names)) - len(fixed)
    require(
        0 < size <= len(names),
        f"A block of {sets.size} needs as many stimuli; '{label}' has {len(members)}.",
        "Make the blocks smaller ('size'), or add stimuli.",
    )
    rng = stream(seed, "sets", label)
    met: Counter[frozenset[str]] = Counter()
    used: Counter[str] = Counter()
    for count in itertools.count(1):
        if min((used[name] for name in names), default=sets.rounds) >= sets.rounds:
            return
        tie = dict(zip(names, rng.permutation(len(names)).tolist(), strict=True))
        block: list[str] = []

        def preference(name: str, block: list[str] = block, tie: dict[str, int] = tie) -> tuple[int, int, int]:
            return used[name], sum(met[frozenset((name, member))] for member in block), tie[name]

        while len(block) < size:
            block.append(min((name for name in names if name not in block), key=preference))
        used.update(block)
        met.update(frozenset(pair) for pair in itertools.combinations(block, 2))
        yield _assembled(sets, f"{label}-{count}", [*((name, "member") for name in block), *fixed])


def _table(
    sets: Sets, stimuli: Sequence[Mapping[str, object]], rows: Sequence[Mapping[str, object]]
) -> Iterator[StimulusSet]:
    systems = {str(row["stimulus"]): row.get("system") for row in stimuli}
    groups: dict[str, list[Member]] = defaultdict(list)
    for row in rows:
        name, stimulus, listed_role = str(row["set"]), str(row["stimulus"]), row.get("role")
        require(
            stimulus in systems,
            f"The set '{name}' names a stimulus '{stimulus}' that the manifest does not have.",
            "Add it to the manifest, or take it out of the set.",
        )
        require(
            not listed_role or listed_role in _LISTED,
            f"The set '{name}': '{listed_role}' is not a role.",
            f"Roles are {', '.join(_LISTED)}; the hidden reference is added automatically.",
        )
        groups[name].append((stimulus, _LISTED[str(listed_role)] if listed_role else _role(sets, systems[stimulus])))
    for name, members in groups.items():
        yield _assembled(sets, name, members)
