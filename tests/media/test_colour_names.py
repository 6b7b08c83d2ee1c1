"""Words for colours: CIEDE2000 by its published test pairs, and 204 patches around colours that everybody would name alike."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from tests.cases import check_all

from heartfelt.media.images.colour_names import (
    TERMS,
    ciede2000,
    common_name,
    name_table,
    name_within,
    term_of,
    terms_of,
)
from heartfelt.media.images.lab import lab_of
from heartfelt.media.images.pixels import measure_image
from heartfelt.streams import stream

# SOURCE: Sharma, Wu and Dalal (2005), table 1: two colours and their difference, four digits.
SHARMA = """
50 2.6772 -79.7751 50 0 -82.7485 2.0425
50 3.1571 -77.2803 50 0 -82.7485 2.8615
50 2.8361 -74.0200 50 0 -82.7485 3.4412
50 -1.3802 -84.2814 50 0 -82.7485 1.0000
50 -1.1848 -84.8006 50 0 -82.7485 1.0000
50 -0.9009 -85.5211 50 0 -82.7485 1.0000
50 0 0 50 -1 2 2.3669
50 -1 2 50 0 0 2.3669
50 2.4900 -0.0010 50 -2.4900 0.0009 7.1792
50 2.4900 -0.0010 50 -2.4900 0.0010 7.1792
50 2.4900 -0.0010 50 -2.4900 0.0011 7.2195
50 2.4900 -0.0010 50 -2.4900 0.0012 7.2195
50 -0.0010 2.4900 50 0.0009 -2.4900 4.8045
50 -0.0010 2.4900 50 0.0010 -2.4900 4.8045
50 -0.0010 2.4900 50 0.0011 -2.4900 4.7461
50 2.5 0 50 0 -2.5 4.3065
50 2.5 0 73 25 -18 27.1492
50 2.5 0 61 -5 29 22.8977
50 2.5 0 56 -27 -3 31.9030
50 2.5 0 58 24 15 19.4535
50 2.5 0 50 3.1736 0.5854 1.0000
50 2.5 0 50 3.2972 0 1.0000
50 2.5 0 50 1.8634 0.5757 1.0000
50 2.5 0 50 3.2592 0.3350 1.0000
60.2574 -34.0099 36.2677 60.4626 -34.1751 39.4387 1.2644
63.0109 -31.0961 -5.8663 62.8187 -29.7946 -4.0864 1.2630
61.2901 3.7196 -5.3901 61.4292 2.2480 -4.9620 1.8731
35.0831 -44.1164 3.7933 35.0232 -40.0716 1.5901 1.8645
22.7233 20.0904 -46.6940 23.0331 14.9730 -42.5619 2.0373
36.4612 47.8580 18.3852 36.2715 50.5065 21.2231 1.4146
90.8027 -2.0831 1.4410 91.1528 -1.6435 0.0447 1.4441
90.9257 -0.5406 -0.9208 88.6381 -0.8985 -0.7239 1.5381
6.7747 -0.2908 -2.4247 5.8714 -0.0985 -2.2286 0.6377
2.0776 0.0795 -1.1350 0.9033 -0.0636 -0.5514 0.9082
"""

# Colours of the CSS standard and of things; several terms where people differ. Not from the survey the names come from.
AROUND = {
    "black": "#000000", "white": "#ffffff", "grey": "#808080 #696969 #d3d3d3 #505055", "red": "#ff0000 #dc143c #b22222 #8b0000",
    "orange": "#ffa500 #ff8c00", "brown": "#8b4513 #a0522d #d2b48c #855e42", "yellow": "#ffff00 #ffd700",
    "green": "#008000 #228b22 #6b8e23 #7cfc00 #32cd32 #006400 #808000 #2e8b57 #98fb98 #608038 #78963c #96aa5a #567d46",
    "blue": "#0000ff #000080 #4169e1 #1e90ff #6495ed #87ceeb #4682b4 #add8e6 #00bfff #3683f0 #87b4e1 #145078",
    "purple": "#800080 #9400d3 #9370db", "pink": "#ffc0cb #ff69b4 #ff1493 #ffb6c1",
    "turquoise": "#40e0d0",
}  # fmt: skip


def test_ciede2000_is_that_of_sharma_wu_and_dalal() -> None:
    pairs = np.array([line.split() for line in SHARMA.strip().splitlines()], dtype=np.float64)
    assert pairs.shape == (34, 7)
    np.testing.assert_allclose(ciede2000(pairs[:, :3], pairs[:, 3:6]), pairs[:, 6], atol=5e-5)
    np.testing.assert_allclose(ciede2000(pairs[:, 3:6], pairs[:, :3]), pairs[:, 6], atol=5e-5)


def test_patches_have_the_right_hue() -> None:
    """204 patches: each colour, and three within about five units of CIELAB of it."""
    draw = stream(26, "colour patches")
    wanted, patches = [], []
    for term, codes in AROUND.items():
        for code in codes.split():
            lab = lab_of([int(code[at : at + 2], 16) for at in (1, 3, 5)])
            for turn in range(4):
                patches.append(lab + draw.normal(0, 3, 3) * (turn > 0))
                wanted.append(term)
    assert len(patches) == 204
    named = [TERMS[place] for place in terms_of(np.array(patches))]
    wrong = [(want, name) for want, name in zip(wanted, named, strict=True) if want != name]
    assert len(wrong) <= 8, wrong
    exact = [pair for place, pair in enumerate(zip(wanted, named, strict=True)) if place % 4 == 0]
    assert [pair for pair in exact if pair[0] != pair[1]] == []


@check_all(
    ("colour", "name"),
    [
        ((54, 131, 240), "blue"), ((135, 206, 235), "light blue"), ((0, 191, 255), "sky blue"),
        ((0, 0, 60), "dark blue"), ((96, 128, 56), "green"),
        ((120, 150, 60), "green"), ((86, 125, 70), "dark green"), ((0, 128, 128), "teal"), ((245, 222, 179), "beige"),
        ((54, 54, 54), "dark grey"), ((15, 12, 18), "black"), ((128, 0, 0), "dark red"), ((250, 128, 114), "salmon"),
    ],
)  # fmt: skip
def test_skies_are_blue_and_grass_is_green(colour: tuple[int, int, int], name: str) -> None:
    assert [part.name for part in measure_image(Image.new("RGB", (4, 4), colour)).palette] == [name]


@pytest.mark.parametrize(
    ("lab", "term"),
    [
        ((19.9, 0, 0), "black"), ((20.1, 0, 0), "grey"), ((90, 0, 0), "grey"), ((90.1, 0, 0), "white"),
        ((19.9, 0, 19.9), "black"), ((19.9, 0, 20.1), "brown"), ((50, 6.9, 0), "grey"), ((92, -6.9, 0), "white"),
        ((92, -7.1, 0), "blue"),
    ],
)  # fmt: skip
def test_colours_without_chroma_are_decided_by_lightness(lab: tuple[float, float, float], term: str) -> None:
    assert TERMS[terms_of(np.array([lab]))[0]] == term


@check_all(
    ("survey", "term", "name"),
    [
        ("light sky blue", "blue", "sky blue"), ("greenish blue", "blue", "blue"), ("blue green", "turquoise", "turquoise"),
        ("navy", "blue", "navy"), ("dark teal", "turquoise", "teal"), ("pale green", "green", "light green"),
        ("deep purple", "purple", "dark purple"), ("olive green", "green", "olive"), ("lilac", "purple", "lavender"),
        ("almost black", "black", "black"), ("puke", None, None), ("salmon pink", "pink", "salmon"),
        ("peach", "orange", "peach"), ("lavender blue", "blue", "blue"),
    ],
)  # fmt: skip
def test_how_the_names_of_the_survey_are_read(survey: str, term: str | None, name: str | None) -> None:
    assert (term_of(survey), common_name(survey)) == (term, name)


def test_every_name_belongs_to_its_term() -> None:
    table = name_table()
    assert 800 <= len(table.names) <= 949
    assert {term_of(name) for name in table.names} == set(TERMS)
    for name, term in zip(table.names, table.terms, strict=True):
        assert term_of(name) == TERMS[term]
    assert all(name_within(table.lab[place], int(table.terms[place])) for place in range(0, 800, 40))
