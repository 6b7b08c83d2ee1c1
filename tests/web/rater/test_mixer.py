"""Changing between the members of a set: which sample it takes effect at, and whether clips stay in step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from heartfelt.web.rater.pages import assets

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RATE = 48_000
RAMP = 240
"""Samples of a change: 5 ms."""
OFFLINE = """async ([clips, seconds, region, place, changes]) => {
  const { Mixer } = await import("/mixer.js");
  const context = new OfflineAudioContext(1, seconds * 48000, 48000);
  const buffers = clips.map((samples) => {
    const buffer = context.createBuffer(1, samples.length, 48000);
    buffer.copyToChannel(new Float32Array(samples), 0);
    return buffer;
  });
  const mixer = new Mixer(context, buffers);
  const run = mixer.play(region, place);
  const times = [];
  for (const [at, what, ...given] of changes) {
    context.suspend(at).then(() => {
      times.push([context.currentTime, mixer.run.position()]);
      const made = mixer[what](...given);
      if (made) times.at(-1).push(made.at, made.offset);
      context.resume();
    });
  }
  const rendered = await context.startRendering();
  return { start: run.at, times, samples: [...rendered.getChannelData(0)], parts: mixer.run?.parts(run.at, seconds) ?? [] };
}"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """An empty page that can import the rating page's modules."""
    files, _ = assets()

    def serve(route: Route) -> None:
        file = files.get(route.request.url.rsplit("/", 1)[-1])
        if file is None:
            route.fulfill(body="<!doctype html>", content_type="text/html")
        else:
            route.fulfill(body=file.content, content_type=file.content_type)

    context = browser.new_context()
    opened = context.new_page()
    opened.route("**/*", serve)
    opened.goto("http://study.test/")
    yield opened
    context.close()


def render(page: Page, clips: list[Any], seconds: float, **how: Any) -> dict[str, Any]:
    """What the same graph plays in an offline context."""
    region = how.get("region", {"from": 0, "to": len(clips[0]) / RATE, "loop": False})
    arguments = [[clip.tolist() for clip in clips], seconds, region, how.get("place"), how.get("changes", [])]
    out: dict[str, Any] = page.evaluate(OFFLINE, arguments)
    out["samples"] = np.array(out["samples"], dtype=np.float32)
    return out


def clips(count: int = 2, seconds: float = 0.5) -> list[Any]:
    """Noise that tells every sample of every clip from every other."""
    rng = np.random.default_rng(5)
    return [rng.uniform(-0.5, 0.5, int(seconds * RATE)).astype(np.float32) for _ in range(count)]


def test_a_change_is_at_its_sample_in_step_and_loses_nothing(page: Page) -> None:
    first, second, third = made = clips(3)
    out = render(page, made, 0.6, changes=[[0.2, "select", 1], [0.3, "select", 2], [0.302, "select", 0]])
    begin = round(out["start"] * RATE)
    heard = out["samples"][begin:]
    at = [round(time * RATE) - begin for time, _ in out["times"]]
    assert np.array_equal(heard[: at[0]], first[: at[0]]), "the first sample on, exactly as recorded"
    assert np.array_equal(heard[at[0] + RAMP : at[1]], second[at[0] + RAMP : at[1]]), "in step after the change"
    share = np.arange(RAMP) / RAMP
    crossing = slice(at[0], at[0] + RAMP)
    mixed = (1 - share) * first[crossing] + share * second[crossing]
    assert np.abs(heard[crossing] - mixed).max() < 1e-4, "a straight change from one to the other, no dip between"
    back = slice(at[2] + RAMP, len(first))
    assert np.array_equal(heard[back], first[back]), "also after two changes within five milliseconds"
    begun = share[: at[2] - at[1]]
    mixed = (1 - begun) * second[at[1] : at[2]] + begun * third[at[1] : at[2]]
    assert np.abs(heard[at[1] : at[2]] - mixed).max() < 1e-4
    assert not heard[len(first) :].any(), "silence after the end"
    assert out["parts"] == [[0, pytest.approx(0.5)]]


def test_identical_members_cross_without_a_trace(page: Page) -> None:
    """A hidden reference cannot be told from the reference by the change itself."""
    (clip,) = clips(1)
    out = render(page, [clip, clip], 0.6, changes=[[0.1, "select", 1], [0.25, "select", 0]])
    begin = round(out["start"] * RATE)
    assert np.abs(out["samples"][begin : begin + len(clip)] - clip).max() < 1e-6


def test_a_loop_comes_back_to_its_first_sample_in_step_and_softly(page: Page) -> None:
    long, short = clips(1)[0], clips(2, 0.2)[1]
    region = {"from": 0.1, "to": 0.3, "loop": True}
    out = render(page, [long, short], 0.9, region=region, changes=[[0.6, "select", 1]])
    begin, rounds, length = round(out["start"] * RATE), 4, round(0.2 * RATE)
    padded = np.concatenate([short, np.zeros(len(long) - len(short), dtype=np.float32)])
    heard = out["samples"][begin : begin + rounds * length].reshape(rounds, length)
    inside = slice(RAMP, length - RAMP)
    part = slice(round(0.1 * RATE), round(0.3 * RATE))
    for turn in (0, 1):
        assert np.abs(heard[turn][inside] - long[part][inside]).max() < 1e-6
    assert np.abs(heard[3][inside] - padded[part][inside]).max() < 1e-6, "a shorter clip stays in step"
    assert np.abs(heard[:, 0]).max() < 1e-3, "the jump is silent"
    spans = [(round(a, 3), round(b, 3)) for a, b in out["parts"]]
    assert spans[:4] == [(0.1, 0.3)] * 4


def test_a_new_region_goes_on_where_it_was(page: Page) -> None:
    first, second = clips()
    region = {"from": 0.2, "to": 0.4, "loop": True}
    changes = [[0.15, "play", {"from": 0.05, "to": 0.4, "loop": True}], [0.25, "play", region]]
    out = render(page, [first, second], 0.6, region={"from": 0, "to": 0.5, "loop": False}, changes=changes)
    begin = round(out["start"] * RATE)
    for time, _, at, offset in out["times"]:
        assert at > time
        assert offset == pytest.approx(at - out["start"], abs=1e-9), "no gap and no jump"
    settled = round(out["times"][-1][2] * RATE) + RAMP
    heard = out["samples"][settled : begin + round(0.4 * RATE) - RAMP]
    assert np.abs(heard - first[settled - begin :][: len(heard)]).max() < 1e-6
