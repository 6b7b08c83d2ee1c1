"""Emotion words to generate for: chosen by their valence and arousal norms, as many in every quadrant.

Norms are read from the user's own file: Warriner, Kuperman and Brysbaert (2013; columns ``V.Mean.Sum`` and ``A.Mean.Sum``,
1 to 9), ANEW (Bradley and Lang; ``Valence Mean`` and ``Arousal Mean``, 1 to 9), the NRC VAD lexicon (Mohammad; ``valence`` and
``arousal``, 0 to 1 in its first version, -1 to 1 in its second), or any table with a word, a valence and an arousal. All are
put on 1 to 9. The table that was used is cited wherever the words are: a table of one's own by its name and hash.

The rules are those of AImoclips: words with a valence or an arousal within a margin of the middle (4 to 6) are left out, so
that no word stands between quadrants, and every quadrant gets the same number of words. Its authors chose among the rest by
hand. Here ``clear`` takes the words furthest from both axes, ``spread`` the words furthest from each other, ``random`` draws.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from heartfelt.errors import InputError
from heartfelt.files import sha256_of
from heartfelt.formats.tables.columns import NamedTable
from heartfelt.stimuli.options import IntentOptions
from heartfelt.streams import stream
from heartfelt.study.norms import ANEW, NRC_VAD_1, NRC_VAD_2, WARRINER, NormsTable, norms_of
from heartfelt.study.recipes import recipe_study, reference_recipe
from heartfelt.study.study import Intent
from heartfelt.wording import listed, number

QUADRANTS = ("hv_ha", "lv_ha", "lv_la", "hv_la")
MIDDLE, LOW, HIGH = 5.0, 1.0, 9.0
_ALIKE = 0.8
"""Two chosen words that share this much of their letters may be forms of one word."""


@dataclass(frozen=True, slots=True)
class Norms:
    """Words with their valence and arousal on 1 to 9, lower case, each once."""

    table: pl.DataFrame
    """word, valence, arousal; ``valence_sd`` and ``arousal_sd`` where the source has them."""
    layout: str
    left_out: int = 0
    """Rows without a word or without one of the two numbers, and second rows of a word."""
    source: NormsTable | None = None
    """How the table is cited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    layout: str
    word: Sequence[str]
    valence: str
    arousal: str
    valence_sd: str | None = None
    arousal_sd: str | None = None


_OWN, _NRC = "own table", "NRC VAD"
_LAYOUTS = tuple(
    _Columns(**row)
    for row in tomllib.loads(files(__package__).joinpath("norms_layouts.toml").read_text("utf-8"))["layouts"]
)


def read_norms(path: Path, limits: tuple[float, float] | None = None) -> Norms:
    """The norms of a file. ``limits`` are the ends of its scales; by default those of its layout or its values."""
    sheet = NamedTable.read(path)
    for layout in _LAYOUTS:
        word = next((name for name in layout.word if name in sheet), None)
        if word is not None and layout.valence in sheet and layout.arousal in sheet:
            break
    else:
        raise InputError(
            f"{path} has no columns of words, valence and arousal that are known.",
            "Name them 'word', 'valence' and 'arousal', or use the file as Warriner, ANEW or NRC VAD publish it.",
        )
    spreads = {"valence_sd": layout.valence_sd, "arousal_sd": layout.arousal_sd}
    columns = {
        "valence": sheet.numbers(layout.valence),
        "arousal": sheet.numbers(layout.arousal),
        **{name: sheet.numbers(source) for name, source in spreads.items() if source and source in sheet},
    }
    words = sheet[word].cast(pl.String).str.strip_chars().str.to_lowercase()
    table = pl.DataFrame({"word": words, **columns})
    complete = table.filter(
        (pl.col("word").str.len_chars() > 0) & pl.col("valence").is_finite() & pl.col("arousal").is_finite()
    ).unique("word", keep="first", maintain_order=True)
    if not complete.height:
        raise InputError(f"{path} holds no word with a valence and an arousal.", "Get a complete copy of the file.")
    low, high = limits or _limits(complete)
    outside = complete.filter(pl.any_horizontal(~pl.col("valence", "arousal").is_between(low, high)))
    if outside.height:
        raise InputError(
            f"{path}: '{outside['word'][0]}' is not between {low:g} and {high:g} ({outside.height} such words).",
            "Say between which numbers the norms lie, such as --range 1..9.",
        )
    step = (HIGH - LOW) / (high - low)
    placed = complete.with_columns((pl.col("valence", "arousal") - low) * step + LOW)
    placed = placed.with_columns(pl.col("^.*_sd$") * step)
    name, source = _cited(layout.layout, path, sheet, (low, high))
    return Norms(placed, name, table.height - complete.height, source)


