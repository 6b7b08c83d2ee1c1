// One field of several images on one page: the rater marks the drafts that are wrong and confirms the others with one key.
// Every image is still a trial of its own, and the answers go out one by one in order; a marked one is opened for correction.
import { find, freshKey, keyHint, make, tell } from "./dom.js";
import { Log, round } from "./log.js";
import { Refused, ask } from "./server.js";
import { Trial } from "./trial.js";
import { draftTexts } from "./verify.js";
import { wish } from "./wishes.js";
import { words } from "./words.js";
import { enlarge } from "./zoom.js";

const STORE = "heartfelt:batch";
const CAPTION = 46; // pixels below a picture
const SMALLEST = 84; // pixels of height a picture has at least
const NARROWEST = 98; // pixels of width a tile has at least; with more than fit, the tiles scroll

// The trials from this one on that can be verified on one page: the same field, with its draft in sight.
export function together(step, study) {
  const alike = (trial) => trial.sort === step.sort && trial.media && !trial.words && !trial.members
    && trial.questions.length === 1 && trial.forms[0] === step.forms[0] && typeof trial.machine[trial.questions[0]] === "string";
  const trials = [step, ...(step.following ?? [])].slice(0, study.draftsPerPage ?? 1);
  const end = trials.findIndex((trial) => !alike(trial));
  const run = end < 0 ? trials : trials.slice(0, end);
  return run.length > 1 ? run : [];
}

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

export class Batch {
  constructor(trials, page) {
    const form = page.study.forms[trials[0].forms[0]];
    Object.assign(this, { trials, page, form, step: trials[0], sent: false, past: [], at: 0, fixing: null });
    const before = stored();
    const known = (trial) => trials.some((each) => each.trial === trial);
    this.wrong = new Set((before.wrong ?? []).filter(known));
    this.answers = Object.fromEntries(Object.entries(before.answers ?? {}).filter(([trial]) => known(trial)));
    this.log = new Log(before.first === this.step.trial ? before.log : undefined);
    this.#build();
  }

