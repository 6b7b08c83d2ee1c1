// Plays a clip to its very end and remembers which stretches were heard.
import { does, find, part } from "./dom.js";
import { round } from "./log.js";
import { words } from "./words.js";

const SLACK = 0.15; // seconds that may be missing from a clip heard in full: clocks of decoders differ by that much

export class Player {
  constructor(root, rule, replays, listeners, past = {}) {
    this.root = root;
    this.rule = rule;
    this.replays = replays;
    this.listeners = listeners;
    this.button = does("play", root);
    this.audio = new Audio();
    this.plays = past.plays ?? 0;
    this.intervals = past.intervals ?? [];
    this.firstPlay = past.first_play ?? null;
    // Whether the clip must be heard once more, whatever the limit.
    this.wanted = () => false;
    this.traced = false;
    // Whether every press plays from the beginning.
    this.restarts = false;
    this.since = null;
    this.halted = true;
    this.frame = 0;
    this.button.addEventListener("click", () => this.toggle());
  }

  // Takes a clip that can be played.
  load(audio) {
    this.audio = audio;
    this.watching = new AbortController();
    const { signal } = this.watching;
    audio.addEventListener("playing", () => this.#began(), { signal });
    for (const stop of ["pause", "ended", "waiting"]) audio.addEventListener(stop, () => this.#stopped(stop), { signal });
    audio.addEventListener("timeupdate", () => this.#draw(), { signal });
    audio.addEventListener("error", () => this.listeners.broken(new Error(audio.error?.message || "stopped playing")), { signal });
    // A trial that is shown again, after a way round by a break, begins at the beginning.
    audio.currentTime = 0;
    this.button.disabled = !this.mayPlay;
    this.#draw();
  }

  get seconds() {
    return Number.isFinite(this.audio.duration) ? this.audio.duration : 0;
  }

  get mayPlay() {
    // Somebody who reloaded the page while the clip played has not heard it yet.
    return this.midway || this.replays === null || this.plays <= this.replays || !this.unlocked || this.wanted();
  }

  get midway() {
    return this.audio.currentTime > 0 && !this.audio.ended && !(this.restarts && this.audio.paused);
  }

  get playing() {
    return !this.audio.paused && !this.audio.ended;
  }

  // Whether the study's listening rule is met.
  get unlocked() {
    if (this.rule === "free") return true;
    if (this.rule === "started") return this.plays > 0;
    return this.heardAll;
  }

  get heardAll() {
    if (!this.seconds) return this.intervals.length > 0 && this.audio.ended;
    return reaches(this.intervals, this.seconds);
  }

  // The stretches that were heard up to now, the one that is playing included.
  get stretches() {
    const at = this.audio.currentTime;
    return this.since === null || at <= this.since ? this.intervals : [...this.intervals, [round(this.since), round(at)]];
  }

  // Seconds of the clip that were heard, if it was heard to the end: an answer given before that is given while listening.
  get listened() {
    const heard = this.stretches;
    return this.seconds && !reaches(heard, this.seconds) ? 0 : covered(heard);
  }

  toggle() {
    if (this.playing) this.audio.pause();
    else this.play();
  }

  async play() {
    if (this.button.disabled || !this.mayPlay) return;
    if (this.restarts && this.audio.paused) this.audio.currentTime = 0;
    try {
      await this.audio.play();
    } catch (error) {
      if (error.name === "NotSupportedError") this.listeners.broken(error);
    }
  }

  // Stops at once: the browser's own event comes only after an answer that is sent now.
  stop() {
    const { playing } = this;
    this.audio.pause();
    cancelAnimationFrame(this.frame);
    if (playing) this.#stopped("pause");
  }

  close() {
    this.stop();
    this.watching?.abort();
  }

  #began() {
    const at = this.audio.currentTime;
    this.since = at;
    this.halted = false;
    if (at < 0.05) {
      this.since = 0;
      this.plays += 1;
    }
    this.listeners.began();
    const tick = () => {
      this.#draw();
      if (this.playing) this.frame = requestAnimationFrame(tick);
    };
    tick();
  }

  #stopped(how) {
    if (how === "pause" && this.halted) return;
    this.halted = how !== "waiting";
    if (this.since !== null) {
      const to = how === "ended" ? this.seconds || this.audio.currentTime : this.audio.currentTime;
      if (to > this.since) this.intervals.push([round(this.since), round(to)]);
      this.since = null;
    }
    this.listeners.stopped(how);
    this.#draw();
  }

  #draw() {
    const { audio, button } = this;
    const state = this.playing ? "pause" : audio.ended || (this.plays && !this.midway) ? "replay" : "play";
    if (button.dataset.state !== state) {
      button.dataset.state = state;
      button.setAttribute("aria-label", button.dataset[state]);
    }
    if (audio.readyState > 0) button.disabled = !this.playing && !this.mayPlay;
    const share = this.seconds ? Math.min(1, audio.currentTime / this.seconds) : 0;
    find(".line i", this.root).style.setProperty("--share", share);
    part("time", this.root).textContent = `${clock(audio.currentTime)} / ${clock(this.seconds)}`;
    part("state", this.root).textContent = this.#words();
  }

  #words() {
    if (!this.unlocked) return this.traced ? "" : words(`locked_${this.rule}`);
    if (this.replays === null || this.playing || this.midway) return "";
    const left = this.replays + 1 - this.plays;
    if (left <= 0 && this.mayPlay) return "";
    return left > 0 ? words("plays_left", { count: left }) : words("no_more_plays");
  }
}

// Whether stretches together reach from the beginning to the end.
export function reaches(intervals, seconds, slack = SLACK) {
  let reach = 0;
  for (const [from, to] of [...intervals].sort((a, b) => a[0] - b[0])) {
    if (from > reach + slack) return false;
    reach = Math.max(reach, to);
  }
  return reach >= seconds - slack;
}

// The stretches without what they share.
export function merged(parts) {
  const out = [];
  for (const [from, to] of [...parts].sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
}

export const covered = (parts) => merged(parts).reduce((sum, [from, to]) => sum + to - from, 0);

export const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
