"""The viewer of a run: what was sent, what came back, retries and labels, from real requests to servers; and in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors import Retry, RunOptions
from heartfelt.predictors.execution.store import Journal
from heartfelt.report.bench.write import run_bench
from heartfelt.report.site.options import ViewOptions
from heartfelt.report.site.viewer import RunView, read_run_folder, write_view
from heartfelt.scoring import ScoreOptions
from heartfelt.scoring.bench import BenchOptions
from tests.predictors.servers import Reply, good, serving
from tests.predictors.studies import snapshot as small
from tests.report.site.conftest import HOSTILE, SECRET, Made
from tests.report.test_browser import Watched, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow  # a bench with two servers takes seconds


def chatting(request: dict[str, Any], count: int) -> Reply:
    """Too busy at first; then in turn an answer, an answer with markup in it, and one that is no JSON and repeats the key."""
    if count == 1:
        return Reply(429, b"busy", {"Retry-After": "0"})
    answer = {"reason": HOSTILE if count % 3 == 1 else "it sounds so", "answer": 1 + count % 9}
    content = json.dumps({"q1": answer, "q2": answer})
    if count % 3 == 2:
        content = f"no JSON {HOSTILE} {SECRET}"
    whole = {
        "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
        "model": "tiny",
        "usage": {"prompt_tokens": 9, "completion_tokens": 4},
    }
    return Reply(body=json.dumps(whole).encode())


@pytest.fixture(scope="module")
def run(study: Made) -> Path:
    """A bench of a chat model and of a server of similarities."""
    folder = study.folder / "asked"
    options = BenchOptions(
        score=ScoreOptions(resamples=100, ceilings=False), run=RunOptions(at_once=1, retry=Retry(first_wait=0.0))
    )
    with pytest.MonkeyPatch.context() as patch, serving(chatting) as chat, serving(good) as endpoint:
        patch.setenv("HEARTFELT_CHAT_KEY", SECRET)
        models = [f"tiny=chat:tiny@{chat.url}", f"endpoint:{endpoint.url}"]
        run_bench(study.snapshot, models, folder, options)
    return folder


@pytest.fixture(scope="module")
def view(run: Path) -> RunView:
    return read_run_folder(run)


@pytest.fixture(scope="module")
def folder(run: Path, study: Made) -> Path:
    return write_view(run, options=ViewOptions(release=study.folder / "snapshot"))


def test_everything_that_was_sent_and_answered_is_there(run: Path, view: RunView, study: Made) -> None:
    assert len(view.samples) == 2 * 2 * 36
    mine = [sample for sample in view.samples if sample.model == "tiny"]
    first = mine[0]
    assert (first.attempts, len(first.errors)) == (2, 1)
    assert "429" in first.errors[0]
    calls = [view.exchanges[sample.exchanges[0]] for sample in mine]
    assert all(call.prompt and "How valence?" in call.prompt and "[input_audio]" in call.prompt for call in calls)
    failed = [sample for sample in mine if sample.problem]
    assert len(failed) == 24
    assert "no JSON" in str(view.exchanges[failed[0].exchanges[0]].completion)
    # Errors are in percent of the range of labels and answers, the label is that of the study.
    sample = next(each for each in mine if not each.problem)
    items = pl.read_parquet(run / "items.parquet").filter(pl.col("question") == sample.question)
    low, high = min(items["truth"].min(), items["code"].min()), max(items["truth"].max(), items["code"].max())  # type: ignore[type-var]  # numbers
    assert sample.value is not None
    assert sample.truth is not None
    assert sample.error == pytest.approx(100 * abs(sample.value - sample.truth) / (high - low), abs=0.01)  # type: ignore[operator]  # numbers
    asked = [sample for sample in view.samples if sample.model != "tiny"]
    call = view.exchanges[asked[0].exchanges[0]]
    assert "similarit" in str(call.completion)
    assert asked[0].stimulus in str(call.prompt)
    summary = json.loads(next((run / "runs").glob("endpoint*/run.json")).read_text())
    assert "usage" not in summary


def test_a_run_that_is_continued_still_has_what_was_sent(run: Path, view: RunView, tmp_path: Path) -> None:
    """The journal has each text once, though two questions were answered from one request."""
    (home,) = (run / "runs").glob("*chat*")
    shutil.copy(home / "journal.jsonl", tmp_path)
    text = (tmp_path / "journal.jsonl").read_text()
    assert text.count("You take the place of") == 36
    journal = Journal(tmp_path)
    sent = {name: call.prompt for name, (_, call) in journal.calls.items()}
    journal.close()
    assert journal.dropped == 0
    assert sent == {name: view.exchanges[name].prompt for name in sent}
    assert len(sent) == 36
    assert sum(len(entry.prediction.errors or ()) for entry in journal.entries.values()) == 2


def test_the_key_is_nowhere_and_text_is_escaped(run: Path, folder: Path) -> None:
    for path in (each for each in run.rglob("*") if each.is_file()):
        assert SECRET.encode() not in path.read_bytes(), path
    for path in (folder / "index.html", *(folder / "data").iterdir()):
        assert "<img src=x" not in path.read_text()
        assert path.suffix == ".html" or "</script" not in path.read_text()


def test_runs_of_earlier_versions_can_be_seen(run: Path, tmp_path: Path) -> None:
    """Without what was sent, without errors of attempts, or one model's folder alone."""
    (home,) = (run / "runs").glob("*chat*")
    for name in ("predictions.parquet", "calls.parquet"):
        table = pl.read_parquet(home / name)
        table.drop("prompt", "errors", strict=False).write_parquet(tmp_path / name)
    old = read_run_folder(tmp_path)
    assert len(old.samples) == 72
    assert {each.prompt for each in old.exchanges.values()} == {None}
    assert all(sample.truth is None for sample in old.samples)
    assert write_view(tmp_path, tmp_path / "out").is_dir()
    with pytest.raises(InputError, match="not a finished run"):
        read_run_folder(run / "runs")
    with pytest.raises(InputError, match="There is no folder"):
        read_run_folder(tmp_path / "nowhere")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="is not a viewer"):
        write_view(tmp_path, tmp_path / "taken")


