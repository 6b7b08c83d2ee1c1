"""Emotion words by their norms: layouts, the margin, quadrants, and how words are chosen."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.stimuli.options import IntentOptions
from heartfelt.stimuli.prompts.intents import (
    QUADRANTS,
    Norms,
    choose_intents,
    intents_yaml,
    published_norms,
    read_norms,
)
from heartfelt.study.norms import NORMS, NormsTable, norms_of
from heartfelt.study.study import Intent
from tests.facts import mentions

WARRINER = (
    ",Word,V.Mean.Sum,V.SD.Sum,V.Rat.Sum,A.Mean.Sum,A.SD.Sum\n1,Happy,8.47,0.9,20,6.05,2.3\n2,sad,2.1,1.1,20,3.49,2\n"
)
ANEW = "Description,Word No.,Valence Mean,Valence SD,Arousal Mean,Arousal SD\n"
ANEW += "happy,200,8.21,1.82,6.49,2.77\nsad,366,1.61,0.95,4.13,2.38\n"
NRC = "Word\tValence\tArousal\tDominance\nhappy\t1.0\t0.735\t0.772\nsad\t0.225\t0.333\t0.149\n"
NRC_2 = "term\tvalence\tarousal\tdominance\nhappy\t1.0\t0.47\t0.544\nsad\t-0.55\t-0.334\t-0.702\n"


def norms(*rows: tuple[str, float, float]) -> Norms:
    return Norms(pl.DataFrame(rows, schema=["word", "valence", "arousal"], orient="row"), "made")


GRID = norms(
    *(
        (f"{quadrant}{place}", 5 + v * (1 + place), 5 + a * (1.2 + 0.1 * place))
        for quadrant, v, a in (("a", 0.9, 1), ("b", -0.9, 1), ("c", -0.9, -1), ("d", 0.9, -1))
        for place in range(4)
    )
)


@pytest.mark.parametrize(
    ("name", "text", "layout", "happy", "sad"),
    [
        ("w.csv", WARRINER, "Warriner", (8.47, 6.05), (2.1, 3.49)),
        ("a.csv", ANEW, "ANEW", (8.21, 6.49), (1.61, 4.13)),
        ("n.txt", NRC, "NRC VAD", (9.0, 6.88), (2.8, 3.664)),
        ("m.txt", NRC_2, "NRC VAD", (9.0, 6.88), (2.8, 3.664)),
    ],
)
def test_published_layouts_are_put_on_one_to_nine(
    name: str, text: str, layout: str, happy: tuple[float, float], sad: tuple[float, float], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    read = read_norms(tmp_path / name)
    assert read.layout == layout
    rows = {word: place for word, *place in read.table.select("word", "valence", "arousal").iter_rows()}
    assert rows["happy"] == pytest.approx(happy)
    assert rows["sad"] == pytest.approx(sad)


@pytest.mark.parametrize(
    ("name", "text", "cited"),
    [
        ("w.csv", WARRINER, "Warriner et al. (2013)"),
        ("a.csv", ANEW, "ANEW (Bradley & Lang, 1999)"),
        ("n.txt", NRC, "NRC VAD Lexicon 1 (Mohammad, 2018)"),
        ("m.txt", NRC_2, "NRC VAD Lexicon 2 (Mohammad, 2025)"),
        ("mine.csv", "word,valence,arousal\nx,1,9\ny,5,5\n", "mine.csv (SHA-256 "),
        ("vad.csv", "word,valence,arousal,dominance\nx,1,9,1\ny,5,5,2\n", "vad.csv (SHA-256 "),
        ("small.csv", "word,valence,arousal\nx,.1,.9\ny,.5,.5\n", "small.csv (SHA-256 "),
    ],
)
def test_the_table_that_was_used_is_cited_and_no_other(name: str, text: str, cited: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    source = read_norms(tmp_path / name).source
    assert source is not None
    assert source.name.startswith(cited)
    if cited in NORMS:
        assert source == NORMS[cited]
        assert source.words == f"{source.citation} Terms of use: {source.licence}."
    else:
        assert source.words == f"{source.name}. Terms of use: not known to heartfelt."
        (tmp_path / name).write_text(f"{text}z{text.splitlines()[-1][1:]}\n")
        assert read_norms(tmp_path / name).source != source, "another content is another table"


def test_intents_carry_the_table_into_the_study(tmp_path: Path) -> None:
    table = Norms(GRID.table, "made", source=NORMS["Warriner et al. (2013)"])
    chosen = choose_intents(table, options=IntentOptions(per_quadrant=1, margin=0.5)).intents
    written = intents_yaml(chosen)
    assert written.startswith(
        "# Reference coordinates on 1 to 9: Warriner, A. B., Kuperman, V., & Brysbaert, M. (2013). Norms of"
    )
    assert [Intent(**row) for row in yaml.safe_load(written)["intents"]] == list(chosen)
    other = Intent(id="x", norms="mine.csv")
    assert norms_of([*chosen, other, Intent(id="y")]) == (NORMS["Warriner et al. (2013)"], NormsTable(name="mine.csv"))
    assert "norms" not in Intent(id="y").model_dump(), "a study without keeps its hash"
    recipe = published_norms().source
    assert recipe is not None
    assert "(2025)" in recipe.name, "the recipe's own credit"


def test_rows_without_numbers_and_second_rows_are_counted(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("word,valence,arousal\nx,1,9\nX,2,3\n,4,5\ny,NA,5\nz,5,5\n")
    read = read_norms(tmp_path / "n.csv")
    assert read.table["word"].to_list() == ["x", "z"]
    assert read.left_out == 3
    with pytest.raises(InputError, match=r"'x'.*2.*5"):
        read_norms(tmp_path / "n.csv", (2, 5))
    assert read_norms(tmp_path / "n.csv", (0, 10)).table["valence"][0] == pytest.approx(1.8)


def test_scales_by_their_values_order_and_spreads(tmp_path: Path) -> None:
    """A 0 is no negative value; words stay in the file's order, and standard deviations go onto 1 to 9 as well."""
    (tmp_path / "zero.txt").write_text("Word\tValence\tArousal\tDominance\nz\t0\t0\t0\nb\t1\t1\t1\na\t0.5\t0.5\t1\n")
    zero = read_norms(tmp_path / "zero.txt")
    assert zero.table.rows() == [("z", 1.0, 1.0), ("b", 9.0, 9.0), ("a", 5.0, 5.0)]
    many = "".join(f"w{number},5,5\n" for number in range(200, 0, -1))
    (tmp_path / "many.csv").write_text(f"word,valence,arousal\n{many}")
    assert read_norms(tmp_path / "many.csv").table["word"].to_list() == [f"w{n}" for n in range(200, 0, -1)]
    (tmp_path / "w.csv").write_text(WARRINER)
    half = read_norms(tmp_path / "w.csv", (1, 17)).table
    assert half["valence_sd"].to_list() == pytest.approx([0.45, 0.55])
    assert half["arousal_sd"].to_list() == pytest.approx([1.15, 1.0])
    (tmp_path / "no.csv").write_text("Word,A.Mean.Sum\nx,3\n")
    with pytest.raises(InputError, match="no columns of words"):
        read_norms(tmp_path / "no.csv")


