// A grade for every member of a set: sliders with verbal bands, each next to the member's button.
import { crowded } from "./anchors.js";
import { make, tell } from "./dom.js";
import { words } from "./words.js";

export class Grades {
  kind = "graded";

  constructor(id, form, scale, changed, set) {
    Object.assign(this, { id, form, scale, changed, members: set });
    this.decimals = String(scale.step).split(".")[1]?.length ?? 0;
    this.rows = set.judged.map((place) => this.#row(place));
    const bands = make("div", { class: "bands" }, ...scale.bands.map((text) => make("span", { text })));
    [...bands.children].forEach((band, place) => band.style.setProperty("--at", place + 1));
    this.anchors = bands;
    const head = make("div", { class: "row ends", "aria-hidden": "true" }, bands);
    this.list = make("div", { class: "members-rows" }, head, ...this.rows.map((row) => row.node));
    this.list.style.setProperty("--bands", scale.bands.length);
    this.sorter = make("button", { type: "button", class: "sorter", text: words("sort"), onclick: () => this.#sort() });
    this.body = [this.list, this.sorter];
  }

  // Words of neighbouring bands take turns on as many lines as they need: on two lines each may be as wide as two bands.
  fit() {
    for (const lines of [1, 2, 3]) {
      this.anchors.dataset.lines = lines;
      if (!crowded(this.anchors)) return;
    }
  }

  #row(place) {
    const { low, high, step } = this.scale;
    const row = { place, value: null };
    row.slider = make("input", {
      type: "range", min: low, max: high, step, autocomplete: "off", class: "untouched",
      "aria-label": words("grade_of", { member: this.members.labels[place] }), "aria-valuetext": words("no_answer"),
    });
    row.slider.value = (low + high) / 2;
    for (const touch of ["input", "change"]) row.slider.addEventListener(touch, () => this.#given(row));
    // A click right where the slider rests moves nothing, and is an answer all the same.
    row.slider.addEventListener("pointerup", () => this.#given(row));
    row.output = make("output", { text: "–" });
    row.node = make("div", { class: "row" }, this.members.view.control(place), row.slider, row.output);
    return row;
  }

  #given(row) {
    const value = Number(row.slider.value);
    if (row.slider.disabled || row.value === value) return;
    this.#show(row, value);
    // Moving one slider is one change, as typing is.
    this.changed(this, this.draft, `member ${row.place}`);
  }

  #show(row, value) {
    row.value = value;
    row.slider.value = value;
    row.slider.classList.remove("untouched");
    row.slider.setAttribute("aria-valuetext", `${value.toFixed(this.decimals)}, ${this.#band(value)}`);
    row.output.textContent = value.toFixed(this.decimals);
  }

  #band(value) {
    const { low, high, bands } = this.scale;
    return bands[Math.min(bands.length - 1, Math.floor(((value - low) / (high - low)) * bands.length))];
  }

  // Puts the highest grade first; members without a grade stay at the end. Letters and answers stay with their members.
  #sort() {
    const focused = document.activeElement;
    const rows = [...this.rows].sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity) || a.place - b.place);
    this.list.append(...rows.map((row) => row.node));
    focused?.focus();
    tell(words("sorted", { members: rows.map((row) => this.members.labels[row.place]).join(", ") }));
  }

  get draft() {
    return this.rows.map((row) => row.value);
  }

  get value() {
    return this.rows.every((row) => row.value !== null) ? this.draft : undefined;
  }

  set(values) {
    values.forEach((value, place) => {
      if (value !== null && this.rows[place]) this.#show(this.rows[place], value);
    });
  }

  get problem() {
    const left = this.rows.filter((row) => row.value === null);
    if (!left.length || left.length === this.rows.length) return null;
    return words("grade_all", { members: left.map((row) => this.members.labels[row.place]).join(", ") });
  }

  lock(locked) {
    for (const row of this.rows) row.slider.disabled = locked;
    this.sorter.disabled = locked;
  }

  // The slider of a member that was chosen by its letter: arrow keys and digits grade it.
  chosen(place) {
    this.rows.find((row) => row.place === place)?.slider.focus({ preventScroll: true });
  }

  // A digit sets the slider in focus, or that of the member in play, to that tenth of its way.
  key(pressed) {
    const { low, high, step } = this.scale;
    const row = this.rows.find((each) => each.slider === document.activeElement)
      ?? this.rows.find((each) => each.place === this.members.view.selected) ?? this.rows.find((each) => each.value === null);
    if (!row) return false;
    const wanted = ((high - low) * Number(pressed)) / 10;
    row.slider.value = low + Math.round(wanted / step) * step;
    this.#given(row);
    return true;
  }

  // Where the next answer is given.
  get spot() {
    return this.rows.find((row) => row.value === null)?.slider ?? this.rows[0].slider;
  }

  get entry() {
    return null;
  }
}
