"""The plug-ins in ``plugins/``: where one is not installed, it is used from the repository, with its entry points."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder, PackageNotFoundError, distribution
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"


class _Plugin(Distribution):
    """A plug-in as its pyproject.toml describes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: {self.project['name']}\nVersion: {self.project['version']}\n"
        if filename != "entry_points.txt":
            return None
        groups = self.project["entry-points"].items()
        return "\n".join(
            line
            for group, points in groups
            for line in (f"[{group}]", *(f"{name} = {points[name]}" for name in points))
        )

    def locate_file(self, path: object) -> Path:
        return self.folder / "src" / str(path)


class _Finder(DistributionFinder):
    def __init__(self, plugin: _Plugin) -> None:
        self.plugin = plugin

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Modules are found by sys.path."""

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008  # as the base class has it
    ) -> Iterator[Distribution]:
        if context.name in (None, self.plugin.project["name"]):
            yield self.plugin


def use_plugin(name: str) -> None:
    """Make a plug-in importable, and what it offers known."""
    try:
        distribution(name)
    except PackageNotFoundError:
        sys.path.append(str(PLUGINS / name / "src"))
        sys.meta_path.append(_Finder(_Plugin(PLUGINS / name)))
