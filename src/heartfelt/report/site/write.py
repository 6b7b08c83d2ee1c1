"""A static site of benches, which opens from the disk: leaderboards, a page per model and per stimulus, how to submit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from heartfelt.errors import InputError
from heartfelt.files import whole_folder
from heartfelt.progress import Progress
from heartfelt.report.site.frame import Frame, render_page, require_own_site, write_assets
from heartfelt.report.site.models import model_page
from heartfelt.report.site.options import SiteOptions
from heartfelt.report.site.pages import index_page, models_page, run_page, submit_page
from heartfelt.report.site.sources.boards import Site, file_names, members, site_of
from heartfelt.report.site.sources.published import PublicFacts, read_published
from heartfelt.report.site.sources.runs import find_runs
from heartfelt.report.site.stimuli import stimulus_addresses, write_stimuli
from heartfelt.serialization import write_json

FOLDER = "leaderboard"


def write_site(
    source: Path | str, out: Path | str, options: SiteOptions | None = None, progress: Progress | None = None
) -> Path:
    """Make a site of every bench below ``source``; return its folder, which is either complete or absent."""
    options = options or SiteOptions()
    home, target = Path(source), Path(out)
    require_own_site(target, "leaderboard.json", "a leaderboard or a site")
    runs = find_runs(home, target)
    published = PublicFacts() if options.release is None else read_published(options.release, options.hold_out)
    site = site_of(runs, published, options.title, options.submit_to)
    stimuli = set(published.stimuli["stimulus"])
    if options.release is not None and stimuli.isdisjoint(name for run in runs for name in members(run.items)):
        raise InputError(
            f"{options.release} has none of the stimuli that the benches below {home} are about.",
            "Give the release that the benches were scored on.",
        )
    with whole_folder(target, replace=True) as folder:
        _write(site, folder, target, home, options, progress)
    return target


def write_leaderboard(
    folder: Path | str, out: Path | str | None = None, *, title: str = "", progress: Progress | None = None
) -> Path:
    """A site of every bench below ``folder`` without pages of stimuli, by default in ``folder/leaderboard``; return its folder."""
    target = Path(out) if out is not None else Path(folder) / FOLDER
    return write_site(folder, target, SiteOptions(title=title, stimuli=False), progress)


def _write(site: Site, folder: Path, target: Path, home: Path, options: SiteOptions, progress: Progress | None) -> None:
    addresses = stimulus_addresses(site) if options.stimuli else {}
    menu = {"Leaderboard": "index.html", "Models": "models/index.html"}
    menu |= {"Stimuli": "stimuli/index.html"} if addresses else {}
    menu |= {"Submit": "submit.html"}
    write_assets(folder)

    def write_page(path: str, text: str) -> None:
        (folder / path).write_text(text, encoding="utf-8")

    inside = Frame(site.title, menu)
    for name in ("models", "runs"):
        (folder / name).mkdir()
    pages = file_names([run.name for run in site.runs])
    for run in site.runs:
        write_page(f"runs/{pages[run.name]}", render_page(run_page(run, site, home, target), inside))
    for done, (model, file) in enumerate(site.models.items(), 1):
        write_page(f"models/{file}", render_page(model_page(site, model, addresses), inside))
        if progress is not None:
            progress("writing models", done, len(site.models))
    write_page("models/index.html", render_page(models_page(site), replace(inside, current="Models")))
    if addresses:
        write_stimuli(site, addresses, folder, target, menu, copy_media=options.copy_media, progress=progress)
    write_page(
        "index.html",
        render_page(index_page(site, pages, len(addresses)), replace(inside, current="Leaderboard", root="")),
    )
    write_page("submit.html", render_page(submit_page(site), replace(inside, current="Submit", root="")))
    write_json(folder / "leaderboard.json", {"boards": [board.asked_for for board in site.boards]})