def _cited(layout: str, path: Path, sheet: NamedTable, limits: tuple[float, float]) -> tuple[str, NormsTable]:
    """The name of a table's layout, and how it is cited; NRC VAD has a dominance, and goes from 0 or -1 to 1."""
    if layout == _OWN and {"dominance", "Dominance"} & set(sheet.frame.columns) and limits[1] == 1.0:
        return _NRC, NRC_VAD_2 if limits[0] < 0 else NRC_VAD_1
    if layout == _OWN:
        return _OWN, NormsTable(name=f"{path.name} (SHA-256 {sha256_of(path)[:12]})")
    return layout, {"Warriner": WARRINER, "ANEW": ANEW}[layout]


def _limits(table: pl.DataFrame) -> tuple[float, float]:
    """The ends of the scales by the values: -1 to 1 where any is negative, 0 to 1 where none exceeds 1, else 1 to 9."""
    numbers = table.select("valence", "arousal").to_numpy()
    lowest, highest = float(numbers.min()), float(numbers.max())
    if lowest < 0:
        return -1.0, 1.0
    return (0.0, 1.0) if highest <= 1 else (LOW, HIGH)


def published_norms(recipe: str | None = None) -> Norms:
    """The words of a recipe with the coordinates that were published for them; by default the first that has any."""
    name = recipe or reference_recipe()
    intents = [intent for intent in recipe_study(name).intents if {"valence", "arousal"} <= set(intent.reference)]
    if not intents:
        raise InputError(
            f"The intents of the recipe '{name}' have no valence and arousal.", "Give a file of norms with --norms."
        )
    axes = {axis: [intent.reference[axis] for intent in intents] for axis in ("valence", "arousal")}
    credit = (recipe_study(name).credit or f"the recipe {name}").strip().rstrip(".")
    table = pl.DataFrame({"word": [intent.id for intent in intents], **axes})
    return Norms(table, f"recipe {name}", source=NormsTable(name=credit))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenIntents:
    """The words chosen, and what was left out on the way."""

    intents: tuple[Intent, ...]
    table: pl.DataFrame
    """word, valence, arousal, quadrant of every chosen word, quadrant by quadrant."""
    candidates: Mapping[str, int]
    """Words to choose from in each quadrant, after the margin."""
    between: int
    """Words left out because they stand between quadrants."""
    unknown: tuple[str, ...]
    """Wanted words without norms."""
    notes: tuple[str, ...]


def choose_intents(
    norms: Norms, words: Iterable[str] | None = None, options: IntentOptions | None = None
) -> ChosenIntents:
    """As many words for every quadrant, from ``words`` (all of the norms if left out)."""
    options = options or IntentOptions()
    per_quadrant, margin = options.per_quadrant, options.margin
    table = norms.table
    unknown: tuple[str, ...] = ()
    if words is not None:
        wanted = list(dict.fromkeys(word.strip().lower() for word in words if word.strip()))
        unknown = tuple(word for word in wanted if word not in set(table["word"]))
        table = table.filter(pl.col("word").is_in(wanted))
    table = _in_quadrants(table)
    # Norms are printed with two decimals: a word at 6.00 stands on the margin, not inside it.
    clear = table.filter(pl.col("away") > margin - 1e-9 if margin else pl.col("away") > 0)
    counts = {name: int((clear["quadrant"] == name).sum()) for name in QUADRANTS}
    short = [f"{name} ({count})" for name, count in counts.items() if count < per_quadrant]
    if short:
        raise InputError(
            f"There are not {per_quadrant} words in every quadrant outside the margin of {margin:g}: {', '.join(short)}.",
            "Give more words, ask for fewer per quadrant, or lower the margin.",
        )
    chosen = pl.concat(
        _chosen(clear.filter(pl.col("quadrant") == name), per_quadrant, options.by, options.seed, name)
        for name in QUADRANTS
    )
    source = norms.source.name if norms.source else None
    return ChosenIntents(
        intents=tuple(_intent(row, source) for row in chosen.iter_rows(named=True)),
        table=chosen.drop("away"),
        candidates=counts,
        between=table.height - clear.height,
        unknown=unknown,
        notes=tuple(_notes(chosen, unknown)),
    )


