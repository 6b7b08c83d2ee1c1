"""``read.R``: reads the CSV tables of a release into R, with types, factors in the order of the study, and missing values.

The script is plain ASCII and needs no packages, so that it runs under any locale.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from heartfelt.files import packaged_text
from heartfelt.publishing.layouts.tables import ReleaseTable
from heartfelt.publishing.release.release import Release
from heartfelt.publishing.release.splits import split_of
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.study import Study
from heartfelt.templates import text_templates

_LARGEST = {"integer": 2**31 - 1, "numeric": 2**53}
_LEVELS = 200
"""Facts about raters with more values than this are left as text."""


def r_script(release: Release, tables: Sequence[ReleaseTable]) -> str:
    return (
        text_templates(__package__)
        .get_template("read.R.j2")
        .render(
            title=r_text(release.details.title or release.snapshot.study.name),
            columns=[(table.name, _columns(table)) for table in tables],
            factors=[(table.name, _factors(table, release)) for table in tables],
            functions=packaged_text(__package__, "templates/read_release.R"),
        )
    )


def r_text(text: str) -> str:
    """A string of R in plain ASCII."""
    out = []
    for character in text:
        code = ord(character)
        if character in '"\\':
            out.append(f"\\{character}")
        elif 32 <= code < 127:
            out.append(character)
        elif code:
            out.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return f'"{"".join(out)}"'


def _vector(texts: Sequence[str]) -> str:
    return f"c({', '.join(map(r_text, texts))})" if texts else "character(0)"


def _columns(table: ReleaseTable) -> str:
    largest = _largest(table)
    types = [_type(column.dtype, largest.get(column.name, 0)) for column in table.columns]
    names = _vector([column.name for column in table.columns])
    return f"list(\n    names = {names},\n    types = {_vector(types)}\n  )"


def _largest(table: ReleaseTable) -> dict[str, int]:
    names = [column.name for column in table.columns if column.dtype.startswith(("int", "uint"))]
    if not names:
        return {}
    sizes = pl.col(names).cast(pl.Int128).abs().max()
    row = table.frame.select(sizes).collect(engine="streaming").row(0, named=True)
    return {name: value or 0 for name, value in row.items()}


def _type(dtype: str, largest: int) -> str:
    if dtype.startswith(("int", "uint")):
        return next((name for name, limit in _LARGEST.items() if largest <= limit), "character")
    if dtype.startswith("float"):
        return "numeric"
    return {"boolean": "logical", "datetime": "moment", "date": "date"}.get(dtype, "character")


def _factors(table: ReleaseTable, release: Release) -> str:
    study, of_raters = release.snapshot.study, table.name == "raters"
    levels = {
        "question": [question.id for question in study.asked],
        "system": [system.id for system in study.systems],
        "intent": [intent.id for intent in study.intents],
        SPLIT: list(split_of(release).shares),
    }
    if of_raters:
        levels |= _of_raters(study, [column.name for column in table.columns])
    texts = [column.name for column in table.columns if column.dtype == "string" and column.name in levels]
    if not texts:
        return "list()"
    columns = [pl.col(name).unique().drop_nulls().sort().implode() for name in texts]
    values: dict[str, list[str]] = table.frame.select(columns).collect(engine="streaming").row(0, named=True)
    parts = [
        f"    list(column = {r_text(name)}, levels = {_vector(list(dict.fromkeys([*levels[name], *values[name]])))})"
        for name in texts
        if not of_raters or len(values[name]) <= _LEVELS
    ]
    return "list(\n" + ",\n".join(parts) + "\n  )" if parts else "list()"


def _of_raters(study: Study, names: Sequence[str]) -> dict[str, list[str]]:
    """Facts about raters that take few values, with their choices in the order of the study."""
    choices = {fact.id: list(fact.choices) for fact in study.demographics if fact.type in {"choice", "number"}}
    choices |= {f"about_{name}": order for name, order in choices.items()}
    return {name: choices[name] for name in names if name in choices}
