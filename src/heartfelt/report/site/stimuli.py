"""A page for every stimulus (listen or look, what people said, what models said) and the list of all of them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from markupsafe import Markup

from heartfelt.predictors.answers.sets import SEPARATOR
from heartfelt.progress import Progress
from heartfelt.report.layout.media import relative_address
from heartfelt.report.layout.page import ReportPage, Section, environment
from heartfelt.report.site.contents import Contents
from heartfelt.report.site.frame import Frame, list_of_used, render_page
from heartfelt.report.site.sources.boards import Site, file_names, files_of
from heartfelt.report.site.sources.published import PublicFacts
from heartfelt.scoring.results.scores import Scores

FOLDER = "stimuli"
MEDIA = "media"
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif", ".bmp", ".svg")
_FILMS = (".mp4", ".webm", ".mov", ".mkv")
_CHOICE: Mapping[str, object] = {"kind": "text", "filter": "choice"}
_COLUMNS: Mapping[str, Mapping[str, object]] = {
    "stimulus": {"kind": "text", "links": True},
    "source": _CHOICE,
    "system": _CHOICE,
    "intent": _CHOICE,
    "prompt": {"kind": "text", "long": True},
    "split": _CHOICE,
    "mean error (%)": {"kind": "number", "places": 0, "filter": "least"},
    "answers": {"kind": "number", "places": 0},
    "failures": {"kind": "number", "places": 0},
}
FAILURES = list(_COLUMNS).index("failures")
Key: TypeAlias = tuple[int, str]
"""A board's place and a stimulus."""


def stimulus_addresses(site: Site) -> dict[Key, str]:
    """The file name of every stimulus's page, by board and stimulus."""
    names: dict[Key, str] = {}
    published_names = site.published.stimuli["stimulus"].to_list()
    for index, board in enumerate(site.boards):
        rows = board.scores.rows["stimulus"].unique(maintain_order=True).to_list()
        members = [part for name in rows for part in name.split(SEPARATOR)] if _compares(board.scores) else rows
        names |= {(index, name): name for name in dict.fromkeys([*(published_names if index == 0 else ()), *members])}
    return files_of(names)


def _compares(scores: Scores) -> bool:
    return any(task.kind == "choices" for task in scores.tasks)


def write_stimuli(
    site: Site,
    addresses: Mapping[Key, str],
    folder: Path,
    target: Path,
    menu: Mapping[str, str],
    *,
    copy_media: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write a page for every stimulus and the list of them below ``folder``, which will be ``target`` in the end."""
    home = folder / FOLDER
    home.mkdir()
    media = _media(site.published, folder, target, copy_media)
    page, done = environment().get_template("stimulus.html"), 0
    frame = Frame(site.title, menu).parts
    keys = list(addresses)
    contents = [Contents(site, index) for index in range(len(site.boards))]
    for done, key in enumerate(keys):
        near = [addresses[keys[at]] if 0 <= at < len(keys) else None for at in (done - 1, done + 1)]
        shown = contents[key[0]]
        file = media.get(key[1], "")
        text = page.render(
            name=key[1],
            media=file,
            kind=_media_kind(file),
            facts=shown.facts(key[1]),
            hidden=shown.is_hidden(key[1]),
            questions=shown.questions(key[1]),
            before=near[0] and quote(near[0]),
            after=near[1] and quote(near[1]),
            data="{}",
            **frame,
        )
        (home / addresses[key]).write_text(text, encoding="utf-8")
        if progress is not None and done % 100 == 0:
            progress("writing stimuli", done, len(keys))
    listed = render_page(_list(site, addresses, contents), Frame(site.title, menu, "Stimuli"))
    (home / "index.html").write_text(listed, encoding="utf-8")


def _media_kind(file: str) -> str:
    if file.lower().endswith(_IMAGE_SUFFIXES):
        return "image"
    return "video" if file.lower().endswith(_FILMS) else "audio"


def _media(published: PublicFacts, folder: Path, target: Path, copied: bool) -> dict[str, str]:
    """The address of every stimulus's media for its page: where they are, or a copy below the site."""
    if not copied:
        home = (target / FOLDER).resolve()
        root = {path.parent: relative_address(path.parent, home) for path in published.media.values()}
        return {name: f"{root[path.parent]}/{quote(path.name)}" for name, path in published.media.items()}
    (folder / MEDIA).mkdir()
    names = file_names(published.media)
    out = {}
    for name, path in published.media.items():
        file = names[name].removesuffix(".html") + path.suffix.lower()
        shutil.copyfile(path, folder / MEDIA / file)
        out[name] = f"../{MEDIA}/{quote(file)}"
    return out


def _list(site: Site, addresses: Mapping[Key, str], contents: Sequence[Contents]) -> ReportPage:
    """The page that lists all stimuli, with search and filters."""
    rows, links = [], list(map(quote, addresses.values()))
    for index, name in addresses:
        facts = dict(contents[index].facts(name))
        source = site.boards[index].scores.title if len(site.boards) > 1 else None
        shown = (facts.get(fact) for fact in ("system", "intent", "prompt", "split"))
        rows.append([name, source, *shown, *contents[index].error(name)])

    def is_used(column: int) -> bool:
        values = [row[column] for row in rows]
        return any(values) if column == FAILURES else any(value not in (None, "") for value in values)

    columns = [{"label": name, **look} for name, look in _COLUMNS.items()]
    listed = list_of_used(columns, rows, is_used, links=links, title="Stimuli", hint="name, system, prompt")
    item = Markup('<li><a href="{}">{}</a></li>').format
    items = Markup("").join(item(link, row[0]) for link, row in zip(links[:500], rows[:500], strict=True))
    html = Markup('<div data-list="stimuli"><noscript><ul>{}</ul></noscript></div>').format(items)
    lead = (
        "What people and models said about each. The error is the mean distance of the models' answers from the label, in"
        " percent of the scale."
    )
    return ReportPage(
        title="Stimuli",
        subtitle="",
        sections=[Section(id="stimuli", title="All stimuli", lead=lead, html=html)],
        more={"stimuli": listed},
    )
