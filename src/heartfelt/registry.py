"""Named things of one kind: formats, scales, recipes, rules, predictors.

A registry refuses a second thing under the same name, answers an unknown name with the known ones,
and takes in what other installed packages offer under the entry-point group ``heartfelt.<kind>s``. Modules listed as
``homes`` register their things when they are loaded, which is when something is first looked for; in a home,
``.*`` stands for every subpackage of a package that has the module named after it. Homes given by name (a mapping) are
loaded one at a time, when their name is looked up. An entry point that does not load is reported where its name is asked for;
everything else stays available.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Generic, TypeVar

from heartfelt.errors import HeartfeltError, MissingPartError, UnknownNameError, suggestion
from heartfelt.extras import plugin_command

T = TypeVar("T")
_log = logging.getLogger(__name__)


class DuplicateNameError(HeartfeltError):
    """Two things registered under one name."""


class Registry(Generic[T]):
    """Things of one ``kind``, by name, in the order they were registered."""

    def __init__(
        self,
        kind: str,
        homes: Sequence[str] | Mapping[str, str] = (),
        refused: Mapping[str, tuple[str, str]] | None = None,
        plugins: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self._refused = dict(refused or {})
        """Names that people look for and that are not offered: the problem and the fix of each."""
        self._plugin_of = dict(plugins or {})
        """Names that a plug-in of heartfelt's repository offers where it is installed."""
        self._failed: dict[str, MissingPartError] = {}
        self._home_of = dict(homes) if isinstance(homes, Mapping) else {}
        self._homes = tuple(dict.fromkeys(self._home_of.values())) or tuple(homes)
        self._things: dict[str, T] = {}
        self._complete = False

    @property
    def group(self) -> str:
        """The entry-point group other packages register under."""
        return f"heartfelt.{self.kind.replace(' ', '_')}s"

    def add(self, name: str, registered: T) -> T:
        """Register ``registered`` under ``name``."""
        if name in self._things:
            raise DuplicateNameError(
                f"There is already a {self.kind} called '{name}'.",
                f"Give the new {self.kind} another name; existing ones are never replaced silently.",
            )
        self._things[name] = registered
        return registered

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate a thing to register it."""
        return lambda registered: self.add(name, registered)

    def __getitem__(self, name: str) -> T:
        if name not in self._things and name in self._home_of:
            import_module(self._home_of[name])
        if name not in self._things and name not in self:
            if name in self._failed:
                raise self._failed[name]
            if name in self._refused:
                raise MissingPartError(*self._refused[name])
            if name in self._plugin_of:
                plugin = self._plugin_of[name]
                problem = f"The {self.kind} '{name}' is part of the plug-in {plugin}, which is not installed."
                raise MissingPartError(problem, f"Install it: {plugin_command(plugin)}")
            raise UnknownNameError(
                f"No {self.kind} is called '{name}'.", suggestion(name, self._things, f"Known {self.kind}s")
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

    def explains(self, name: str) -> bool:
        """Whether asking for ``name`` says why it cannot be had: it is refused, or its package does not load."""
        return name in self._refused or (name in self._plugin_of and name not in self) or name in self.failed

    @property
    def failed(self) -> Mapping[str, MissingPartError]:
        """The names offered by other packages that could not be loaded, with the reason."""
        self._load()
        return dict(self._failed)

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
            self._add_point(point)

    def _add_point(self, point: EntryPoint) -> None:
        """Register what another package offers, or note why it cannot be used."""
        package = point.dist.name if point.dist is not None else point.value
        if point.name in self._things or point.name in self._home_of:
            problem = f"The package {package} offers a {self.kind} '{point.name}', a name that is already taken."
            self._failed[point.name] = MissingPartError(problem, f"Give the {self.kind} another name there.")
            return
        try:
            self._things[point.name] = point.load()
        except Exception as error:  # noqa: BLE001  # the edge: another package's code may raise anything
            _log.info("the %s '%s' of %s does not load", self.kind, point.name, package, exc_info=error)
            self._failed[point.name] = MissingPartError(
                f"The {self.kind} '{point.name}' offered by {package} ({point.value}) does not load: {error}.",
                "Install what it needs, or uninstall the package that offers it.",
            )


def _modules(home: str) -> list[str]:
    package, every, module = home.partition(".*")
    if not every:
        return [home]
    subpackages = [part for part in iter_modules(import_module(package).__path__) if part.ispkg]
    names = [f"{package}.{part.name}{module}" for part in subpackages]
    return [name for name in names if find_spec(name) is not None]