  #build() {
    const scale = this.page.study.scales[this.form.scale];
    this.tiles = this.trials.map((trial, place) => {
      const key = place < 10 ? make("kbd", { "aria-hidden": "true", text: (place + 1) % 10 }) : null;
      const texts = draftTexts(trial.machine[trial.questions[0]], scale, this.form);
      const chips = texts.map((text) => make("span", { class: "chip machine", text }));
      const picture = make("span", { class: "picture" });
      const state = make("span", { class: "sr" });
      const tile = make("button", { type: "button", class: "tile", "aria-pressed": "false", tabindex: place ? "-1" : "0" },
        picture, make("span", { class: "caption" }, key, make("span", { class: "chips" }, ...chips), state));
      tile.addEventListener("click", () => this.#turn(place));
      tile.addEventListener("focus", () => (this.at = place));
      const look = make("button", { type: "button", class: "look", tabindex: "-1", "aria-label": words("batch_enlarge", { number: place + 1 }) }, "⤢");
      look.addEventListener("click", () => this.#enlarge(place));
      return { tile, picture, state, node: make("div", { class: "cell" }, tile, look) };
    });
    this.grid = make("div", { class: "tiles", role: "group", "aria-label": this.form.text }, ...this.tiles.map(({ node }) => node));
    this.confirm = make("button", { type: "button", class: "main", "data-does": "confirm" });
    this.confirm.addEventListener("click", () => this.goOn());
    this.undoing = make("button", { type: "button", "data-does": "undo", hidden: true, text: words("key_undo") });
    this.undoing.addEventListener("click", () => this.undo());
    this.hint = make("p", { class: "hint", role: "status" });
    const keys = make("span", { class: "verify-keys", "aria-hidden": "true" }, keyHint(words("batch_mark"), "←", "→", words("space")),
      keyHint(words("batch_look"), "+"), keyHint(words("batch_go_on"), "Enter"));
    this.node = make("section", { class: "batch" }, make("h1", { class: "phase" }, words("batch_title", { question: this.form.text }), keys), this.grid,
      make("div", { class: "foot" }, this.hint, this.undoing, this.confirm));
  }

  async show(stage) {
    this.stage = stage;
    stage.replaceChildren(this.node);
    this.resizing ??= new ResizeObserver(() => this.#lay());
    this.resizing.observe(stage);
    this.#draw();
    this.#lay();
    this.hint.textContent = words("loading");
    this.page.library.ahead(this.step, this.page.following);
    for (const [place, trial] of this.trials.entries()) {
      try {
        const image = this.page.library.now(trial.media) ?? (await this.page.library.get(trial.media));
        if (this.closed) return;
        image.alt = words("stimulus_image");
        image.style.transform = "";
        this.tiles[place].picture.replaceChildren(image);
      } catch (error) {
        if (this.closed) return;
        this.close();
        await this.page.send("/rate/media-problem", { trial: trial.trial, problem: String(error.message || error).slice(0, 500) || "does not open" });
        return;
      }
    }
    this.ready = true;
    this.hint.textContent = "";
    this.#beat();
    this.#draw();
    this.tiles[this.at].tile.focus({ preventScroll: true });
    const next = this.#next();
    if (stored().fixing && next >= 0) this.#fix(next);
  }

  // As many columns as give the largest pictures.
  #lay() {
    const [width, height] = [this.grid.clientWidth, this.grid.clientHeight - 6];
    const size = (columns) => (width / columns < NARROWEST ? 0 : 1) * Math.min(width / columns, (height / Math.ceil(this.tiles.length / columns) - CAPTION) * 1.2);
    const columns = this.tiles.map((_, place) => place + 1).reduce((best, each) => (size(each) > size(best) ? each : best), 1);
    this.grid.style.setProperty("--columns", columns);
    const rows = Math.ceil(this.tiles.length / columns);
    this.grid.style.setProperty("--row", `${Math.max(SMALLEST + CAPTION, Math.floor((height - 8 * (rows - 1)) / rows))}px`);
  }

  #draw() {
    this.tiles.forEach(({ tile, state }, place) => {
      const wrong = this.#marked(place);
      tile.setAttribute("aria-pressed", wrong);
      state.textContent = wrong ? words("batch_wrong") : "";
    });
    const wrong = this.wrong.size;
    this.confirm.textContent = words(wrong ? "batch_correct" : "batch_confirm", { count: wrong || this.tiles.length });
    this.undoing.hidden = !this.past.length && !this.page.taken;
    this.confirm.disabled = !this.ready;
  }

