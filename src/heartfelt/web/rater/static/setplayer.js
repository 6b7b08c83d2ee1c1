// Plays the members of a set: changes between them without a gap, loops a region, and remembers what was heard of each.
import { does, find, make, part, tell } from "./dom.js";
import { round } from "./log.js";
import { Mixer } from "./mixer.js";
import { clock, covered, merged, reaches } from "./player.js";
import { audioContext } from "./sound.js";
import { setWish, wish } from "./wishes.js";
import { words } from "./words.js";

const SHORTEST = 0.25; // seconds of the shortest loop
const SLACK = 0.02; // seconds that may be missing from a member heard in full
const JOIN = 0.01; // seconds between two stretches that are one
const MOST_PARTS = 2000;
const STEPS = { ArrowLeft: -0.1, ArrowDown: -0.1, ArrowRight: 0.1, ArrowUp: 0.1, PageDown: -1, PageUp: 1, Home: -1e9, End: 1e9 };

export class SetPlayer {
  constructor(root, members, study, listeners, past = {}) {
    Object.assign(this, { root, members, rule: study.listening, replays: study.replays, restarts: study.restarts ?? false, listeners });
    this.button = does("play", root);
    this.plays = past.plays ?? 0;
    this.firstPlay = past.first_play ?? null;
    this.played = past.played ?? members.list.map(() => []);
    this.intervals = [];
    this.mixer = null;
    this.selected = 0;
    this.place = 0;
    this.region = { from: 0, to: 0 };
    // Where plays are counted there is no loop: each round would be another play.
    this.looping = study.replays === null && wish("loop", false);
    this.controls = [];
    this.watching = new AbortController();
    part("members", root).append(...members.above.map((place) => this.control(place)));
    part("members", root).hidden = !members.above.length;
    // On a narrow screen the lesser buttons give way to many members or long names.
    const wide = members.above.map((place) => Math.max(52, 10 * members.labels[place].length + 22));
    root.classList.toggle("full", wide.reduce((sum, width) => sum + width, 0) > 125);
    this.button.addEventListener("click", () => this.toggle());
    does("restart", root).addEventListener("click", () => this.restart());
    does("loop", root).addEventListener("click", () => this.#loop());
    does("loop", root).hidden = study.replays !== null;
    does("restart", root).hidden = this.restarts;
    for (const end of ["from", "to"]) this.#edge(end);
  }

  // A button for a member: plays it, or pauses it when it is the one that is heard.
  control(place) {
    const button = make("button", { type: "button", class: "member", disabled: !this.mixer, onclick: () => {
      if (this.playing && this.selected === place) this.stop();
      else this.choose(place);
    } }, make("span", { class: "sr", text: words("member") }), make("b", { text: this.members.labels[place] }),
    make("span", { class: "sr", text: "" }), make("i", { "aria-hidden": "true" }));
    this.controls.push([place, button]);
    return button;
  }

  // Decodes the members; fails when one of them cannot be.
  async load(blobs) {
    const context = audioContext();
    const clips = await Promise.all(blobs.map(async (blob) => context.decodeAudioData(await blob.arrayBuffer())));
    if (this.closed) return;
    this.take(new Mixer(context, clips));
    context.addEventListener("statechange", () => {
      // A call on a phone takes the sound away; the rater goes on when it is back.
      if (this.playing && context.state !== "running") this.stop();
    }, { signal: this.watching.signal });
  }

  take(mixer) {
    this.mixer = mixer;
    this.lengths = mixer.lengths;
    this.region = { from: 0, to: mixer.seconds };
    for (const [, button] of this.controls) button.disabled = false;
    this.#draw();
  }

  // Seconds that were heard of the members that were heard to the end.
  get listened() {
    this.#note();
    return this.played.reduce((sum, parts, place) => sum + (this.#whole(place) ? covered(parts) : 0), 0);
  }

  get stretches() {
    return this.intervals;
  }

  get playing() {
    return Boolean(this.mixer?.run);
  }

  // Every member may be heard once and as often again as the study allows.
  get #left() {
    return this.replays === null ? Infinity : (this.replays + 1) * this.members.list.length - this.plays;
  }

  // Whoever has not heard everything yet, after changing back and forth or a reload, may go on until they have.
  get #mayBegin() {
    return this.#left > 0 || !this.unlocked;
  }

  get mayPlay() {
    return (this.place > 0 && !this.restarts) || this.#mayBegin;
  }

  get #within() {
    return this.looping ? { ...this.region, loop: true } : { from: 0, to: this.mixer?.seconds ?? 0, loop: false };
  }

