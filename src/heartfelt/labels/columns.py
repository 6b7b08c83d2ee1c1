"""Columns that the tables of labels share, and what makes one."""

from __future__ import annotations

import polars as pl

from heartfelt.tables import Column

ITEM = ["stimulus", "question"]


def text(name: str, about: str, *, nullable: bool = False) -> Column:
    return Column(name=name, dtype=pl.String, about=about, nullable=nullable)


def number(name: str, about: str, *, nullable: bool = False) -> Column:
    return Column(name=name, dtype=pl.Float64, about=about, nullable=nullable)


def count(name: str, about: str, *, nullable: bool = False) -> Column:
    return Column(name=name, dtype=pl.Int64, about=about, nullable=nullable)


def flag(name: str, about: str, *, nullable: bool = False) -> Column:
    return Column(name=name, dtype=pl.Boolean, about=about, nullable=nullable)


def samples(name: str, about: str) -> Column:
    """Numbers along a trace."""
    return Column(name=name, dtype=pl.List(pl.Float64), about=about, nullable=True)


ITEM_COLUMNS = (text("stimulus", "the stimulus id"), text("question", "the question id"))


def estimate_columns(of: str, value: str) -> tuple[Column, ...]:
    """A value with its standard error and interval; ``of`` is what is estimated."""
    return (
        number("value", value, nullable=True),
        number("standard_error", f"standard error of the {of}", nullable=True),
        number("low", f"lower bound of the {of}'s interval", nullable=True),
        number("high", f"upper bound of the {of}'s interval", nullable=True),
    )
