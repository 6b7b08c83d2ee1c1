"""The rating page in a real Chromium on this machine: its weight, when it can be used, how soon the next trial is there,
how soon a change between the members of a set is heard, and how exactly a trace records when the page is slow.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from benchmarks._browser import chromium

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
_CHANGES = """async (rounds) => {
  const { Mixer } = await import(`${document.body.dataset.static}/mixer.js`);
  const context = new AudioContext(), meter = new AnalyserNode(context, { fftSize: 32 }), data = new Float32Array(32);
  await context.resume();
  meter.connect(context.destination);
  const members = [0.25, -0.25].map((level) => {
    const buffer = context.createBuffer(1, context.sampleRate * 4, context.sampleRate);
    buffer.getChannelData(0).fill(level);
    return buffer;
  });
  const mixer = new Mixer(context, members, meter), pause = (ms) => new Promise((go) => setTimeout(go, ms));
  const sign = () => { meter.getFloatTimeDomainData(data); return Math.sign(data[31]); };
  mixer.play({ from: 0, to: 4, loop: true });
  while (sign() !== 1) await pause(1);
  const waits = [];
  for (let round = 0; round < rounds; round += 1) {
    const begun = performance.now();
    mixer.select((round + 1) % 2);
    while (sign() !== (round % 2 ? 1 : -1)) await pause(0);
    waits.push(performance.now() - begun + context.baseLatency * 1000);
    await pause(23);
  }
  mixer.stop();
  return waits;
}"""
_TRACE = """async (fps) => {
  const { Course, Trace } = await import(`${document.body.dataset.static}/trace.js`);
  const { Tracing } = await import(`${document.body.dataset.static}/trace-pass.js`);
  const field = new Trace("q", { text: "Q" }, { low: 0, high: 1, rate: 50, low_text: "", high_text: "" }, () => {});
  const course = new Course(field), begun = performance.now();
  const audio = { addEventListener() {}, get currentTime() { return (performance.now() - begun) / 1000; } };
  const player = { audio, rule: "full", playing: true, seconds: 2 }, form = { courses: [course], here: [field], active: field };
  const tracing = new Tracing(form, player, { anew() {}, finished() {} });
  tracing.began();
  // The marker moves up evenly, every 7 ms; the page handles what came since its last frame.
  for (let told = 0, now = 0; now < 2000; ) {
    const frame = performance.now() + 1000 / fps;
    while (performance.now() < frame);
    now = performance.now() - begun;
    const moves = [];
    for (; told <= Math.min(now, 2000); told += 7) moves.push([begun + told, [told / 2000]]);
    course.moved(moves);
  }
  tracing.stopped("ended");
  return Math.max(...field.samples.map((value, place) => (value === null ? 0 : Math.abs(value * 2000 - place * 20))));
}"""
_TIMES = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    path = chromium()
    if path is None:
        return
    from playwright.sync_api import sync_playwright

    from heartfelt.collect import Collection
    from heartfelt.stimuli.options import StarterOptions
    from heartfelt.stimuli.starter import start_study
    from heartfelt.web.requests.options import WebOptions
    from heartfelt.web.serving.app import create_app
    from heartfelt.web.serving.serve import serve_in_thread

    with tempfile.TemporaryDirectory() as space:
        folder = Path(space) / "study"
        start_study("aimoclips", folder, StarterOptions(design={"practice": 0}))
        options = WebOptions(secret=b"a secret that is only for a benchmark", rater_per_minute=0, access_log=False)
        with (
            Collection.open(folder) as collection,
            serve_in_thread(create_app(collection, options)) as url,
            sync_playwright() as driver,
        ):
            browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
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
            waits = page.evaluate(_CHANGES, 25)
            print(
                f"change between members heard: median {statistics.median(waits):.0f} ms, slowest {max(waits):.0f} ms"
                " (wanted: under 20)"
            )
            errors = {fps: page.evaluate(_TRACE, fps) for fps in (10, 20, 60)}
            off = ", ".join(f"{error:.1f} ms at {fps} frames per second" for fps, error in errors.items())
            print(f"samples of a trace, marker moved every 7 ms: off by at most {off}")
            browser.close()
