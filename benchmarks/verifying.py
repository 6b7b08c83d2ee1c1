"""The verification page in a real Chromium on this machine: from the key press that submits to the next image on the screen.

Images of 1024 x 1024 pixels with seven drafts each, judged and verified by keyboard. The time runs from the event's own
time stamp of the key press until the frame that shows the next image has been painted.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks._browser import chromium

IMAGES, SIZE, WANTED = 30, 1024, 50.0
DRAFTS = {
    "style": "outlined flat shapes", "scene": "abstract", "objects": "star;ring", "facial_expression": "smile",
    "human_action": "walking", "colour": "ochre;red", "brightness": "0.4",
}  # fmt: skip
_WATCH = """() => {
  window.waits = [];
  const image = () => document.querySelector(".enlarge img")?.src;
  addEventListener("keydown", (event) => {
    const before = image(), number = document.querySelector("#count").textContent;
    const check = () => requestAnimationFrame(() => {
      const now = document.querySelector(".enlarge img");
      if (document.querySelector("#count").textContent === number) {
        if (performance.now() - event.timeStamp < 5000 && window.sent === event) check();
      } else if (!now?.complete || now.src === before) check();
      else {
        const painted = new MessageChannel();
        painted.port1.onmessage = () => window.waits.push(performance.now() - event.timeStamp);
        painted.port2.postMessage(0);
      }
    });
    if (event.key !== "Enter" || !document.querySelector("form.trial.verifying")) return;
    window.sent = event;
    check();
  }, { capture: true });
}"""


def _study(folder: Path) -> None:
    from PIL import Image

    from heartfelt.files import write_text
    from heartfelt.formats.study_folder.drafts import write_drafts
    from heartfelt.formats.tables.delimited import csv_text
    from heartfelt.stimuli.options import StarterOptions
    from heartfelt.stimuli.starter import start_study
    from heartfelt.study import load_study, study_text
    from heartfelt.study.load import STUDY_FILE

    started = start_study("aigiemo", folder, StarterOptions(media=False))
    study = load_study(folder)
    stimuli = started.stimuli.head(IMAGES)
    write_text(folder / study.stimuli.manifest, csv_text(stimuli))
    rng = np.random.default_rng(1)
    for path in stimuli["path"].to_list():
        target = folder / study.stimuli.media / path
        target.parent.mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8))
        coarse.resize((SIZE, SIZE), Image.Resampling.BICUBIC).save(target)
    rows = [(name, field, value, "bench") for name in stimuli["stimulus"] for field, value in DRAFTS.items()]
    write_drafts(folder, pl.DataFrame(rows, schema=["stimulus", "question", "value", "source"], orient="row"))
    asked = [question for question in study.questions if question.id not in {"caption", "reason"}]
    design = study.design.model_copy(update={"practice": 0, "batch": None})
    write_text(folder / STUDY_FILE, study_text(study.changed(design=design, questions=asked)))


def _verify(page: Any, images: int) -> int:
    """Judge and verify so many images; the keys pressed for each, submitting included."""
    keys = ["3", "6", "4", "Enter", "a", "Enter"]
    for _ in range(images):
        page.wait_for_selector("form.trial:not([data-locked]):not(.verifying)")
        page.wait_for_timeout(700)  # a person looks at the image; meanwhile the next one is fetched
        for key in keys:
            page.keyboard.press(key)
    return len(keys)


def main() -> None:
    path = chromium()
    if path is None:
        return
    from playwright.sync_api import sync_playwright

    from heartfelt.collect import Collection, CollectOptions
    from heartfelt.web.requests.options import WebOptions
    from heartfelt.web.serving.app import create_app
    from heartfelt.web.serving.serve import serve_in_thread

    with tempfile.TemporaryDirectory() as space:
        folder = Path(space) / "study"
        _study(folder)
        options = WebOptions(secret=b"a secret that is only for a benchmark", rater_per_minute=0, access_log=False)
        with (
            Collection.open(folder, options=CollectOptions(hidden=0, planted=0)) as collection,
            serve_in_thread(create_app(collection, options)) as url,
            sync_playwright() as driver,
        ):
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            page = context.new_page()
            page.goto(url + "/")
            for path, body in (
                ("consent", {"agreed": True}),
                ("demographics", {"answers": {"age": 30, "gender": "other"}}),
                ("ready", {}),
            ):
                context.request.post(f"{url}/rate/{path}", data=body)
            page.goto(url + "/rate")
            page.evaluate(_WATCH)
            keys = _verify(page, IMAGES - 1)
            page.wait_for_timeout(500)
            waits = page.evaluate("() => window.waits")
            browser.close()
    slow = sum(wait > WANTED for wait in waits)
    print(
        f"{keys} keys per image: 3 to judge it, 1 to the next page, 2 to accept seven drafts and submit (wanted: at most 8)"
    )
    print(
        f"next image on the screen after the key press: median {statistics.median(waits):.0f} ms, slowest"
        f" {max(waits):.0f} ms, {slow} of {len(waits)} above {WANTED:.0f} ms (wanted: under {WANTED:.0f})"
    )


if __name__ == "__main__":
    main()
