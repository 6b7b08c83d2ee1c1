"""A clock that the test controls: the page's time, its timers and its sound stand still until the test lets them run.

Clips are fetched and decoded by the browser as ever; only their time is that of the page's clock. Whatever a test does half-way
through a clip then happens at that very place, however busy the machine is.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

# Playwright's clock replaces Date, performance, timers, animation frames and the time stamps of events.
SOUND = """() => {
  const tapes = new WeakMap();
  const tape = (clip) => {
    if (!tapes.has(clip)) tapes.set(clip, { at: 0, since: null, ended: false, timers: [] });
    return tapes.get(clip);
  };
  const soon = (clip, ...events) => queueMicrotask(() => events.forEach((name) => clip.dispatchEvent(new Event(name))));
  const place = (clip) => {
    const { at, since } = tape(clip);
    return since === null ? at : Math.min(clip.duration, at + (performance.now() - since) / 1000);
  };
  const halt = (clip) => {
    const it = tape(clip);
    Object.assign(it, { at: place(clip), since: null });
    it.timers.forEach((timer) => (clearTimeout(timer), clearInterval(timer)));
    it.timers = [];
  };
  const run = (clip) => {
    const it = tape(clip);
    it.since = performance.now();
    it.timers = [
      setInterval(() => clip.dispatchEvent(new Event("timeupdate")), 250),
      setTimeout(() => {
        halt(clip);
        Object.assign(it, { at: clip.duration, ended: true });
        soon(clip, "timeupdate", "pause", "ended");
      }, Math.ceil((clip.duration - it.at) * 1000)),
    ];
  };
  const own = (prototype, members) => {
    for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
      Object.defineProperty(prototype, name, { ...member, enumerable: true, configurable: true });
    }
  };
  own(HTMLMediaElement.prototype, {
    get paused() { return tape(this).since === null; },
    get ended() { return tape(this).ended; },
    get currentTime() { return place(this); },
    set currentTime(to) {
      const playing = !this.paused;
      const moved = place(this) !== to;
      halt(this);
      Object.assign(tape(this), { at: to, ended: false });
      if (playing) run(this);
      if (moved) soon(this, "seeking", "seeked");
    },
    async play() {
      if (!this.paused) return;
      if (this.ended) this.currentTime = 0;
      run(this);
      soon(this, "play", "playing");
    },
    pause() {
      if (this.paused) return;
      halt(this);
      soon(this, "timeupdate", "pause");
    },
  });
  own(AudioContext.prototype, { get currentTime() { return performance.now() / 1000; } });
  const after = (node, seconds) => {
    clearTimeout(tapes.get(node));
    tapes.set(node, setTimeout(() => node.dispatchEvent(new Event("ended")), Math.ceil(seconds * 1000)));
  };
  own(AudioBufferSourceNode.prototype, {
    start(at, offset, duration) {
      if (!this.loop) after(this, at + duration - this.context.currentTime);
    },
    stop(at) { after(this, at - this.context.currentTime); },
  });
}"""


class PageClock:
    """The time of every page of a browser's context."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        begin = time.time()
        context.clock.install(time=begin)
        context.clock.pause_at(begin + 1)
        context.add_init_script(f"({SOUND})()")

    def run(self, seconds: float) -> None:
        """Let so many seconds pass: timers, animation frames and clips run as they would."""
        self.context.clock.run_for(round(seconds * 1000))