  #marked(place) {
    return this.wrong.has(this.trials[place].trial);
  }

  #turn(place, undone = false) {
    if (!this.ready) return;
    const { trial } = this.trials[place];
    if (this.wrong.has(trial)) this.wrong.delete(trial);
    else this.wrong.add(trial);
    delete this.answers[trial];
    if (!undone) this.past.push(place);
    this.log.change(trial, this.wrong.has(trial) ? "marked as wrong" : "not marked");
    this.log.stroke(trial);
    this.#keep();
    this.#draw();
    tell(`${place + 1}: ${words(this.wrong.has(trial) ? "batch_wrong" : "batch_right")}`);
  }

  undo() {
    if (this.fixing) return this.fixing.undo();
    const place = this.past.pop();
    if (place === undefined) return this.page.takeBack();
    this.#turn(place, true);
    this.tiles[place].tile.focus();
    return true;
  }

  // The answer before this page has gone out for good.
  settle() {
    this.#draw();
  }

  get touched() {
    return this.wrong.size > 0;
  }

  // The trial that a report of a problem is about.
  get current() {
    return this.trials[this.at].trial;
  }

  #enlarge(place) {
    const image = find("img", this.tiles[place].picture);
    if (image) enlarge([image]);
  }

  // The first draft that is wrong and has no correction yet.
  #next() {
    return this.trials.findIndex(({ trial }) => this.wrong.has(trial) && !this.answers[trial]);
  }

  goOn() {
    if (this.sent || !this.ready) return;
    this.log.stroke(this.current);
    const next = this.#next();
    if (next >= 0) this.#fix(next);
    else this.#send();
  }

  // Shows one image with its field opened; what was answered comes back here.
  async #fix(place) {
    this.at = place;
    this.log.pause();
    this.#keep(true);
    const { page } = this;
    const own = {
      study: page.study, library: page.library, following: this.trials.slice(place + 1), taken: null, played: false,
      send: (...message) => page.send(...message), takeBack: () => this.#back(),
      answered: (answer) => {
        this.answers[answer.trial] = answer;
        this.#keep(true);
        const next = this.#next();
        if (next >= 0) this.#fix(next);
        else this.#send();
      },
    };
    this.fixing = new Trial({ ...this.trials[place], following: [] }, own);
    const [field] = this.fixing.form.controls;
    await this.fixing.show(this.stage);
    if (!field.answered && !this.fixing.closed) this.fixing.verification.open(field);
  }

  // From a correction back to all images.
  #back() {
    this.fixing.close();
    this.fixing = null;
    this.log.goOn();
    this.show(this.stage);
    return true;
  }

  #send() {
    this.sent = true;
    const share = this.log.elapsed / this.trials.length;
    const heard = this.log.heard(null);
    const answers = this.trials.map((trial) => this.answers[trial.trial] ?? this.#accepted(trial, heard));
    for (const answer of answers) {
      const { fields } = answer.heard;
      const [question] = Object.keys(fields);
      const own = this.log.fields[answer.trial]?.keystrokes ?? 0;
      answer.heard.seconds = round((answer.heard.seconds ?? 0) + share);
      answer.heard.changes = [...heard.changes.filter(([, trial]) => trial === answer.trial).map(([at, , text]) => [at, question, text]), ...answer.heard.changes];
      fields[question] = { ...fields[question], seconds: round((fields[question].seconds ?? 0) + share), keystrokes: (fields[question].keystrokes ?? 0) + own };
    }
    sessionStorage.removeItem(STORE);
    this.close();
    this.page.answeredAll(answers);
  }

  #accepted({ trial, questions: [question], machine }, heard) {
    return {
      trial, key: freshKey(), values: { [question]: machine[question] }, verdicts: { [question]: "accepted" }, comment: null,
      heard: { ...heard, seconds: 0, changes: [], fields: { [question]: { seconds: 0, keystrokes: 0 } } },
    };
  }

  key(event) {
    if (this.fixing) return this.fixing.key(event);
    const { key, repeat } = event;
    if (key === "Enter" && !event.target.matches?.("button.main, [data-does=undo]")) {
      if (!repeat) this.goOn();
      return true;
    }
    const columns = Number(this.grid.style.getPropertyValue("--columns")) || 1;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
    if (step) {
      const to = this.at + step;
      if (this.tiles[to]) this.#focus(to);
      return true;
    }
    if (!wish("keys") || repeat) return false;
    if (key === "+" || key === "=") this.#enlarge(this.at);
    else if (key === "u" || key === "U" || key === "Backspace") this.undo();
    else if (/^[0-9]$/.test(key)) {
      const place = (Number(key) + 9) % 10;
      if (!this.tiles[place]) return false;
      this.#focus(place);
      this.#turn(place);
    } else return false;
    return true;
  }

  #focus(place) {
    this.tiles[this.at].tile.tabIndex = -1;
    this.tiles[place].tile.tabIndex = 0;
    this.tiles[place].tile.focus();
    this.tiles[place].node.scrollIntoView({ block: "nearest" });
  }

  #beat() {
    clearInterval(this.beating);
    const every = Math.max(15, Math.min(60, this.step.lease_seconds / 3)) * 1000;
    this.beating = setInterval(() => {
      ask("/rate/beat", { trial: this.step.trial }).catch((error) => {
        if (error instanceof Refused) clearInterval(this.beating);
      });
    }, every);
  }

  pause() {
    if (this.fixing) return this.fixing.pause();
    this.log.pause();
    return () => this.log.goOn();
  }

  // What was marked and corrected so far outlives a reload of this tab.
  #keep(fixing = false) {
    const { log } = this;
    try {
      sessionStorage.setItem(STORE, JSON.stringify({ first: this.step.trial, wrong: [...this.wrong], answers: this.answers, fixing, log: log.draft() }));
    } catch {
      // Without room the page begins anew after a reload.
    }
  }

  close() {
    this.closed = true;
    clearInterval(this.beating);
    this.resizing?.disconnect();
    this.fixing?.close();
    this.log.close();
  }
}