  // The members that are still to be heard before answers open.
  get missing() {
    if (this.rule === "free") return [];
    const left = this.played.map((parts, place) => (this.rule === "started" ? !parts.length : !this.#whole(place)));
    return this.members.labels.filter((_, place) => left[place]);
  }

  get unlocked() {
    return this.rule === "free" || (Boolean(this.mixer) && !this.missing.length);
  }

  #whole(place) {
    return Boolean(this.lengths) && this.played[place].length > 0 && reaches(this.played[place], this.lengths[place], Math.min(SLACK, 0.03 * this.lengths[place]));
  }

  toggle() {
    if (this.playing) this.stop();
    else this.play();
  }

  // Changes to a member, at the place in the clip where the set is, or at the beginning where the study says so, and plays.
  choose(place) {
    if (!this.mixer || (this.restarts && !this.#mayBegin)) return;
    if (this.restarts) this.stop();
    const now = this.mixer.context.currentTime;
    this.mixer.select(place);
    this.#note(now);
    this.selected = place;
    if (this.playing) this.#draw();
    else this.play();
  }

  async play() {
    if (!this.mixer || !this.mayPlay || this.playing) return;
    const { context } = this.mixer;
    if (context.state !== "running") await context.resume().catch(() => {});
    if (context.state === "running" && !this.playing && !this.closed) this.#start(this.restarts ? this.#within.from : this.place);
  }

  #start(place) {
    this.mixer.select(this.selected);
    const run = this.#run(place);
    if (run.offset === run.from) this.plays += 1;
    this.listeners.began();
    cancelAnimationFrame(this.frame);
    this.#tick();
  }

  #run(place) {
    const run = this.mixer.play(this.#within, place);
    this.since = run.at;
    run.ended.then(() => {
      if (this.mixer?.run === run) this.stop(true);
    });
    return run;
  }

  #tick() {
    const open = this.unlocked;
    this.#note();
    this.#draw();
    if (this.unlocked !== open) this.listeners.heard();
    if (this.playing) this.frame = requestAnimationFrame(() => this.#tick());
  }

  restart() {
    if (!this.mixer || !this.#mayBegin) return;
    this.stop();
    this.place = this.#within.from;
    this.play();
  }

  stop(ended = false) {
    cancelAnimationFrame(this.frame);
    if (!this.playing) return;
    this.#note();
    this.place = ended ? this.#within.from : this.mixer.run.position();
    if (ended) this.mixer.run = null;
    else this.mixer.stop();
    this.#draw();
    this.listeners.stopped();
  }

  close() {
    this.stop();
    this.closed = true;
    this.watching.abort();
    this.mixer = null;
  }

  // Writes down what has been heard of the selected member since it was last written down.
  #note(now = this.mixer?.context.currentTime) {
    if (!this.playing) return;
    const heard = this.played[this.selected];
    const length = this.lengths[this.selected];
    for (const [from, to] of this.mixer.run.parts(this.since, now)) {
      const [start, end] = [round(from), round(Math.min(to, length))];
      const last = heard.at(-1);
      if (last && Math.abs(last[1] - start) < JOIN && end > last[1]) last[1] = end;
      else if (end > start) heard.push([start, end]);
    }
    // Hours of a short loop would be more than an answer can hold: what was heard stays, how often does not.
    if (heard.length > MOST_PARTS) this.played[this.selected] = merged(heard);
    this.since = Math.max(now, this.since);
  }

  // --- the loop ---

  #loop() {
    this.looping = !this.looping;
    setWish("loop", this.looping);
    if (this.looping) tell(words("loop_on"));
    this.#again();
  }

  // Plays on in the region as it is now.
  #again() {
    if (this.playing) {
      this.#note();
      this.#run();
    } else {
      const { from, to } = this.#within;
      if (this.place < from || this.place >= to) this.place = from;
    }
    this.#draw();
  }

