"""Words for colours: first the basic term a colour belongs to, then the nearest common name of that term.

*Terms*: the eleven basic colour terms (Berlin and Kay 1969) and turquoise, which people place between blue and green. A colour
with little chroma (C* under 7) is black, grey or white by its lightness; a dark one with little chroma (both under 20) is black.
Any other takes the term that most of its seven nearest neighbours in the xkcd color survey are named by, weighted by nearness;
the survey's names are read from the last word that says a term (*greenish blue* is blue, *navy* too).

*Names*: a term, with *light* or *dark*, or one of a few words that people use without explanation (*sky blue*, *olive*, *beige*).
The seven nearest colours of the term decide, weighted by the square of their nearness.

Distances are CIEDE2000, which agrees with Sharma, Wu and Dalal's 34 test pairs to four digits.

Sources: Berlin and Kay (1969), Basic Color Terms. Munroe (2010), xkcd color survey, 222,500 people, 949 names, CC0, as it is
in matplotlib. Sharma, Wu and Dalal (2005), Color Res Appl 30, 21-30.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heartfelt.media.images.lab import lab_of
from heartfelt.stats.columns.triples import Floats, Ints

NEUTRAL_CHROMA = 7.0
DARK = 20.0
"""Under this lightness a neutral is black; under this lightness and chroma any colour is."""
WHITE = 90.0
"""Above this lightness a neutral is white."""
NEIGHBOURS = 7
_CANDIDATES = 32
"""How many neighbours by plain distance CIEDE2000 is computed for."""

_WORDS = {
    "black": "black",
    "grey": "grey gray charcoal slate steel silver gunmetal cement",
    "white": "white cream creme ivory eggshell shell",
    "red": "red maroon burgundy bordeaux crimson scarlet wine brick cherry blood ruby raspberry claret merlot lipstick carmine"
    " tomato vermillion cranberry",
    "orange": "orange peach apricot tangerine pumpkin amber mango squash butterscotch marigold melon",
    "brown": "brown tan beige taupe toupe sand sandy sandstone desert wheat parchment buff ecru fawn chocolate coffee mocha cocoa"
    " caramel sienna siena umber copper bronze mahogany chestnut auburn russet hazel leather cinnamon ochre ocher ocre sepia"
    " camel rust terracotta terracota adobe clay earth dirt mud mushroom putty stone dust tea poo poop",
    "yellow": "yellow mustard gold goldenrod golden lemon maize dandelion canary custard straw butter banana sunflower saffron",
    "green": "green olive lime mint seafoam forest sage moss grass jade emerald chartreuse pine avocado pear fern leaf khaki algae"
    " swamp camo asparagus celery celadon pistachio kiwi apple seaweed spruce viridian shamrock spearmint pea lichen",
    "turquoise": "turquoise teal tealish aqua cyan aquamarine topaz",
    "blue": "blue sky navy azure azul cerulean cobalt ultramarine periwinkle cornflower denim sapphire marine ocean royal",
    "purple": "purple violet lavender lavendar lilac liliac mauve plum eggplant aubergine grape orchid amethyst wisteria indigo"
    " iris heather heliotrope mulberry velvet",
    "pink": "pink magenta fuchsia rose rosa salmon coral cerise bubblegum carnation blush watermelon strawberry grapefruit",
}
"""Which words of the survey's names say which term."""
TERMS = tuple(_WORDS)
_TERM_OF = {word: term for term, words in _WORDS.items() for word in words.split()}
_BETWEEN = {"blue green", "green blue", "blue/green", "bluegreen", "greenblue"}
_COMMON = {
    "sky": "sky blue", "navy": "navy", "teal": "teal", "turquoise": "turquoise", "cyan": "cyan", "aqua": "cyan",
    "olive": "olive", "lime": "lime", "beige": "beige", "tan": "tan", "cream": "cream", "maroon": "maroon",
    "burgundy": "maroon", "salmon": "salmon", "coral": "salmon", "peach": "peach", "mustard": "mustard",
    "lavender": "lavender", "lilac": "lavender", "violet": "violet", "magenta": "magenta", "fuchsia": "magenta",
    "mauve": "mauve", **dict.fromkeys(("wheat", "parchment", "buff", "ecru", "fawn", "sandstone", "desert"), "beige"),
    "charcoal": "dark grey", "gunmetal": "dark grey", "aquamarine": "turquoise", "tealish": "teal", "topaz": "turquoise",
}  # fmt: skip
"""Words that make a name of their own."""
_SHADES = {
    **dict.fromkeys(("light", "pale", "pastel", "baby", "powder", "lightish", "ice"), "light"),
    **dict.fromkeys(("dark", "deep", "midnight", "darkish", "forest", "hunter"), "dark"),
}
_UNSHADED = {"black", "white"}
_JOINED = re.compile(r"^(dark|light)(?=[a-z])(?!ish)")
"""Some of the survey's names are written as one word, such as *darkblue*."""


class NameTable(NamedTuple):
    """The survey's colours whose names say a term."""

    lab: Floats
    terms: Ints
    """The place of each one's term in ``TERMS``."""
    names: tuple[str, ...]
    """Each one's name as palettes write it."""


