"""Pages of a site: they share one style and one script, and a bar that leads to the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from heartfelt import __version__
from heartfelt.errors import InputError
from heartfelt.report.page import SCRIPTS, ReportPage, asset, script_json

ASSETS = "assets"
_OWN = "heartfelt.report.site"


@cache
def template(name: str) -> Template:
    """A template of the site, compiled once."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(_OWN, "assets"), PackageLoader("heartfelt.report", "assets")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"version": __version__}
    return environment.get_template(name)


def own_asset(name: str) -> str:
    """The text of a file of the site's own."""
    return files(_OWN).joinpath("assets", name).read_text(encoding="utf-8")


def must_be_ours(target: Path, mark: str, what: str) -> None:
    """Raise where a folder that is to be replaced holds anything but an earlier site; ``mark`` is a file that every site has."""
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / mark).is_file())):
        raise InputError(
            f"{target} already exists and is not {what}.", "Choose another folder, or remove this one first."
        )


def write_assets(folder: Path, *scripts: str) -> None:
    """The style and the script that all pages share; further scripts of this package by name."""
    (folder / ASSETS).mkdir()
    (folder / ASSETS / "site.css").write_text(asset("report.css") + own_asset("site.css"), encoding="utf-8")
    (folder / ASSETS / "site.js").write_text("\n".join(asset(name) for name in SCRIPTS), encoding="utf-8")
    for name in scripts:
        (folder / ASSETS / name).write_text(own_asset(name), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds a page: the site's name, the places its bar leads to, where the page is, and the way to the site's folder."""

    site: str
    places: Mapping[str, str]
    here: str = ""
    root: str = "../"

    @property
    def parts(self) -> dict[str, object]:
        """What templates read."""
        return {"site": self.site, "places": self.places, "here": self.here, "root": self.root}


def render_page(page: ReportPage, frame: Frame, name: str = "site.html") -> str:
    """A page with figures and tables as HTML."""
    return template(name).render(page=page, data=Markup(script_json(page.data)), **frame.parts)
