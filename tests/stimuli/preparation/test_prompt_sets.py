"""Sets of prompts: read from anywhere, what they cover, duplicates, and dealt to systems."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.stimuli.prompts.prompt_sets import PromptSet, coverage, dealt, read_aspects, read_prompts
from heartfelt.study.recipes import RECIPES
from tests.facts import mentions

FEW = PromptSet(
    {
        "p1": "A calm piano melody, slow tempo",
        "p2": "a Calm piano melody; slow tempo!",
        "p3": "A calm piano melody, very slow tempo",
        "p4": "Something else entirely",
        "p5": "Epic film soundtrack with brass",
    },
    {"p1": "own", "p2": "own", "p3": "own", "p4": "own", "p5": "MusicCaps"},
)


def test_lengths_aspects_and_duplicates() -> None:
    covered = coverage(FEW)
    assert covered.lengths == {"p1": 6, "p2": 6, "p3": 7, "p4": 3, "p5": 5}
    assert list(covered.quantiles) == [3, 5, 6, 6, 7]
    assert covered.aspects == {
        "emotion": 3, "genre": 0, "instrumentation": 4, "rhythm": 3, "structure": 3, "theme": 1
    }  # fmt: skip
    assert covered.without_aspect == ("p4",)
    assert covered.duplicates == (("p1", "p2"),)
    ((first, second, share),) = covered.near_duplicates
    assert (first, second) == ("p1", "p3")
    assert share == pytest.approx(6 / 7)
    assert covered.sources == {"own": 4, "MusicCaps": 1}
    assert coverage(FEW, {"beings": ["nobody"]}).aspects == {"beings": 0}


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8), min_size=2, max_size=12))
def test_near_duplicates_are_those_of_comparing_every_pair(texts: list[list[str]]) -> None:
    prompts = {f"p{place}": " ".join(letters) for place, letters in enumerate(texts)}
    sets = {name: set(text.split()) for name, text in prompts.items()}
    seen: dict[str, str] = {}
    for name, text in prompts.items():
        seen.setdefault(text, name)
    expected = {
        (one, other)
        for one, other in combinations(seen.values(), 2)
        if len(sets[one] & sets[other]) >= 0.8 * len(sets[one] | sets[other]) - 1e-9
    }
    assert {pair[:2] for pair in coverage(PromptSet(prompts, {})).near_duplicates} == expected


@pytest.mark.parametrize(("prompts", "systems", "size"), [(27, 4, 10), (10, 3, 10), (7, 5, 2), (40, 2, 1), (12, 6, 4)])
def test_every_prompt_is_rendered_equally_often_and_strata_are_shared(prompts: int, systems: int, size: int) -> None:
    rng = random.Random(prompts)
    texts = {f"p{n}": " ".join(["word"] * rng.choice([3, 15, 40])) for n in range(prompts)}
    sources = {name: rng.choice(["own", "demo"]) for name in texts}
    table = dealt(PromptSet(texts, sources), [f"S{n}" for n in range(systems)], size)
    per_prompt = Counter(table["prompt"].to_list())
    counts = [per_prompt.get(name, 0) for name in texts]
    assert max(counts) - min(counts) <= 1
    assert table.group_by("system").len()["len"].to_list() == [size] * systems
    assert table["stimulus"].n_unique() == table.height
    own = sum(source == "own" for source in sources.values()) / prompts
    for each in table.partition_by("system"):
        share = sum(sources[name] == "own" for name in each["prompt"]) / size
        assert abs(share - own) <= 3 / size, "three lengths of a source, each rounded"


def test_dealing_is_the_same_for_a_seed_and_refuses_the_impossible() -> None:
    assert dealt(FEW, ["A", "B"], 3, seed=1).equals(dealt(FEW, ["A", "B"], 3, seed=1))
    assert dealt(FEW, ["A"]).height == 5
    with pytest.raises(InputError, match="6 of 5 prompts"):
        dealt(FEW, ["A"], 6)
    with pytest.raises(InputError, match="named twice"):
        dealt(FEW, ["A", "A"])


def test_prompts_are_read_from_lines_tables_and_studies(tmp_path: Path) -> None:
    (tmp_path / "info.txt").write_text("P001\tA calm song\nP002\tA loud song\n")
    assert read_prompts(tmp_path / "info.txt").prompts == {"P001": "A calm song", "P002": "A loud song"}
    (tmp_path / "lines.txt").write_text("A calm song\n\nA loud song\n")
    assert read_prompts(tmp_path / "lines.txt").prompts == {"p1": "A calm song", "p2": "A loud song"}
    (tmp_path / "table.csv").write_text("ID,prompts,category\np01,A red car,Drawbench\np02,A dog,own\np03,,own\n")
    read = read_prompts(tmp_path / "table.csv")
    assert read == PromptSet({"p01": "A red car", "p02": "A dog"}, {"p01": "Drawbench", "p02": "own"})
    (tmp_path / "study.yaml").write_text(RECIPES["aimoclips"].file.read_text(encoding="utf-8"), encoding="utf-8")
    assert read_prompts(tmp_path).prompts["plain_happy"] == "happy"
    (tmp_path / "twice.csv").write_text("id,prompt\na,x\na,y\n")
    with pytest.raises(InputError, match=r"prompts.*id.*'a'"):
        read_prompts(tmp_path / "twice.csv")
    with pytest.raises(InputError, match="There are no prompts in"):
        read_prompts(tmp_path / "absent.csv")


@pytest.mark.slow
def test_the_command_and_its_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, lists = tmp_path / "p.csv", tmp_path / "aspects.yaml"
    source.write_text("id,prompt\n" + "".join(f'{name},"{text}"\n' for name, text in FEW.prompts.items()))
    assert main(["prompts", str(source), "--systems", "A,B", "--to", str(tmp_path / "deal.csv")]) == 0
    shown = capsys.readouterr().out
    assert "5 prompts; words per prompt 5.4" in shown
    assert "The same prompt: p1 and p2." in shown
    assert mentions(shown, "0.86", "p1", "p3")
    assert len((tmp_path / "deal.csv").read_text().splitlines()) == 11
    assert main(["prompts", str(source), "--to", str(tmp_path / "x.csv")]) == 2
    assert "No systems are named" in capsys.readouterr().err
    lists.write_text("beings: [cat, Dog]\n")
    assert read_aspects(lists) == {"beings": ("cat", "dog")}
    lists.write_text("beings: cat\n")
    with pytest.raises(InputError, match="no lists of words"):
        read_aspects(lists)


def test_a_system_gets_its_share_of_short_middling_and_long_prompts() -> None:
    lengths = {"short": 4, "middling": 15, "long": 40}
    prompts = PromptSet({f"{kind} {k}": "word " * n for kind, n in lengths.items() for k in range(4)}, {})
    table = dealt(prompts, ["A", "B", "C", "D"], per_system=3, seed=2)
    for system in "ABCD":
        names = table.filter(table["system"] == system)["prompt"].to_list()
        assert sorted(name.split()[0] for name in names) == sorted(lengths)
