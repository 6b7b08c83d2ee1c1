"""Pages of a site: they share one style and one script, and a bar that leads to the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from heartfelt.errors import InputError
from heartfelt.report.layout.page import SCRIPTS, ReportPage, asset, environment, script_json

ASSETS = "assets"
_PACKAGE = "heartfelt.report.site"


def own_asset(name: str) -> str:
    """The text of a file of the site's own."""
    return files(_PACKAGE).joinpath("assets", name).read_text(encoding="utf-8")


def require_own_site(target: Path, mark: str, content: str) -> None:
    """Raise where a folder that is to be replaced holds anything but an earlier site; ``mark`` is a file that every site has."""
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / mark).is_file())):
        raise InputError(
            f"{target} already exists and is not {content}.", "Choose another folder, or remove this one first."
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
    menu: Mapping[str, str]
    current: str = ""
    root: str = "../"

    @property
    def parts(self) -> dict[str, object]:
        """What templates read."""
        return {"site": self.site, "places": self.menu, "here": self.current, "root": self.root}


def list_of_used(
    columns: Sequence[Mapping[str, object]],
    rows: Sequence[Sequence[object]],
    is_used: Callable[[int], bool],
    **about: object,
) -> dict[str, object]:
    """A list as the page's script reads it, without the columns that are not used."""
    used = [index for index in range(len(columns)) if is_used(index)]
    return {
        "columns": [columns[index] for index in used],
        "rows": [[row[index] for index in used] for row in rows],
        "total": len(rows),
        **about,
    }


def render_page(page: ReportPage, frame: Frame, name: str = "site.html") -> str:
    """A page with figures and tables as HTML."""
    return environment().get_template(name).render(page=page, data=Markup(script_json(page.data)), **frame.parts)
