"""One HTML file that needs nothing else: its sections, style, script, data and small media are inside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import ParamSpec, TypeVar

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from heartfelt import __version__
from heartfelt.failures import Failed, attempt_part
from heartfelt.report.charts import Absent, Chart, Charts
from heartfelt.report.layout.tables import pairs_table
from heartfelt.serialization import to_json

P = ParamSpec("P")
S = TypeVar("S", bound="Section | None")
SCRIPTS = ("report.js", "charts.js", "tables.js", "list.js", "boot.js")
KINDS = ("pdf", "svg", "png", "csv")
NUMBERS_SHOWN = 20
PLAY = Markup(
    '<button type="button" class="listen" data-stimulus="{0}" data-words="{1}" aria-label="Play {0}">▶</button>'
)
"""Plays a stimulus: its id, and what the player says of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a page: a heading, a lead and ready HTML."""

    id: str
    title: str
    lead: str = ""
    html: str = ""
    short: str = ""
    """Its name in the table of contents, where the title is long."""
    fact: str = ""
    """Its main fact, which stands next to the title where the section is folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage:
    """A page: its subject, its sections in order, the figures its script draws and the media it plays.

    A page with an ``opening`` (ready HTML, its first screen) shows that first and folds its sections.
    """

    title: str
    subtitle: str
    sections: Sequence[Section]
    charts: Charts = field(default_factory=dict)
    media: Mapping[str, str] = field(default_factory=dict)
    facts: Sequence[tuple[str, str]] = ()
    more: Mapping[str, object] = field(default_factory=dict)
    """What else the script reads."""
    opening: str = ""
    forms: bool = False
    """Whether it has a form, which is sent to the server it comes from."""

    @property
    def data(self) -> dict[str, object]:
        """What the script reads."""
        figures = {name: chart for name, chart in self.charts.items() if isinstance(chart, Chart)}
        return {"figures": figures, "media": self.media, **self.more}


@cache
def environment() -> Environment:
    """What renders every template of reports and sites."""
    folders = (("report", "site/assets"), ("report", "assets"), ("report", ""), ("", ""))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(f"heartfelt.{package}".rstrip("."), folder) for package, folder in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"version": __version__}
    return environment


@cache
def asset(name: str) -> str:
    """The text of a file that is put into pages."""
    return files("heartfelt.report").joinpath("assets", name).read_text(encoding="utf-8")


def script_json(data: object) -> str:
    """JSON that can be put inside a script element: strict, and with nothing that could end the element."""
    text = json.dumps(to_json(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def render(page: ReportPage) -> str:
    """The page as one HTML text."""
    script = Markup("\n".join(asset(name) for name in SCRIPTS))
    data = Markup(script_json(page.data))
    template = environment().get_template("page.html")
    return template.render(page=page, style=Markup(asset("report.css")), script=script, data=data)


def figure_block(name: str, charts: Charts, *, look: str = "", files: bool = True, numbers: bool = True) -> Markup:
    """A figure that the script draws, with its caption, files and numbers; the reason where it is absent.

    ``look`` is a class of its own, such as ``flow`` for panels in two streams. Without ``files`` the folder has no
    pictures of it.
    """
    chart = charts.get(name)
    if chart is None:
        return Markup("")
    if isinstance(chart, Absent):
        return absent(f"No figure here: {chart.reason}.") if files else absent(chart.reason)
    instead, links, behind = Markup("This figure is drawn by the page's own script."), Markup(""), Markup("")
    if files and chart.pictures:
        instead = Markup('<img src="figures/{}.png" alt="{}">').format(name, chart.title)
    if files:
        links = Markup('<p class="files">Files: {}</p>\n').format(Markup(" ").join(file_links(name, chart)))
    if numbers:
        more = f"all are in {f'figures/{name}.csv' if files else 'the files'}"
        grid = pairs_table(f"{chart.title}: the numbers", chart.rows, most=NUMBERS_SHOWN, more=more)
        behind = folded("Numbers behind this figure", grid) + "\n"
    return Markup(
        '<figure class="chart" id="figure-{name}">\n<h3>{title}</h3>\n'
        '<div class="figure{look}" data-figure="{name}"><noscript>{instead}</noscript></div>\n'
        "<figcaption>{caption}</figcaption>\n{links}{behind}</figure>"
    ).format(
        name=name,
        look=f" {look}" if look else "",
        title=chart.title,
        caption=chart.caption,
        instead=instead,
        links=links,
        behind=behind,
    )


def opening_figure(name: str, charts: Charts, about: str, *, panels: int) -> Markup:
    """A figure of the page once more, on its first screen: all stimuli on one map, else its first ``panels`` panels.

    Its files and numbers are in its section; ``about`` is its caption here.
    """
    chart = charts.get(name)
    if not isinstance(chart, Chart):
        return Markup("")
    picture = Markup('<noscript><img src="figures/{}.png" alt="{}"></noscript>').format(name, chart.title)
    return Markup(
        '<figure class="opening-figure">\n<h3>{title}</h3>\n'
        '<div class="figure" data-figure="{name}" data-opening="{panels}">{picture}</div>\n'
        '<figcaption>{about} <a href="#figure-{name}">Details</a></figcaption>\n</figure>'
    ).format(name=name, title=chart.title, panels=panels, about=about, picture=picture if chart.pictures else "")


def figure_blocks(charts: Charts, *names: str) -> Markup:
    """Figures below each other."""
    return joined(*(figure_block(name, charts) for name in names))


def file_links(name: str, chart: Chart) -> list[Markup]:
    link = Markup('<a href="figures/{0}.{1}" download>{2}</a>')
    return [link.format(name, kind, kind.upper()) for kind in (KINDS if chart.pictures else KINDS[-1:])]


def section_or_reason(build: Callable[P, S], *args: P.args, **options: P.kwargs) -> S | Section:
    """The section, or one that says why it is missing (:mod:`heartfelt.failures`)."""
    name = build.__name__.strip("_").replace("_", "-")
    section = attempt_part(f"the section '{name}'", build, *args, **options)
    if not isinstance(section, Failed):
        return section
    words = f"This section is missing: {section.reason}."
    return Section(id=name, title=name.replace("-", " ").capitalize(), html=absent(words))


def absent(words: str) -> Markup:
    """A sentence in place of something that is not there."""
    return Markup('<p class="absent">{}</p>').format(words)


def paragraph(words: str) -> Markup:
    return Markup("<p>{}</p>").format(words)


def bullets(lines: Sequence[str], look: str = "") -> Markup:
    """A list of sentences."""
    items = Markup("\n").join(Markup("<li>{}</li>").format(line) for line in lines)
    return Markup("<ul{}>\n{}\n</ul>").format(Markup(' class="{}"').format(look) if look else "", items)


def folded(summary: str, content: Markup) -> Markup:
    """A part that opens on demand, and in print; nothing where it has no content."""
    frame = Markup("<details><summary>{}</summary>\n{}\n</details>")
    return frame.format(summary, content) if content else content


def side_by_side(*parts: Markup) -> Markup:
    """Parts in two columns where there is room."""
    return Markup('<div class="pair">\n{}\n</div>').format(joined(*parts))


def joined(*parts: Markup) -> Markup:
    """Parts below each other."""
    return Markup("\n").join(part for part in parts if part)
