"""Sets of stimuli and the scales they are judged on: what each rule makes, and what is refused with its reason."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pydantic import TypeAdapter

from heartfelt.errors import InputError, StudyError
from heartfelt.study import Study, parse_study, study_text
from heartfelt.study.parts.sets import MadeSets, Sets, StimulusSet, make_sets
from heartfelt.study.scales.scale import AnyScale
from heartfelt.study.scales.set_scale import LONGEST_TRACE, SetScale, Trace
from tests.cases import check_all

SCALE: TypeAdapter[AnyScale] = TypeAdapter(AnyScale)
SYSTEMS = ("A", "B", "C")


def rows(systems: Sequence[str] = SYSTEMS, prompts: int = 4, each: int = 1) -> list[dict[str, Any]]:
    """``each`` stimuli per system and prompt; prompts share two intents."""
    return [
        {
            "stimulus": f"{system}{prompt}{'abc'[number]}",
            "system": system,
            "prompt": f"p{prompt}",
            "intent": f"i{prompt % 2}",
        }
        for system in systems
        for prompt in range(prompts)
        for number in range(each)
    ]


def made(stimuli: Sequence[Mapping[str, Any]] | None = None, **keys: Any) -> MadeSets:
    return make_sets(Sets(**keys), rows() if stimuli is None else stimuli, seed=1)


def system_of(stimulus: str) -> str:
    return stimulus[0]


def connected(sets: Sequence[StimulusSet], stimuli: int) -> bool:
    groups: list[set[str]] = []
    for each in sets:
        joined = set(each.stimuli).union(*(group for group in groups if group & set(each.stimuli)))
        groups = [group for group in groups if not group & joined] + [joined]
    return len(groups) == 1 and len(groups[0]) == stimuli


# --- rules ------------------------------------------------------------------------------------------------------------


def test_all_systems_of_a_prompt_are_a_set() -> None:
    sets = made(type="ranking").sets
    assert [each.id for each in sets] == ["p0", "p1", "p2", "p3"]
    assert sets[2].members == (("A2a", "member"), ("B2a", "member"), ("C2a", "member"))


def test_a_second_stimulus_of_each_system_makes_a_second_set() -> None:
    sets = made(rows(prompts=1, each=2), type="ranking").sets
    assert [(each.id, each.stimuli) for each in sets] == [
        ("p0", ("A0a", "B0a", "C0a")),
        ("p0#2", ("A0b", "B0b", "C0b")),
    ]


def test_pairs_of_a_prompt_are_of_different_systems() -> None:
    sets = made(rows(each=2), type="pair").sets
    assert len(sets) == 4 * 3 * 2 * 2
    assert all(system_of(a) != system_of(b) and a[1] == b[1] for a, b in (each.stimuli for each in sets))


def test_pairs_across_systems_share_the_intent() -> None:
    sets = made(type="ab", rule="across-systems").sets
    assert len(sets) == 2 * (15 - 3)
    assert all(system_of(a) != system_of(b) and int(a[1]) % 2 == int(b[1]) % 2 for a, b in (s.stimuli for s in sets))


def test_pairs_within_a_system() -> None:
    sets = made(type="pair", rule="within-system").sets
    assert len(sets) == 3 * math.comb(4, 2)
    assert all(system_of(a) == system_of(b) for a, b in (each.stimuli for each in sets))
    shared = made(type="pair", rule="within-system", by=["intent"]).sets
    assert len(shared) == 3 * 2


@pytest.mark.parametrize("most", [2, 4, 6])
def test_limited_pairs_are_balanced_and_connected(most: int) -> None:
    stimuli = rows(("A", "B", "C", "D"), prompts=6)
    sets = made(stimuli, type="pair", rule="across-systems", by=[], per_stimulus=most).sets
    counts = Counter(name for each in sets for name in each.stimuli)
    assert len(counts) == 24
    assert most <= min(counts.values()) <= max(counts.values()) <= most + 1
    assert connected(sets, 24)
    assert all(system_of(a) != system_of(b) for a, b in (each.stimuli for each in sets))
    assert len({frozenset(each.stimuli) for each in sets}) == len(sets)


def test_one_pair_each_is_still_connected() -> None:
    sets = made(rows(prompts=5), type="pair", rule="blocks", per_stimulus=1).sets
    assert connected(sets, 15)


def test_the_reference_is_paired_with_everyone_else() -> None:
    sets = made(type="reference", reference="B").sets
    assert len(sets) == 4 * 2
    assert all(sorted(role for _, role in each.members) == ["member", "reference"] for each in sets)
    assert {name for each in sets for name, role in each.members if role == "reference"} == {f"B{p}a" for p in range(4)}


def test_a_mushra_set_has_its_reference_twice() -> None:
    (first, *_) = made(type="mushra", reference="A", anchors=["C"]).sets
    assert first.members == (("A0a", "reference"), ("B0a", "member"), ("C0a", "anchor"), ("A0a", "hidden-reference"))
    assert first.stimuli == ("A0a", "B0a", "C0a")


def test_one_reference_serves_every_set_of_its_prompt() -> None:
    stimuli = [row for row in rows(prompts=1, each=2) if row["stimulus"] != "A0b"]
    sets = made(stimuli, type="mushra", reference="A").sets
    assert [each.members[0] for each in sets] == [("A0a", "reference")] * 2


def test_blocks_are_balanced() -> None:
    sets = made(rows(prompts=5), type="best-worst", rule="blocks", size=4, rounds=4).sets
    counts = Counter(name for each in sets for name in each.stimuli)
    assert set(counts.values()) == {4}
    assert all(len(each.stimuli) == 4 for each in sets)
    met = Counter(frozenset(pair) for each in sets for pair in itertools.combinations(each.stimuli, 2))
    assert max(met.values()) <= 2
    assert connected(sets, 15)


def test_larger_prompts_are_cut_into_blocks_that_all_hold_the_reference() -> None:
    stimuli = rows(tuple("ABCDEFGH"), prompts=1)
    sets = made(stimuli, type="mushra", reference="A", anchors=["B"], size=5, rounds=2).sets
    counts = Counter(name for each in sets for name in each.stimuli)
    assert (counts["A0a"], counts["B0a"]) == (len(sets), len(sets))
    assert {counts[f"{system}0a"] for system in "CDEFGH"} == {2}


def test_a_table_of_ones_own() -> None:
    table = [
        {"set": "s1", "stimulus": "A0a", "role": "reference"},
        {"set": "s1", "stimulus": "B1a"},
        {"set": "s1", "stimulus": "C2a", "role": "anchor"},
    ]
    result = make_sets(Sets(type="mushra", rule="table", file="sets.csv"), rows(), table)
    assert result.sets[0].members[-1] == ("A0a", "hidden-reference")
    assert len(result.left_out) == 12 - 3
    assert result.left_out["A1a"] == "rule 'table' puts it in no set"


def test_the_seed_decides() -> None:
    keys = {"type": "pair", "rule": "blocks", "per_stimulus": 2}
    first, again = (make_sets(Sets(**keys), rows(), seed=5) for _ in range(2))
    assert first == again != make_sets(Sets(**keys), rows(), seed=6)


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ([{"set": "s", "stimulus": "A0a"}], "The set 's' has 1 stimulus."),
        ([{"set": "s", "stimulus": "A0a"}, {"set": "s", "stimulus": "A0a"}], "holds a stimulus twice"),
        ([{"set": "s", "stimulus": "A0a"}, {"set": "s", "stimulus": "nobody"}], "a stimulus 'nobody'"),
        ([{"set": "s", "stimulus": "A0a", "role": "judge"}], "'judge' is not a role"),
        ([{"set": "s", "stimulus": f"{s}0a"} for s in SYSTEMS], "has 3 stimuli"),
        ([], "makes no set"),
    ],
)
def test_tables_that_make_no_sense(table: list[dict[str, str]], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        make_sets(Sets(type="pair", rule="table", file="x.csv"), rows(), table)
    assert problem in caught.value.problem
    assert caught.value.fix


def test_a_missing_reference_is_named() -> None:
    stimuli = [row for row in rows() if row["stimulus"] != "A2a"]
    with pytest.raises(InputError, match=r"set.*'p2'.*reference"):
        made(stimuli, type="mushra", reference="A")


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no column 'intent'"):
        made([{"stimulus": "a", "system": "A"}], type="pair", rule="across-systems")


def test_blocks_larger_than_what_there_is() -> None:
    with pytest.raises(InputError, match=r"block.*13.*stimuli"):
        made(type="ranking", rule="blocks", size=13)


STUDY = """
name: t
systems: [{id: A}, {id: B}]
sets: {type: pair}
scales:
  better: {type: choice, ties: true}
  five: {type: points, points: 5}
  course: {type: trace}