def term_of(name: str) -> str | None:
    """The term a name says; None where it says none."""
    if name in _BETWEEN:
        return "turquoise"
    return next((_TERM_OF[word] for word in reversed(name.split()) if word in _TERM_OF), None)


def common_name(name: str) -> str | None:
    """The name that palettes use for one of the survey's; None where it says no term."""
    term, words = term_of(name), name.split()
    if term is None:
        return None
    shade = next((_SHADES[word] for word in words if word in _SHADES), "")
    special = next((_COMMON[word] for word in reversed(words) if word in _COMMON), None)
    if special is not None and term_of(special) == term:
        return "teal" if term == "turquoise" and shade == "dark" else special
    if term == "turquoise":
        return term
    return f"{shade} {term}" if shade and term not in _UNSHADED else term


@lru_cache(maxsize=1)
def name_table() -> NameTable:
    """The names of the xkcd color survey, reduced to those that palettes use."""
    from matplotlib.colors import XKCD_COLORS, to_rgb

    survey = [
        (common, TERMS.index(term_of(common) or ""), to_rgb(name))
        for name in XKCD_COLORS
        if (common := common_name(_JOINED.sub(r"\1 ", name.removeprefix("xkcd:")))) is not None
    ]
    names, terms, rgb = zip(*survey, strict=True)
    return NameTable(lab_of(255 * np.array(rgb)), np.array(terms), names)


def terms_of(lab: Floats) -> Ints:
    """The place in ``TERMS`` of the term of each CIELAB colour, one per row."""
    table = name_table()
    partial_distance = (table.lab**2).sum(axis=1) - 2 * lab @ table.lab.T
    near = np.argpartition(partial_distance, _CANDIDATES, axis=1)[:, :_CANDIDATES]
    distance = ciede2000(lab[:, None], table.lab[near])
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBOURS]
    votes, rows = np.zeros((len(lab), len(TERMS))), np.arange(len(lab))
    for neighbour in nearest.T:
        votes[rows, table.terms[near[rows, neighbour]]] += 1 / (1 + distance[rows, neighbour])
    return _with_neutrals(lab, votes.argmax(axis=1))


def _with_neutrals(lab: Floats, terms: npt.NDArray[np.integer]) -> Ints:
    """The terms of colours, with those of little chroma decided by their lightness."""
    black, grey, white = (TERMS.index(name) for name in ("black", "grey", "white"))
    light, chroma = lab[:, 0], np.hypot(lab[:, 1], lab[:, 2])
    neutral = np.where(light < DARK, black, np.where(light > WHITE, white, grey))
    out = np.where(chroma < NEUTRAL_CHROMA, neutral, terms)
    return np.asarray(np.where((light < DARK) & (chroma < DARK), black, out), dtype=np.int64)


def name_within(lab: Floats, term: int) -> str:
    """The common name of one CIELAB colour that belongs to a term, by its nearest colours in the survey."""
    table = name_table()
    indices = np.flatnonzero(table.terms == term)
    distance = ciede2000(lab[None], table.lab[indices])
    votes: dict[str, float] = {}
    for neighbour in np.argsort(distance, kind="stable")[:NEIGHBOURS].tolist():
        name = table.names[indices[neighbour]]
        votes[name] = votes.get(name, 0.0) + 1 / (1 + float(distance[neighbour])) ** 2
    return max(votes, key=votes.__getitem__)


def ciede2000(first: Floats, second: Floats) -> Floats:
    """The CIEDE2000 difference of CIELAB colours; the last axis is the coordinate, the others are broadcast."""
    (light1, a1, b1), (light2, a2, b2) = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - _saturating(mean))
    chroma1, chroma2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    hue1 = np.degrees(np.arctan2(b1, stretch * a1)) % 360
    hue2 = np.degrees(np.arctan2(b2, stretch * a2)) % 360
    hue_difference, total = hue2 - hue1, hue1 + hue2
    grey = chroma1 * chroma2 == 0
    around = np.where(
        hue_difference > 180,
        hue_difference - 360,
        np.where(hue_difference < -180, hue_difference + 360, hue_difference),
    )
    turned = np.where(np.abs(hue_difference) <= 180, total, np.where(total < 360, total + 360, total - 360)) / 2
    hue = np.where(grey, total, turned)
    light, chroma = (light1 + light2) / 2, (chroma1 + chroma2) / 2
    wave = (
        1
        - 0.17 * np.cos(np.radians(hue - 30))
        + 0.24 * np.cos(np.radians(2 * hue))
        + 0.32 * np.cos(np.radians(3 * hue + 6))
        - 0.20 * np.cos(np.radians(4 * hue - 63))
    )
    from_middle = (light - 50) ** 2
    d_light = (light2 - light1) / (1 + 0.015 * from_middle / np.sqrt(20 + from_middle))
    d_chroma = (chroma2 - chroma1) / (1 + 0.045 * chroma)
    d_hue = 2 * np.sqrt(chroma1 * chroma2) * np.sin(np.radians(np.where(grey, 0.0, around) / 2))
    d_hue = d_hue / (1 + 0.015 * chroma * wave)
    rotation = -2 * _saturating(chroma) * np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    return np.asarray(np.sqrt(d_light**2 + d_chroma**2 + d_hue**2 + rotation * d_chroma * d_hue))


def _saturating(chroma: Floats) -> Floats:
    return np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