def _in_quadrants(table: pl.DataFrame) -> pl.DataFrame:
    """The words with their quadrant, and how far ``away`` they are from the nearer axis."""
    high_v, high_a = pl.col("valence") > MIDDLE, pl.col("arousal") > MIDDLE
    quadrant = (
        pl.when(high_v & high_a).then(pl.lit("hv_ha"))
        .when(high_a).then(pl.lit("lv_ha"))
        .when(high_v).then(pl.lit("hv_la"))
        .otherwise(pl.lit("lv_la"))
    )  # fmt: skip
    away = pl.min_horizontal((pl.col("valence", "arousal") - MIDDLE).abs())
    return table.with_columns(quadrant.alias("quadrant"), away.alias("away"))


def _intent(row: Mapping[str, Any], source: str | None) -> Intent:
    reference = {axis: round(row[axis], 2) for axis in ("valence", "arousal")}
    return Intent(id=row["word"], group=row["quadrant"], reference=reference, norms=source)


def intents_yaml(intents: Sequence[Intent]) -> str:
    """The intents as they stand in a ``study.yaml``, under a comment with the reference and terms of the norms."""
    dumped = [intent.model_dump(mode="json", exclude_defaults=True) for intent in intents]
    rows = [
        yaml.safe_dump(intent_fields, default_flow_style=True, sort_keys=False, width=1000).strip()
        for intent_fields in dumped
    ]
    cited = [f"# Reference coordinates on 1 to 9: {table.words}" for table in norms_of(intents)]
    return "\n".join([*cited, "intents:", *(f"  - {row}" for row in rows)]) + "\n"


def _chosen(table: pl.DataFrame, size: int, by: str, seed: int, quadrant: str) -> pl.DataFrame:
    ordered = table.sort("away", "word", descending=[True, False])
    if by == "clear":
        return ordered.head(size)
    if by == "random":
        indices = stream(seed, "intents", quadrant).permutation(ordered.height)[:size]
        return ordered[sorted(indices.tolist())]
    # The clearest word first, then always the one furthest from all that were taken.
    points = ordered.select("valence", "arousal").to_numpy()
    picked = [0]
    while len(picked) < size:
        squared_distances = ((points[:, None, :] - points[picked][None, :, :]) ** 2).sum(axis=2).min(axis=1)
        squared_distances[picked] = -1.0
        picked.append(int(squared_distances.argmax()))
    return ordered[picked]


def _notes(chosen: pl.DataFrame, unknown: Sequence[str]) -> Iterable[str]:
    if unknown:
        yield f"Without norms: {listed(unknown)}."
    for first, second in combinations(chosen["word"].to_list(), 2):
        if SequenceMatcher(None, first, second).ratio() >= _ALIKE or first in second or second in first:
            yield f"'{first}' and '{second}' may be forms of one word."
    for axis, other_axis in (("valence", "arousal"), ("arousal", "valence")):
        high, low = (
            chosen.filter((pl.col(other_axis) > MIDDLE) == side)[axis].to_numpy().mean() for side in (True, False)
        )
        if abs(high - low) > 1:
            yield (
                f"Words of high {other_axis} have a mean {axis} of {number(high, 2)}, those of low {other_axis} {number(low, 2)}:"
                f" an effect of {other_axis} would be partly one of {axis}."
            )