questions:
  - {id: q, text: Which, scale: better}
"""


def test_a_study_with_sets_reads_back() -> None:
    study = parse_study(STUDY)
    assert parse_study(study_text(study)) == study
    assert study.hash != parse_study(STUDY.replace("type: pair", "type: ab")).hash


def test_a_study_without_sets_has_the_hash_it_had() -> None:
    plain = Study.model_validate(
        {"name": "t", "scales": {"s": {"type": "yes-no"}}, "questions": [{"id": "q", "text": "Q", "scale": "s"}]}
    )
    assert "sets" not in plain.model_dump()
    assert plain.hash.startswith("ece9d35b065fec24")


@check_all(
    ("change", "place", "problem"),
    [
        (("{type: pair}", "{type: ranking}"), "sets.type", "does not fit sets of type 'ranking'"),
        (("scale: better", "scale: five"), "sets.type", "Scales that do: choice, preference, grade, rank"),
        (("scale: better", "scale: course"), "sets.type", "does not fit"),
        (("sets: {type: pair}\n", ""), "questions.0.scale", "compares stimuli"),
        (("{type: pair}", "{type: mushra}"), "sets", "needs a reference"),
        (("{type: pair}", "{type: pair, anchors: [A]}"), "sets", "only sets of type 'mushra' have anchors"),
        (("{type: pair}", "{type: pair, reference: X}"), "sets.reference", "no system is called 'X'"),
        (("{type: pair}", "{type: pair, size: 3}"), "sets", "has 2 stimuli"),
        (("{type: pair}", "{type: pair, rule: table}"), "sets", "belong together"),
        (("{type: pair}", "{type: best-worst, rule: within-system}"), "sets", "makes pairs"),
        (("{type: pair}", "{type: pair, reference_first: true}"), "sets", "needs a reference"),
        (("{type: pair}", "{type: pair, hidden_reference: true}"), "sets", "for sets of type 'reference'"),
        (("{type: pair}", "{type: best-worst, rule: blocks}"), "sets", "needs 'size'"),
        (("{type: pair}", "{type: ranking, per_stimulus: 2}"), "sets", "is for pairs"),
        (("sets:", "stimuli: {items: items.csv}\nsets:"), "stimuli.items", "asks every question"),
        (("{type: pair}", "{type: abx}"), "sets.type", "allows ties, but X is always one of the two"),
        (("scale: better", "scale: better, machine_first: true"), "sets.type", "is about one stimulus"),
    ],
)
def test_studies_that_do_not_hang_together(change: tuple[str, str], place: str, problem: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_study(STUDY.replace(*change))
    assert f", {place}:" in caught.value.problem
    assert problem in f"{caught.value.problem} {caught.value.fix}"


def test_only_pairs_are_adaptive() -> None:
    study = STUDY.replace("{type: pair}", "{type: abx}").replace(", ties: true", "")
    study += "design: {adaptive: true}\n"
    with pytest.raises(StudyError, match="can be adaptive"):
        parse_study(study)


@pytest.mark.parametrize(
    ("media", "machine", "problem"),
    [("image", "false", "a picture does not play"), ("audio", "true", "no machine can fill one in")],
)
def test_a_trace_needs_a_clip_and_a_person(media: str, machine: str, problem: str) -> None:
    text = f"""
