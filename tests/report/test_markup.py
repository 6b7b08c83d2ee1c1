"""No text of a study or its authors can change how a page or a paper is laid out."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heartfelt.report.layout.markup import (
    Grid,
    code,
    grid_latex,
    grid_markdown,
    latex,
    markdown,
    one_line,
    paragraphs,
    yaml_text,
)
from heartfelt.serialization import dumps
from heartfelt.stats.estimate import Estimate
from tests.publishing.papers.markup_checks import HOSTILE, MARKDOWN, check_latex, inline_text, tables_in

texts = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=60), st.text("|`<>&*_[](){}#$%^~\\-+=.!: \n1a", max_size=40)
)


@pytest.mark.slow
@given(texts)
@settings(max_examples=150)
@example("\\|")
@example("a_b_ _c")
def test_text_stays_text_in_markdown(text: str) -> None:
    if one_line(text):
        assert inline_text(markdown(text)).strip() == one_line(text)
        assert inline_text(f"Before {markdown(text)} after") == f"Before {inline_text(markdown(text))} after"
    for part in MARKDOWN.parse(paragraphs(text)):
        assert part.type in {"paragraph_open", "inline", "paragraph_close"}


@pytest.mark.slow
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4), texts)
@settings(max_examples=80)
def test_tables_have_their_rows_and_columns_whatever_the_cells_hold(rows: list[tuple[str, str]], title: str) -> None:
    grid = Grid(
        name="made",
        caption=title,
        columns=("first", title),
        rows=tuple((*row, 1.5)[:2] for row in rows),
        notes=(title,),
    )
    (table,) = tables_in(grid_markdown(grid, caption=False))
    assert [len(row) for row in table] == [2] * (len(rows) + 1)
    assert [[cell.strip() for cell in row] for row in table[1:]] == [[one_line(cell) for cell in row] for row in rows]
    assert check_latex(grid_latex(grid), 2) == len(rows)


@pytest.mark.slow
@given(texts)
@settings(max_examples=80)
def test_code_names_and_yaml_and_json(text: str) -> None:
    (table,) = tables_in(f"| a | b |\n|---|---|\n| {code(text)} | x |\n")
    assert table[1][1] == "x"
    assert table[1][0].strip() == one_line(text, 120)
    data = {"title": one_line(text), "list": [one_line(text)]}
    assert yaml.safe_load(yaml_text(data)) == data
    assert json.loads(dumps({"text": one_line(text)})) == {"text": one_line(text)}


def test_numbers_in_tables() -> None:
    estimate = Estimate(value=-0.5, low=-0.7, high=-0.3, method="mean")
    grid = Grid(name="made", caption="Means", columns=("a", "b"), rows=((estimate, None),), decimals=2)
    assert "−0.50 [−0.70, −0.30] | –" in grid_markdown(grid)
    assert "$-$0.50 {[}$-$0.70, $-$0.30{]} & --" in grid_latex(grid)
    missing = Grid(name="made", caption="Means", columns=("a",), rows=((Estimate.missing("only one rater"),),))
    assert "none: only one rater" in grid_markdown(missing)
    empty = Grid(name="made", caption="Means", columns=("a", "b"), rows=(), why_empty="nobody rated")
    assert "None: nobody rated." in grid_markdown(empty)
    assert check_latex(grid_latex(empty), 2) == 1


@pytest.mark.parametrize(
    ("text", "due"), [("a&b", r"a\&b"), ("50%", r"50\%"), ("\\", r"\textbackslash{}"), ("[x]", "{[}x{]}")]
)
def test_latex(text: str, due: str) -> None:
    assert latex(text) == due
