"""The site of a benchmark: its numbers, its links, what it hides, and its pages in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.labels import first_answers, labels
from heartfelt.report.site import SiteOptions, write_site
from heartfelt.report.site.sources.secrets import shown_spec, without_secrets
from tests.report.pages import PageContent
from tests.report.site.conftest import SECRET, Made, predicted
from tests.report.test_browser import Watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow  # what they look at takes seconds to make


@pytest.fixture(scope="module")
def site(study: Made) -> Path:
    options = SiteOptions(release=study.folder / "snapshot", submit_to="https://example.org/submit")
    return write_site(study.folder / "benches", study.folder / "site", options)


def numbers_in(data: object) -> Iterator[float]:
    """Every number with a fraction in JSON data."""
    if isinstance(data, float):
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from numbers_in(each)


def text_of(path: Path) -> str:
    """The words of a page, tags left out."""
    body = re.sub(r"<(script|style).*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_a_stimulus_shows_what_people_and_models_said(site: Path, study: Made) -> None:
    known = labels(study.snapshot).table.filter(pl.col("question") == "valence").row(4, named=True)
    name = known["stimulus"]
    page = (site / "stimuli" / f"{name}.html").read_text()
    text = text_of(site / "stimuli" / f"{name}.html")
    assert f"People: {known['value']:.2f} [{known['low']:.2f}, {known['high']:.2f}] {known['n']} ratings" in text
    answers = first_answers(study.snapshot).filter(pl.col("stimulus") == name)
    votes = answers.filter(pl.col("question") == "valence")["value"].to_list()
    shown = [int(count) for count in re.findall(r'class="vote".*?</span> (\d+)', page)[:9]]
    assert shown == [votes.count(float(point)) for point in range(1, 10)]
    given = predicted(study.private.items.select("stimulus", "question", "label"))
    mine = given.filter((pl.col("stimulus") == name) & (pl.col("question") == "valence"))
    good = mine.filter(pl.col("model").str.starts_with("chat"))["value"].item()
    off = abs(good - known["value"])
    assert f"Good <one> {good:.2f} {off:.2f}" in text
    assert f'src="../../media/{name}.wav"' in page
    # A colour belongs to a model on every page.
    shades = {
        re.search(r'background:(#\w+)"></span><a href="[^"]*">Good &lt;one&gt;', path.read_text())[1]  # type: ignore[index]  # it is there
        for path in (site / "index.html", site / "models" / "index.html", site / "stimuli" / f"{name}.html")
    }
    assert len(shades) == 1
    assert shades.pop() in (site / "models" / "Good-one.html").read_text()


def test_links_lead_somewhere_and_secrets_nowhere(site: Path, study: Made) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == len(study.snapshot.stimuli) + 3 + 5
    for path in (*pages, site / "leaderboard.json"):
        content = path.read_text()
        assert SECRET not in content
        assert "/home/somebody" not in content
        assert path.suffix == ".json" or "<img src=x" not in content
        for link in re.findall(r'(?:href|src)="([^"#]+)"', content) if path.suffix == ".html" else ():
            if not link.startswith(("data:", "https://example.org")):
                assert (path.parent / unquote(unescape(link))).resolve().is_file(), (path.name, link)
    model = PageContent.read(site / "models" / "Poor-slow.html")
    assert model.tables["Why there is no answer"].rows[0][0].text.startswith("HTTP 401 Bearer ***")
    (identity,) = model.tables["Which model answered"].rows
    assert [cell.text for cell in identity[1:4]] == ["file:…/poor.csv", "file", "2.1"]
    worst = model.tables["valence: worst items"]
    offs = [float(cell.value or 0) for cell in (row[-1] for row in worst.rows)]
    assert offs == sorted(offs, reverse=True)
    assert {"chance", "ceiling"} <= set(PageContent.read(site / "index.html").table("valence: every model").columns)
    assert "https://example.org/submit" in text_of(site / "submit.html")


def test_what_is_held_out_appears_nowhere(study: Made) -> None:
    """Labels, and models' answers, of the hidden part are replaced by numbers that would be noticed."""
    source = study.folder / "private" / "all" / "items.parquet"
    items = pl.read_parquet(source)
    hidden = pl.col("stimulus").is_in(list(study.hidden))
    marked = [pl.when(hidden).then(n).otherwise(pl.col(c)).alias(c) for c, n in (("truth", 1777.13), ("code", 1888.31))]
    items.with_columns(marked).write_parquet(source)
    site = write_site(
        study.folder / "private",
        study.folder / "public site",
        SiteOptions(release=study.folder / "release", copy_media=True),
    )
    assert study.hidden
    for path in site.rglob("*.html"):
        assert not re.search(r"(?<![\d.])(?:1,?777|1,?888|111)\.", path.read_text()), path
    name = sorted(study.hidden)[0]
    page = text_of(site / "stimuli" / f"{name}.html")
    assert "are held out" in page
    assert "People:" not in page
    assert "Good" not in page
    assert (site / "media" / f"{name}.wav").is_file()
    shown = next(n for n in study.private.items["stimulus"] if n not in study.hidden)
    assert "People:" in text_of(site / "stimuli" / f"{shown}.html")
    assert "are hidden; scores include them" in text_of(site / "index.html")
    # Nothing tells a right guess of all hidden labels from a wrong one: no hash over them, no number to the last digit.
    written = json.loads((study.folder / "private" / "all" / "scores.json").read_text())
    digests = {study.private.hash[:12], *(value[:12] for value in study.private.table_hashes.values())}
    exact = {repr(number) for number in numbers_in(written["scores"]) if len(repr(number)) > 12}
    assert len(exact) > 50
    for path in site.rglob("*"):
        text = path.read_text(errors="replace") if path.suffix in {".html", ".json", ".js"} else ""
        assert not any(digest in text for digest in digests), path
        assert not any(number in text for number in exact), path
    # The same by name of the part, from the benchmark with all labels.
    study.private.write(study.folder / "private benchmark")
    options = SiteOptions(release=study.folder / "private benchmark", hold_out="test")
    again = write_site(study.folder / "private", study.folder / "named", options)
    assert not any(re.search(r"(?<![\d.])(?:1,?777|1,?888|111)\.", path.read_text()) for path in again.rglob("*.html"))
    assert "People:" not in text_of(again / "stimuli" / f"{name}.html")
    # A bench of the hidden part alone has scores, and not a single item to show.
    items.filter(hidden).write_parquet(source)
    alone = write_site(study.folder / "private", study.folder / "alone", SiteOptions(release=study.folder / "release"))
    assert "have hidden labels" in text_of(alone / "submit.html")
    assert "no answers" not in text_of(alone / "stimuli" / f"{name}.html")
    assert "People:" in text_of(alone / "stimuli" / f"{shown}.html")
    items.write_parquet(source)