@pytest.mark.browser
def test_in_a_browser(folder: Path, study: Made, browser: Browser) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched = Watched(browser, folder / "index.html", 320)
    page = watched.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.set_viewport_size({"width": 1280, "height": 900})
    # The largest error is first; the keyboard moves through the list and opens samples.
    errors = [float(text) for text in page.locator("tbody tr td:nth-child(6)").all_text_contents() if text != "–"]
    assert errors == sorted(errors, reverse=True)
    page.locator("tbody .choose").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#detail .exchange")
    first = page.locator("#detail h3").first.text_content()
    page.locator("tbody .choose").first.focus()
    page.keyboard.press("ArrowDown")
    until(page, "() => document.activeElement.closest('tr').classList.contains('playing')")
    assert first in [name.strip() for name in study.snapshot.stimuli["stimulus"]]
    # Failures: the raw answer is text, directions are marked.
    page.locator("[data-filter=outcome]").select_option("failed")
    assert (page.locator("[role=search] [role=status]").text_content() or "").startswith("24 of 144")
    page.locator("tbody .choose").first.click()
    until(page, "() => [...document.querySelectorAll('.raw')].some((part) => part.textContent.includes('no JSON'))")
    raw = page.locator("#detail .raw").last.text_content() or ""
    assert "<img src=x onerror=alert(1)>" in raw
    assert "⟨U+202E⟩" in raw
    assert page.locator("#detail img").count() == 0
    assert page.locator("#detail audio").evaluate("audio => audio.error") is None
    address = page.url
    assert re.search(r"#sample-\d+$", address)
    assert watched.complaints == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        results = Axe().run(page)
        assert results.violations_count == 0, (scheme, results.generate_report())
    page.emulate_media(media="print")
    assert page.locator("#detail").evaluate("part => getComputedStyle(part).position") == "static"
    inside = (folder.parent.parent / "media").as_uri()
    assert all(url.startswith(("data:", folder.as_uri(), inside)) for url in watched.requests)
    # An address leads to its sample.
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#detail .exchange")
    watched.context.close()


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bench of a chat model with prices, asked two questions in one request, three times each."""
    root = tmp_path_factory.mktemp("repeated")

    def answer(request: dict[str, Any], count: int) -> Reply:
        entry = {"answer": 2 + request["seed"]}
        content = json.dumps({"q1": entry, "q2": {"answer": "joy" if request["seed"] < 2 else "calm"}})
        whole = {
            "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 900, "completion_tokens": 100},
        }
        return Reply(body=json.dumps(whole).encode())

    options = BenchOptions(
        score=ScoreOptions(resamples=100, ceilings=False), run=RunOptions(repeats=3), questions=("valence", "mood")
    )
    with serving(answer) as chat:
        settings = "temperature=1,seed=0,input_price=1000,output_price=1000,key_from=none"
        run_bench(small(root / "data", 4), [f"tiny=chat[{settings}]:tiny@{chat.url}"], root / "run", options)
    return root / "run"


def test_tokens_cost_and_repeats_of_every_sample_and_of_the_run(repeated: Path) -> None:
    view = read_run_folder(repeated)
    assert len(view.exchanges) == 12
    assert view.about["tiny"].version is None, "a chat model without a version has its name only"
    for sample in view.samples:
        assert (sample.input_tokens, sample.output_tokens, sample.cost) == (2_700, 300, 1.5)
        numbers = sample.question == "valence"
        assert sample.repeats == (("2", "3", "4") if numbers else ("joy", "joy", "calm"))
        assert sample.spread == (1.0 if numbers else None)
        assert sample.agreement == (None if numbers else pytest.approx(2 / 3))
    assert sum(sample.cost or 0 for sample in view.samples) == pytest.approx(12.0)
    text = (write_view(repeated) / "index.html").read_text()
    assert '"asked again"' not in text, "a repeat is no second attempt"
    for words in ("Tokens and cost", "Self-consistency", "cost per item", "12,000"):
        assert words in text
    # The folder of the single model says the same, without what a bench adds.
    (home,) = (repeated / "runs").iterdir()
    alone = read_run_folder(home)
    assert [sample.repeats for sample in alone.samples] == [sample.repeats for sample in view.samples]
    assert "Tokens and cost" in (write_view(home, repeated.parent / "alone") / "index.html").read_text()


@pytest.mark.browser
def test_the_open_sample_shows_its_repeats_and_cost(repeated: Path, browser: Browser) -> None:
    watched = Watched(browser, write_view(repeated, repeated.parent / "shown") / "index.html")
    page = watched.page
    page.locator("tbody .choose").first.click()
    page.wait_for_selector("#detail .exchange")
    shown = page.locator("#detail").inner_text()
    for words in ("2,700 in, 300 out", "1.5", "SD of the repeats", "1, for 2 questions", "repeat 1", "repeat 2"):
        assert words in shown, shown
    assert watched.complaints == []
    watched.context.close()
