// Questions about which member it is: one of two, how much better, the best and the worst.
import { Choices } from "./choices.js";
import { make } from "./dom.js";
import { NumberEntry } from "./entries.js";
import { words } from "./words.js";

const MOST_BUTTONS = 11; // grades of a preference; more of them are a slider
let made = 0;

const named = (set) => set.judged.map((place) => set.labels[place]);
const byPlace = (options) => options.map((_, place) => (options.length > 10 ? null : String((place + 1) % 10)));

// One of two, or no difference; for ABX, which of the two X is.
export function choice(id, form, scale, changed, set) {
  const options = named(set).map((member, place) => [place, set.type === "abx" ? words("x_is", { member }) : member]);
  if (scale.ties) options.push(["tie", scale.tie]);
  const field = new Choices(id, form, { type: "choice", options, keys: byPlace(options) }, changed);
  field.kind += " choosing";
  return field;
}

// From much better on one side to much better on the other.
export function preference(id, form, scale, changed, set) {
  const anchors = new Map(scale.anchors);
  const [first, second] = named(set);
  const text = (grade) => {
    const anchor = anchors.get(Math.abs(grade));
    if (grade === 0) return anchor ?? "0";
    return `${grade < 0 ? first : second}: ${anchor ?? `+${Math.abs(grade)}`}`;
  };
  const grades = Array.from({ length: 2 * scale.steps + 1 }, (_, place) => place - scale.steps);
  if (grades.length > MOST_BUTTONS) {
    const limits = { low: -scale.steps, high: scale.steps, step: 1, unit: null, whole: true };
    const marks = [-scale.steps, 0, scale.steps].map((grade) => [grade, text(grade)]);
    return new NumberEntry(id, form, { ...limits, anchors: marks }, changed);
  }
  const options = grades.map((grade) => [grade, text(grade)]);
  const field = new Choices(id, form, { type: "choice", options, keys: byPlace(options) }, changed);
  field.kind = "list grades";
  return field;
}

export class BestWorst {
  kind = "bestworst";

  constructor(id, form, scale, changed, set) {
    made += 1;
    Object.assign(this, { id, form, scale, changed });
    this.columns = { best: [], worst: [] };
    const rows = set.judged.map((place, row) => make("div", { class: "row" },
      this.#mark("best", row, set.labels[place]), set.view.control(place), this.#mark("worst", row, set.labels[place])));
    const head = make("div", { class: "row ends", "aria-hidden": "true" },
      make("span", { text: scale.best }), make("span"), make("span", { text: scale.worst }));
    this.body = [make("div", { class: "members-rows" }, head, ...rows)];
  }

  #mark(end, row, member) {
    const input = make("input", {
      type: "radio", name: `${end}-${made}`, autocomplete: "off", "aria-label": `${this.scale[end]}: ${member}`,
      onchange: () => this.#chosen(end, row),
    });
    this.columns[end].push(input);
    return make("label", { class: "option" }, input, make("span", { class: "point" }));
  }

  // A member cannot be both: the later choice holds.
  #chosen(end, row) {
    this.columns[end][row].checked = true;
    this.columns[end === "best" ? "worst" : "best"][row].checked = false;
    this.changed(this, Object.entries(this.draft).map(([name, place]) => `${name}:${place}`).join(" "), false, this.value === undefined);
  }

  get inputs() {
    return [...this.columns.best, ...this.columns.worst];
  }

  get draft() {
    const chosen = Object.entries(this.columns).map(([end, inputs]) => [end, inputs.findIndex((input) => input.checked)]);
    return Object.fromEntries(chosen.filter(([, place]) => place >= 0));
  }

  get value() {
    const chosen = this.draft;
    return "best" in chosen && "worst" in chosen ? chosen : undefined;
  }

  set(chosen) {
    for (const [end, place] of Object.entries(chosen)) if (this.columns[end]?.[place]) this.columns[end][place].checked = true;
  }

  get problem() {
    return Object.keys(this.draft).length === 1 ? words("best_and_worst", this.scale) : null;
  }

  lock(locked) {
    for (const input of this.inputs) input.disabled = locked;
  }

  // The first digit is the best, the second the worst, a third begins anew.
  key(pressed) {
    const row = (Number(pressed) + 9) % 10;
    if (row >= this.columns.best.length) return false;
    const { best, worst } = this.draft;
    const whole = best !== undefined && worst !== undefined;
    if (whole) for (const input of this.inputs) input.checked = false;
    this.#chosen(best === undefined || whole || best === row ? "best" : "worst", row);
    return true;
  }

  get entry() {
    return null;
  }
}
