"""Licences of well-known generative models, by their names on the hub: shown before a model is first used."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from heartfelt.stimuli.generators.generator import Licence

_TABLE = tomllib.loads(files(__package__).joinpath("known_licences.toml").read_text("utf-8"))
LICENCES: Mapping[str, Licence] = {
    model: Licence(row["name"], row["url"], row["commercial"], row.get("note", ""))
    for row in _TABLE["licences"]
    for model in row["models"]
}
"""By model; a name that ends in ``*`` stands for all that begin like it."""


def licence_of(model: str) -> Licence:
    for name, licence in LICENCES.items():
        if model == name or (name.endswith("*") and model.startswith(name[:-1])):
            return licence
    return Licence("not known", f"https://huggingface.co/{model}" if model.count("/") == 1 else "")