name: t
media: {media}
scales: {{course: {{type: trace}}}}
questions: [{{id: v, text: V, scale: course, machine_first: {machine}}}]
"""
    with pytest.raises(StudyError, match=problem):
        parse_study(text)


def test_two_traces_of_one_rate_make_a_plane() -> None:
    text = """
name: t
scales: {course: {type: trace}, slow: {type: trace, rate: 2}}
questions: [{id: v, text: V, scale: course}, {id: a, text: A, scale: course}, {id: s, text: S, scale: slow}]
design: {affect_grid: [v, a]}
"""
    assert parse_study(text).design.affect_grid == ("v", "a")
    with pytest.raises(StudyError, match="same rate"):
        parse_study(text.replace("[v, a]", "[v, s]"))


# --- scales -----------------------------------------------------------------------------------------------------------


def set_scale(**keys: Any) -> SetScale:
    scale = SCALE.validate_python(keys)
    assert isinstance(scale, SetScale)
    return scale


@pytest.mark.parametrize(
    ("scale", "answer", "members", "values"),
    [
        ({"type": "choice"}, 1, 2, [0.0, 1.0]),
        ({"type": "choice"}, "0", 2, [1.0, 0.0]),
        ({"type": "choice", "ties": True}, "tie", 2, [0.5, 0.5]),
        ({"type": "preference"}, 3, 2, [-3.0, 3.0]),
        ({"type": "preference"}, 0, 2, [0.0, 0.0]),
        ({"type": "preference", "steps": 1}, -1, 2, [1.0, -1.0]),
        ({"type": "grade"}, [0, 100, 33.5], 3, [0.0, 100.0, 33.5]),
        ({"type": "rank"}, [2, 0, 1], 3, [2.0, 3.0, 1.0]),
        ({"type": "best-worst"}, {"best": 2, "worst": 0}, 4, [-1.0, 0.0, 1.0, 0.0]),
    ],
)
def test_answers_about_a_set(scale: dict[str, Any], answer: Any, members: int, values: list[float]) -> None:
    reader = set_scale(**scale)
    assert reader.read_set(answer, members) == values
    assert [reader.read(value)[0] for value in values] == values


@check_all(
    ("scale", "answer", "members"),
    [
        ({"type": "choice"}, 2, 2),
        ({"type": "choice"}, -1, 2),
        ({"type": "choice"}, 0.5, 2),
        ({"type": "choice"}, "tie", 2),
        ({"type": "choice"}, True, 2),
        ({"type": "preference"}, 4, 2),
        ({"type": "preference"}, 1.5, 2),
        ({"type": "preference"}, 1, 3),
        ({"type": "grade"}, [1, 2], 3),
        ({"type": "grade"}, [1, 2, 101], 3),
        ({"type": "grade"}, {"0": 1}, 1),
        ({"type": "grade"}, [1, None], 2),
        ({"type": "rank"}, [0, 1, 1], 3),
        ({"type": "rank"}, [0, 1], 3),
        ({"type": "rank"}, "012", 3),
        ({"type": "best-worst"}, {"best": 1, "worst": 1}, 3),
        ({"type": "best-worst"}, {"best": 1}, 3),
        ({"type": "best-worst"}, {"best": 1, "worst": 3}, 3),
    ],
)
def test_answers_a_set_cannot_have(scale: dict[str, Any], answer: Any, members: int) -> None:
    with pytest.raises(InputError):
        set_scale(**scale).read_set(answer, members)


@pytest.mark.parametrize(
    ("scale", "value"),
    [("choice", 1.1), ("choice", "x"), ("preference", 3.5), ("rank", 0.5), ("best-worst", 2), ("grade", -1)],
)
def test_values_no_member_can_have(scale: str, value: Any) -> None:
    with pytest.raises(InputError):
        set_scale(type=scale).read(value)


def test_comparisons_are_not_values_of_a_stimulus_but_grades_and_traces_are() -> None:
    compared = {
        name: SCALE.validate_python({"type": name})
        for name in ("choice", "preference", "rank", "best-worst", "grade", "trace")
    }
    assert {name for name, scale in compared.items() if scale.has_values} == {"grade", "trace"}
    assert all(not scale.whole for scale in compared.values())


def test_a_trace_is_read_with_its_gaps() -> None:
    trace = Trace(type="trace", low=-1, high=1)
    assert trace.read_samples({"samples": [None, 0.5, "1", None]}) == [None, 0.5, 1.0, None]
    assert trace.read([None, 0.5, 1.0]) == (0.75, None)
    assert trace.read(0.25) == (0.25, None)
    for bad in ([], [None], [2], ["x"], {"samples": "1"}, {}, [0.0] * (LONGEST_TRACE + 1), [math.nan]):
        with pytest.raises(InputError):
            trace.read_samples(bad)
    with pytest.raises(InputError):
        trace.read(1.5)
