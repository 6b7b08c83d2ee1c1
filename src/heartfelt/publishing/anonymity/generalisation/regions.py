"""Countries and the region each is in, after the United Nations' standard M49; by name, common short name or ISO 3166 code."""

from __future__ import annotations

from functools import cache

from heartfelt.files import packaged_toml

_OF_COUNTRIES = ("country", "nation", "residence", "land", "国", "국")
_CONTINENTS = {
    "Africa": ("Northern Africa", "Sub-Saharan Africa"),
    "Americas": ("Northern America", "Latin America and the Caribbean"),
    "Asia": ("Central Asia", "Eastern Asia", "South-eastern Asia", "Southern Asia", "Western Asia"),
    "Europe": ("Eastern Europe", "Northern Europe", "Southern Europe", "Western Europe"),
    "Oceania": ("Oceania",),
}


@cache
def _by_name() -> dict[str, tuple[str, str]]:
    names: dict[str, tuple[str, str]] = {}
    for region, countries in packaged_toml(__package__, "regions.toml").items():
        for country in countries:
            code, _, name = country.partition(" ")
            names |= {code.casefold(): (region, code), name.casefold(): (region, code)}
    return names


def are_countries(column: str) -> bool:
    """Whether a column says by its name that it holds countries."""
    return any(word in column.casefold() for word in _OF_COUNTRIES)


def region_of(country: str) -> str | None:
    """The region of a country, by its name or two-letter code; None where it is not known."""
    return _by_name().get(country.strip().casefold(), (None, None))[0]


def code_of(country: str) -> str | None:
    """The two-letter code of a country, by its name or code; None where it is not known."""
    return _by_name().get(country.strip().casefold(), (None, None))[1]


def continent_of(country: str) -> str | None:
    """The continent of a country, or of a region."""
    region = region_of(country) or country
    return next((name for name, regions in _CONTINENTS.items() if region in regions), None)
