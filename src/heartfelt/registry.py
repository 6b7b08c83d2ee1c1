"""Named things of one kind: formats, scales, recipes, rules, predictors.

A registry refuses a second thing under the same name, answers an unknown name with the known ones,
and takes in what other installed packages offer under the entry-point group ``heartfelt.<kind>s``. Modules it is told of
as ``homes`` register their things when they are loaded, which is when something is first looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from heartfelt.errors import HeartfeltError, MissingPartError, UnknownNameError, suggestion

T = TypeVar("T")


class DuplicateNameError(HeartfeltError):
    """Two things registered under one name."""


class Registry(Generic[T]):
    """Things of one ``kind``, by name, in the order they were registered."""

    def __init__(self, kind: str, homes: Sequence[str] = ()) -> None:
        self.kind = kind
        self._homes = tuple(homes)
        self._things: dict[str, T] = {}
        self._plugins_read = False

    @property
    def group(self) -> str:
        """The entry-point group other packages register under."""
        return f"heartfelt.{self.kind.replace(' ', '_')}s"

    def add(self, name: str, thing: T) -> T:
        """Register ``thing`` under ``name``."""
        if name in self._things:
            raise DuplicateNameError(
                f"There is already a {self.kind} called '{name}'.",
                f"Give the new {self.kind} another name; existing ones are never replaced silently.",
            )
        self._things[name] = thing
        return thing

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate a thing to register it."""

        def keep(thing: T) -> T:
            return self.add(name, thing)

        return keep

    def __getitem__(self, name: str) -> T:
        if name not in self._things:
            self._read_plugins()
        if name not in self._things:
            raise UnknownNameError(
                f"There is no {self.kind} called '{name}'.",
                suggestion(name, self._things, f"Known {self.kind}s"),
            )
        return self._things[name]

    def __contains__(self, name: object) -> bool:
        self._read_plugins()
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        self._read_plugins()
        return iter(tuple(self._things))

    def __len__(self) -> int:
        self._read_plugins()
        return len(self._things)

    def names(self) -> list[str]:
        """All registered names, sorted."""
        return sorted(self)

    def _read_plugins(self) -> None:
        if self._plugins_read:
            return
        self._plugins_read = True
        for home in self._homes:
            import_module(home)
        for point in entry_points(group=self.group):
            try:
                thing = point.load()
            except ImportError as error:
                raise MissingPartError(
                    f"The {self.kind} '{point.name}' offered by {point.value} does not load: {error}.",
                    "Install what it needs, or uninstall the package that offers it.",
                ) from error
            self.add(point.name, thing)
