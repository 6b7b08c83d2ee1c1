// Questions answered while the clip plays: a marker on one axis, or on a plane of two, whose course is recorded.
import { make } from "./dom.js";
import { Glide, Recorder, limited } from "./trace-recorder.js";
import { Surface } from "./trace-surface.js";
import { words } from "./words.js";

const SPEAK = 1000; // milliseconds between two values that a screen reader is told
const KEYS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 1], ArrowDown: [1, -1] };

// One question. Its slider is a rail that shows where the marker is; keys move it, and the surface moves it for pointers.
export class Trace {
  kind = "trace";
  live = true; // is used while the clip plays, before answers unlock

  constructor(id, form, scale, changed) {
    Object.assign(this, { id, form, scale, changed, samples: null, empty: false, spoken: 0 });
    this.slider = make("div", {
      class: "trace-rail", role: "slider", tabindex: "0", "aria-label": form.text, "aria-valuemin": scale.low, "aria-valuemax": scale.high,
    }, make("i", { class: "trace-marker" }));
    this.body = [this.slider];
    this.show(null);
  }

  get ends() {
    return [this.scale.low_text || String(this.scale.low), this.scale.high_text || String(this.scale.high)];
  }

  // Where the marker is: on the screen at once, in words now and then.
  show(share, now = performance.now()) {
    this.slider.classList.toggle("untouched", share === null);
    this.slider.style.setProperty("--at", share ?? 0.5);
    clearTimeout(this.speaking);
    if (share !== null && now - this.spoken < SPEAK) {
      this.speaking = setTimeout(() => this.#speak(share), SPEAK);
      return;
    }
    this.spoken = share === null ? 0 : now;
    this.#speak(share);
  }

  #speak(share) {
    this.slider.setAttribute("aria-valuenow", this.#value(share ?? 0.5));
    this.slider.setAttribute("aria-valuetext", share === null ? words("no_answer") : this.#words(share));
  }

  #words(share) {
    const tenths = Math.round((share - 0.5) * 20);
    if (!tenths) return words("trace_middle");
    return words("trace_towards", { percent: Math.abs(tenths) * 10, end: this.ends[tenths > 0 ? 1 : 0] });
  }

  #value(share) {
    const { low, high } = this.scale;
    return Math.min(high, Math.max(low, Number((low + share * (high - low)).toPrecision(6))));
  }

  // The recorded course as shares of the axis; null while there is none.
  record(shares) {
    this.samples = shares?.map((share) => (share === null ? null : this.#value(share))) ?? null;
    this.empty = this.samples !== null && this.samples.every((sample) => sample === null);
  }

  get value() {
    return this.samples === null || this.empty ? undefined : { samples: this.samples };
  }

  set(value) {
    this.samples = value.samples;
    this.course?.restored();
  }

  // Is answered while the other questions are still locked.
  lock() {}

  get missing() {
    return words("trace_missing");
  }

  get problem() {
    return this.empty && this.form.required ? words("trace_empty") : null;
  }

  // A digit sets the marker to that tenth of its way; 5 is the middle.
  key(pressed) {
    this.course.put(this, Number(pressed) / 10);
    return true;
  }

  get entry() {
    return null;
  }
}

// What one marker records: the trace of one question, or of two on a plane.
export class Course {
  constructor(...fields) {
    this.fields = fields;
    this.recorder = new Recorder();
    this.glide = new Glide();
    this.position = null;
    // Seconds of the clip at a time of the browser's clock; null while nothing is recorded.
    this.clock = () => 0;
    this.status = make("p", { class: "soft tracing", text: words(matchMedia("(pointer: coarse)").matches ? "trace_touch" : "trace_ready") });
    this.surface = new Surface(this);
    for (const field of this.fields) {
      field.course = this;
      field.slider.addEventListener("keydown", (event) => {
        if (!event.ctrlKey && !event.metaKey && !event.altKey && this.key(event)) event.preventDefault();
      });
    }
    this.show();
  }

  get rate() {
    return this.fields[0].scale.rate;
  }

  get done() {
    return this.fields.every((field) => field.samples !== null);
  }

  // The marker was moved: moves are pairs of a time of the browser's clock, in milliseconds, and a position.
  moved(moves) {
    for (const [stamp, position] of moves) {
      const at = this.clock(stamp);
      if (at === null) return;
      this.recorder.move(at, position);
      this.position = position;
      this.surface.moved(stamp, position);
    }
    if (moves.length) this.show();
  }

  show() {
    this.fields.forEach((field, axis) => field.show(this.position?.[axis] ?? null));
    this.surface.draw();
  }

  get #here() {
    return this.position ?? this.fields.map(() => 0.5);
  }

  put(field, share, stamp = performance.now()) {
    this.glide.stop();
    this.moved([[stamp, this.#here.map((other, axis) => (this.fields[axis] === field ? limited(share) : other))]]);
  }

  // The keys of the marker; true when the key is one of them.
  key(event) {
    const { key, timeStamp } = event;
    const field = this.fields.find((each) => each.slider === event.target) ?? this.fields[0];
    const jump = { Home: 0, End: 1 }[key] ?? this.#page(key, field);
    if (jump !== undefined) {
      this.put(field, jump, timeStamp);
      return true;
    }
    if (!KEYS[key]) return false;
    if (event.repeat) return true;
    const [axis, direction] = this.#axis(key);
    this.moved(this.glide.press(axis, direction, timeStamp, this.#here));
    this.surface.run();
    return true;
  }

  #page(key, field) {
    const by = { PageUp: 0.1, PageDown: -0.1 }[key];
    return by && this.#here[this.fields.indexOf(field)] + by;
  }

  #axis(key) {
    const [axis, direction] = KEYS[key];
    return [Math.min(axis, this.fields.length - 1), direction];
  }

  keyUp({ key, timeStamp }) {
    if (KEYS[key] && this.glide.gliding) this.moved(this.glide.release(...this.#axis(key), timeStamp, this.#here));
  }

  // Where held keys have taken the marker by now.
  advance(stamp) {
    if (this.glide.gliding) this.moved(this.glide.advance(stamp, this.#here));
  }

  letGo() {
    this.glide.stop();
    this.surface.letGo();
  }

  // Begins anew.
  clear() {
    this.recorder.clear();
    this.position = null;
    this.letGo();
    for (const field of this.fields) field.record(null);
    this.surface.clear();
    this.show();
  }

  // Takes what was recorded of so many seconds as the answer.
  finish(seconds) {
    const samples = this.recorder.samples(this.rate, seconds);
    this.fields.forEach((field, axis) => field.record(samples.map((position) => position?.[axis] ?? null)));
  }

  // Takes the answer back: the clip plays on.
  reopen() {
    for (const field of this.fields) field.record(null);
  }

  say(state) {
    this.status.textContent = words(`trace_${state}`);
  }

  restored() {
    this.say("done");
  }
}