  #move(end, seconds) {
    const { from, to } = this.region;
    const most = this.mixer.seconds;
    const shortest = Math.min(SHORTEST, most);
    if (end === "from") this.region.from = Math.max(0, Math.min(seconds, to - shortest));
    else this.region.to = Math.min(most, Math.max(seconds, from + shortest));
    this.#draw();
  }

  #edge(end) {
    const node = part(end, this.root);
    const timeline = part("timeline", this.root);
    let grip = null;
    node.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (step === undefined || !this.mixer || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.#move(end, this.region[end] + step);
      this.#again();
    });
    node.addEventListener("pointerdown", (event) => {
      if (!this.mixer) return;
      node.setPointerCapture(event.pointerId);
      const box = find(".line", timeline).getBoundingClientRect();
      grip = { box, off: event.clientX - box.left - (this.region[end] / this.mixer.seconds) * box.width };
    });
    node.addEventListener("pointermove", (event) => {
      if (grip) this.#move(end, ((event.clientX - grip.box.left - grip.off) / grip.box.width) * this.mixer.seconds);
    });
    // A finger that drags makes no gesture of its own, after which a browser would swallow the next tap.
    node.addEventListener("touchmove", (touch) => touch.preventDefault(), { passive: false });
    for (const done of ["pointerup", "pointercancel"]) {
      node.addEventListener(done, () => {
        if (grip) this.#again();
        grip = null;
      });
    }
  }

  // --- what is seen ---

  #draw() {
    const { root, button, mixer } = this;
    const place = mixer?.run ? mixer.run.position() : this.place;
    const most = mixer?.seconds || 1;
    const state = this.playing ? "pause" : this.plays && (this.restarts || this.place === this.#within.from) ? "replay" : "play";
    if (button.dataset.state !== state) {
      button.dataset.state = state;
      button.setAttribute("aria-label", button.dataset[state]);
    }
    button.disabled = !mixer || (!this.playing && !this.mayPlay);
    does("restart", root).disabled = !mixer || !this.#mayBegin;
    root.classList.toggle("looping", this.looping);
    does("loop", root).setAttribute("aria-pressed", this.looping);
    const timeline = part("timeline", root);
    timeline.style.setProperty("--share", Math.min(1, place / most));
    for (const end of ["from", "to"]) {
      const node = part(end, root);
      node.hidden = !this.looping;
      timeline.style.setProperty(`--${end}`, this.region[end] / most);
      node.setAttribute("aria-valuemax", round(most));
      node.setAttribute("aria-valuenow", round(this.region[end]));
      node.setAttribute("aria-valuetext", words("at_second", { seconds: this.region[end].toFixed(1) }));
    }
    part("time", root).textContent = `${clock(place)} / ${clock(mixer?.seconds ?? 0)}`;
    for (const [member, control] of this.controls) this.#mark(member, control);
    const text = this.#words();
    if (part("state", root).textContent !== text) part("state", root).textContent = text;
  }

  #mark(member, control) {
    const chosen = member === this.selected;
    control.setAttribute("aria-pressed", chosen && this.playing);
    control.classList.toggle("chosen", chosen);
    control.classList.toggle("sounding", chosen && this.playing);
    const whole = this.#whole(member);
    const heard = whole ? words("member_heard") : "";
    const note = control.children[2];
    if (note.textContent !== heard) note.textContent = heard;
    control.classList.toggle("heard", whole);
    const seconds = this.lengths?.[member] ?? 0;
    control.style.setProperty("--heard", whole ? 1 : seconds ? Math.min(1, covered(this.played[member]) / seconds) : 0);
  }

  #words() {
    if (!this.mixer) return words("loading");
    if (!this.unlocked) return words(`set_${this.rule}`, { members: this.missing.join(", ") });
    if (this.replays === null || this.playing || (this.place > 0 && !this.restarts)) return "";
    return this.#left > 0 ? words("plays_left", { count: this.#left }) : words("no_more_plays");
  }
}
