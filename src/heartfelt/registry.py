"""Named things of one kind: formats, scales, recipes, rules, predictors.

A registry refuses a second thing under the same name, answers an unknown name with the known ones,
and takes in what other installed packages offer under the entry-point group ``heartfelt.<kind>s``. Modules listed as
``homes`` register their things when they are loaded, which is when something is first looked for; in a home,
``.*`` stands for every subpackage of a package that has the module named after it. Homes given by name (a mapping) are
loaded one at a time, when their name is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Generic, TypeVar

from heartfelt.errors import HeartfeltError, MissingPartError, UnknownNameError, suggestion

T = TypeVar("T")


class DuplicateNameError(HeartfeltError):
    """Two things registered under one name."""


class Registry(Generic[T]):
    """Things of one ``kind``, by name, in the order they were registered."""

    def __init__(self, kind: str, homes: Sequence[str] | Mapping[str, str] = ()) -> None:
        self.kind = kind
        self._home_of = dict(homes) if isinstance(homes, Mapping) else {}
        self._homes = tuple(dict.fromkeys(self._home_of.values())) or tuple(homes)
        self._things: dict[str, T] = {}
        self._complete = False

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
        return lambda thing: self.add(name, thing)

    def __getitem__(self, name: str) -> T:
        if name not in self._things and name in self._home_of:
            import_module(self._home_of[name])
        if name not in self._things and name not in self:
            raise UnknownNameError(
                f"No {self.kind} is called '{name}'.",
                suggestion(name, self._things, f"Known {self.kind}s"),
            )
        return self._things[name]

    def __contains__(self, name: object) -> bool:
        if name in self._home_of:
            return True
        self._load()
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(tuple(self._things))

    def __len__(self) -> int:
        self._load()
        return len(self._things)

    def names(self) -> list[str]:
        """All registered names, sorted."""
        return sorted(self)

    def items(self) -> list[tuple[str, T]]:
        """Every name with its thing, sorted by name."""
        return [(name, self._things[name]) for name in self.names()]

    def values(self) -> list[T]:
        """Everything registered, sorted by name."""
        return [self._things[name] for name in self.names()]

    def _load(self) -> None:
        """Take in what the homes register and what other packages offer, once."""
        if self._complete:
            return
        self._complete = True
        for home in self._homes:
            for module in _modules(home):
                import_module(module)
        for point in entry_points(group=self.group):
            try:
                thing = point.load()
            except ImportError as error:
                raise MissingPartError(
                    f"The {self.kind} '{point.name}' offered by {point.value} does not load: {error}.",
                    "Install what it needs, or uninstall the package that offers it.",
                ) from error
            self.add(point.name, thing)


def _modules(home: str) -> list[str]:
    package, every, module = home.partition(".*")
    if not every:
        return [home]
    subpackages = [part for part in iter_modules(import_module(package).__path__) if part.ispkg]
    names = [f"{package}.{part.name}{module}" for part in subpackages]
    return [name for name in names if find_spec(name) is not None]
