"""The rating page in a real Chromium on this machine: its weight, when it can be used, how soon the next trial is there."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--autoplay-policy=no-user-gesture-required"]
TRIALS = 6
_ANSWER = """async () => {
  const form = document.querySelector("form.trial"), end = performance.now() + 20000;
  const until = async (done) => { while (!done() && performance.now() < end) await new Promise((go) => setTimeout(go, 1)); };
  const play = document.querySelector(".play");
  if (form.dataset.locked !== undefined && play.dataset.state !== "pause") play.click();
  await until(() => form.dataset.locked === undefined);
  for (const question of document.querySelectorAll("fieldset.question")) question.querySelectorAll("input")[4].click();
  const sent = performance.now();
  document.querySelector("[data-does=submit]").click();
  await until(() => document.querySelector("form.trial") !== form && !document.querySelector(".play").disabled);
  return performance.now() - sent;
}"""
_WEIGHT = """() => performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
  .filter((one) => !one.name.includes("/media/")).reduce((sum, one) => sum + one.transferSize, 0)"""
_TIMES = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("left out: Playwright is not installed")
        return
    result = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if result is None:
        print("left out: there is no Chromium")
        return
    from heartfelt.collect import Collection
    from heartfelt.make.starter import StarterOptions, start_study
    from heartfelt.web.app import create_app
    from heartfelt.web.options import WebOptions
    from heartfelt.web.serve import serve_in_thread

    with tempfile.TemporaryDirectory() as space:
        folder = Path(space) / "study"
        start_study("aimoclips", folder, StarterOptions(design={"practice": 0}))
        options = WebOptions(b"a secret that is only for a benchmark", rater_per_minute=0, access_log=False)
        with (
            Collection.open(folder) as collection,
            serve_in_thread(create_app(collection, options)) as url,
            sync_playwright() as driver,
        ):
            browser = driver.chromium.launch(executable_path=result, args=ARGUMENTS)
            context = browser.new_context(viewport={"width": 1280, "height": 720})
            page = context.new_page()
            page.goto(url + "/")
            page.wait_for_selector("[data-does=agree]")
            weight = page.evaluate(_WEIGHT)
            for path, body in (
                ("consent", {"agreed": True}),
                ("demographics", {"answers": {"age": 30, "gender": "other"}}),
                ("ready", {}),
            ):
                context.request.post(f"{url}/rate/{path}", data=body)
            page.goto(url + "/rate")
            page.wait_for_selector(".play:enabled")
            print(f"the page is loaded after {page.evaluate(_TIMES):.0f} ms (wanted: under 1000)")
            print(f"its weight before media: {weight / 1000:.0f} kB (wanted: under 100)")
            shown = [page.evaluate(_ANSWER) for _ in range(TRIALS)]
            print(
                f"next trial shown: median {statistics.median(shown):.0f} ms, slowest {max(shown):.0f} ms (wanted: under 100)"
            )
            browser.close()