def test_bad_input_is_answered(study: Made, tmp_path: Path) -> None:
    benches = study.folder / "benches"
    with pytest.raises(InputError, match="Give release too"):
        SiteOptions(hold_out="test")
    with pytest.raises(InputError, match="not an address"):
        SiteOptions(submit_to="javascript:alert(1)")
    with pytest.raises(InputError, match="not a published folder"):
        write_site(benches, tmp_path / "a", SiteOptions(release=benches))
    with pytest.raises(InputError, match="no part 'dev'"):
        write_site(benches, tmp_path / "a", SiteOptions(release=study.folder / "release", hold_out="dev"))
    assert not (tmp_path / "a").exists()


def test_the_commands(study: Made, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from heartfelt.cli.app import app

    benches, release = str(study.folder / "benches"), str(study.folder / "release")
    run = CliRunner().invoke
    made = run(app, ["site", benches, str(tmp_path / "site"), "--release", release, "--title", "Ours"])
    assert made.exit_code == 0, made.output
    assert "<h1>Ours</h1>" in (tmp_path / "site" / "index.html").read_text()
    plain = run(app, ["site", benches, str(tmp_path / "plain")])
    assert "Every label the benches were scored against is shown" in " ".join(plain.output.split())
    options = ["--release", release, "--site", str(tmp_path / "site")]
    seen = run(app, ["view", str(study.folder / "benches" / "first"), str(tmp_path / "view"), *options])
    assert seen.exit_code == 0, seen.output
    page = PageContent.read(tmp_path / "view" / "index.html")
    name, link = next(iter(page.data["links"].items()))
    assert (tmp_path / "view" / link).resolve() == tmp_path / "site" / "stimuli" / f"{name}.html"


def test_what_is_secret_is_replaced() -> None:
    assert without_secrets(f"Authorization: Bearer {SECRET}") == "Authorization: Bearer ***"
    assert without_secrets("https://me:word@host/x api_key=abcdef123") == "https://***@host/x api_key=***"
    assert without_secrets("the key: C minor, 12 tokens") == "the key: C minor, 12 tokens"
    assert shown_spec("endpoint:http://host/a/b?key=abc&x=1") == "endpoint:http://host/a/b?key=***&x=1"
    assert shown_spec("trained:/data/me/model") == "trained:…/model"


@pytest.mark.browser
def test_in_a_browser(site: Path, browser: Browser) -> None:
    """Pages are accessible in light and dark, fit 320 px and paper, work with the keyboard, and ask nobody for anything."""
    from axe_playwright_python.sync_playwright import Axe

    stimulus = sorted((site / "stimuli").glob("*.html"))[0]
    pages = [
        site / "index.html",
        site / "models" / "Good-one.html",
        site / "stimuli" / "index.html",
        stimulus,
        site / "submit.html",
    ]
    for path in pages:
        watched = Watched(browser, path, 320)
        page = watched.page
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
        for frame in page.locator(".wide.scrolls").all():
            assert frame.evaluate("frame => frame.tabIndex === 0 && !frame.previousElementSibling.hidden")
        page.set_viewport_size({"width": 1280, "height": 900})
        # Before axe, which tries to read the style by itself.
        assert watched.complaints == []
        inside = (site.parent / "media").as_uri()
        assert all(url.startswith(("data:", site.as_uri(), inside)) for url in watched.requests)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            results = Axe().run(page)
            assert results.violations_count == 0, (path.name, scheme, results.generate_report())
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 29)"
        page.emulate_media(media="print")
        for part in page.locator("nav.site, audio, .bar").all():
            assert not part.is_visible()
        watched.context.close()
    watched = Watched(browser, site / "stimuli" / "index.html")
    page = watched.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.get_by_label("system").select_option(index=1)
    count = page.locator("[role=search] [role=status]")
    assert count.text_content() == "12 of 36"
    page.get_by_label("Find").fill("zz nothing")
    assert count.text_content() == "0 of 36"
    page.get_by_label("Find").fill("")
    page.locator("tbody a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("audio.stimulus")
    assert page.url.startswith((site / "stimuli").as_uri())
    assert page.locator("audio.stimulus").evaluate("audio => audio.error") is None
    watched.context.close()