def test_without_a_margin_only_words_on_an_axis_are_between() -> None:
    on_axis = norms(("middle", 5.0, 8.0), *GRID.table.iter_rows())
    assert choose_intents(on_axis, options=IntentOptions(per_quadrant=4, margin=0)).between == 1


def test_an_intent_is_one_line_with_its_id_first() -> None:
    long = Intent(id="x", group="g " * 80, reference={"valence": 1.0, "arousal": 2.0})
    lines = intents_yaml([long]).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  - {id: x, group: ")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "word,valence,arousal\n,,\n"])
def test_other_tables_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text(text)
    with pytest.raises(InputError, match=r"no columns of words|holds no word"):
        read_norms(tmp_path / "n.csv")


def test_the_published_words_are_chosen_under_their_own_rules() -> None:
    """SOURCE: Table 1 of AImoclips: three words in every quadrant, none with a coordinate from 4 to 6."""
    chosen = choose_intents(published_norms())
    assert [intent.id for intent in chosen.intents if intent.group == "lv_la"] == ["gloomy", "dull", "sad"]
    assert chosen.candidates == dict.fromkeys(QUADRANTS, 3)
    assert (chosen.between, chosen.notes) == (0, ())
    with pytest.raises(InputError, match=r"hv_ha \(2\)"):
        choose_intents(published_norms(), options=IntentOptions(margin=1.06))


def test_the_margin_leaves_out_what_lies_inside_it_on_either_axis() -> None:
    edge = norms(("on", 6.0, 8.0), ("in", 5.99, 8.0), ("out", 8.0, 5.99), *GRID.table.iter_rows())
    chosen = choose_intents(edge, options=IntentOptions(per_quadrant=3, margin=1.0))
    assert chosen.candidates == {"hv_ha": 4, "lv_ha": 3, "lv_la": 3, "hv_la": 3}, "on the margin is outside it"
    assert chosen.between == 6, "two made for it, and the first of every quadrant"


def test_clear_spread_and_random() -> None:
    clear = choose_intents(GRID, options=IntentOptions(per_quadrant=2, margin=0.5))
    assert [intent.id for intent in clear.intents[:2]] == ["a3", "a2"]
    spread = choose_intents(GRID, options=IntentOptions(per_quadrant=2, margin=0.5, by="spread"))
    assert [intent.id for intent in spread.intents[:2]] == ["a3", "a0"]
    draws = {
        tuple(
            i.id
            for i in choose_intents(
                GRID, options=IntentOptions(per_quadrant=2, margin=0.5, by="random", seed=s)
            ).intents
        )
        for s in range(6)
    }
    assert len(draws) > 1
    one, other = (
        choose_intents(GRID, options=IntentOptions(per_quadrant=2, margin=0.5, by="random", seed=3)).intents
        for _ in range(2)
    )
    assert one == other
    with pytest.raises(InputError, match="'cleer'"):
        IntentOptions(by="cleer")  # type: ignore[arg-type]  # wrong on purpose


def test_notes_on_words_without_norms_forms_and_confounding() -> None:
    table = norms(
        ("calm", 7.0, 2.0), ("calmed", 7.2, 2.2), ("gleeful", 9.0, 8.0), ("elated", 8.8, 8.2),
        ("angry", 1.2, 8.0), ("furious", 1.4, 8.4), ("dull", 3.8, 2.0), ("bored", 3.6, 2.2),
    )  # fmt: skip
    chosen = choose_intents(table, [*table.table["word"], "weltschmerz", ""], options=IntentOptions(per_quadrant=2))
    assert chosen.unknown == ("weltschmerz",)
    assert "Without norms: weltschmerz." in chosen.notes
    assert any(
        "'calmed' and 'calm' may be forms of one word" in note or "'calm' and 'calmed'" in note for note in chosen.notes
    )
    skewed = norms(*((w, v, a + (2.4 if v > 5 and a > 5 else 0)) for w, v, a in GRID.table.iter_rows()))
    assert any(
        "an effect of valence would be partly one of arousal" in note
        for note in choose_intents(skewed, options=IntentOptions(per_quadrant=2, margin=0.5)).notes
    )


@pytest.mark.slow
def test_the_command_writes_what_a_study_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["intents", "--to", str(tmp_path / "intents.yaml")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert mentions(shown, "lv_la", "3.15, 3.32", "3.40, 1.67", "2.10, 3.49", "3 words")
    assert "Cite: Go, Han, Choi" in shown
    written = yaml.safe_load((tmp_path / "intents.yaml").read_text())["intents"]
    assert [Intent(**each) for each in written] == list(choose_intents(published_norms()).intents)
    assert intents_yaml([Intent(id="no", group="x: y")]) == "intents:\n  - {id: 'no', group: 'x: y'}\n"
    assert main(["intents", "--range", "9..1", "--norms", "x.csv"]) == 2
    assert "'9..1' is no range" in capsys.readouterr().err
