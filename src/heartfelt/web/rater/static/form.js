// The questions of a trial: controls in fieldsets, laid out on as many pages as it takes so that nothing scrolls.
import { find, make, part } from "./dom.js";
import { Choices } from "./choices.js";
import { NumberEntry, TagEntry, TextEntry } from "./entries.js";
import { Grid } from "./grid.js";
import { Verify } from "./verify.js";
import { words } from "./words.js";

const KINDS = { numeric: NumberEntry, text: TextEntry, tags: TagEntry };

function control(id, number, study, machine, changed) {
  const form = { ...study.forms[number], number };
  const scale = study.scales[form.scale];
  const Kind = KINDS[scale.type] ?? Choices;
  if (!form.machine || machine === null || machine === undefined) return new Kind(id, form, scale, changed);
  let verify = null;
  const editor = new Kind(id, form, scale, (_, value, typed) => changed(verify, `fixed: ${value}`, typed));
  verify = new Verify(editor, machine, changed);
  return verify;
}

function fieldset(one) {
  const legend = make("legend", {}, make("span", { class: "asks", text: one.form.text }));
  if (!one.form.required) legend.append(make("small", { class: "optional", text: words("optional") }));
  if (one.form.help) legend.append(make("small", { class: "help", text: one.form.help }));
  one.note = make("p", { class: "note", role: "alert", hidden: true });
  one.node = make("fieldset", { class: `question ${one.kind}`, "data-form": one.form.number, tabindex: "-1" }, legend,
    ...one.body.filter(Boolean), one.note);
  return one.node;
}

export const answered = (one) => (one instanceof Verify ? one.answered : one.value !== undefined);
const open = (one) => !answered(one) || one.problem !== null;
export const settled = (one) => one.problem === null && (answered(one) || !one.form.required);

export class Form {
  constructor(root, step, study, changed) {
    this.root = root;
    this.study = study;
    this.room = part("questions", root);
    this.controls = step.questions.map((id, place) => control(id, step.forms[place], study, step.machine[id], (one, ...told) => {
      this.grid?.draw();
      changed(one, ...told);
    }));
    this.units = this.#units();
    this.page = 0;
    this.active = this.units[0]?.controls[0] ?? null;
  }

  #units() {
    const units = [];
    const [x, y] = this.study.grid.map((number) => this.controls.find((one) => one.form.number === number));
    for (const one of this.controls) {
      if (x && y && one === y) continue;
      if (x && y && one === x) {
        this.grid = new Grid(x, y, this.room.dataset.grid);
        const rows = make("div", { class: "rows" }, make("p", { class: "soft", text: this.room.dataset.rows }), fieldset(x), fieldset(y));
        units.push({ controls: [x, y], node: make("div", { class: "gridded" }, this.grid.node, rows), machine: false });
        this.grid.draw();
      } else units.push({ controls: [one], node: fieldset(one), machine: Boolean(one.form.machine) });
    }
    this.judged = units.filter((unit) => !unit.machine);
    this.verified = units.filter((unit) => unit.machine);
    const told = this.verified.some((unit) => unit.controls[0] instanceof Verify);
    this.heading = told ? make("h2", { class: "phase", text: words("verify") }) : null;
    this.room.append(...this.judged.map((unit) => unit.node), ...(this.heading ? [this.heading] : []), ...this.verified.map((unit) => unit.node));
    return [...this.judged, ...this.verified];
  }

  // Splits the questions into pages: judgement first, the machine's fields after it, each page as full as fits.
  lay(fits) {
    const active = this.active;
    this.root.classList.remove("compact", "tight");
    this.#paginate(fits);
    // Where one question alone does not fit, everything else gives way to it.
    if (this.pages.some((page) => page.length === 1 && !this.#only(page, fits))) {
      this.root.classList.add("tight");
      this.#paginate(fits);
    }
    this.turn(Math.max(0, this.pages.findIndex((page) => page.some((unit) => unit.controls.includes(active)))));
    if (active) this.activate(active);
  }

  #paginate(fits) {
    this.pages = [];
    for (const phase of [this.judged, this.verified]) {
      if (!phase.length) continue;
      if (this.study.onePerPage) {
        this.pages.push(...phase.map((unit) => [unit]));
        continue;
      }
      if (!this.#only(phase, fits)) {
        this.root.classList.add("compact");
        if (!this.#only(phase, fits)) {
          this.pages.push(...this.#filled(phase, fits));
          continue;
        }
      }
      this.pages.push(phase);
    }
  }

  #filled(units, fits) {
    const pages = [[]];
    for (const unit of units) {
      const page = pages.at(-1);
      if (page.length && !this.#only([...page, unit], fits)) pages.push([unit]);
      else page.push(unit);
    }
    return pages;
  }

  #only(units, fits) {
    for (const unit of this.units) unit.node.hidden = !units.includes(unit);
    if (this.heading) this.heading.hidden = !units.some((unit) => unit.machine);
    return fits ? fits() : true;
  }

  turn(page) {
    this.page = page;
    const units = this.pages[page] ?? [];
    this.#only(units);
    this.root.classList.toggle("verifying", units.some((unit) => unit.machine));
    this.activate(this.here.find(open) ?? this.here[0] ?? null);
  }

  get here() {
    return (this.pages[this.page] ?? []).flatMap((unit) => unit.controls);
  }

  get last() {
    return this.page >= this.pages.length - 1;
  }

  activate(one) {
    this.active = one;
    for (const other of this.controls) other.node.classList.toggle("active", other === one);
  }

  lock(locked) {
    for (const one of this.controls) one.node.disabled = locked;
    if (locked) this.root.dataset.locked = "";
    else delete this.root.dataset.locked;
  }

  // The question that comes next on this page: the first open one further down, else a needed one left behind.
  following(one) {
    const here = this.here;
    const place = here.indexOf(one);
    return here.slice(place + 1).find(open) ?? here.slice(0, place).find((other) => !settled(other)) ?? null;
  }

  focus(one) {
    this.activate(one);
    // A slider rather than its field, where a digit would be typed and a phone would open its keyboard.
    const place = one.slider ?? one.entry ?? one.node;
    place.focus({ preventScroll: true });
    one.node.scrollIntoView({ block: "nearest" });
  }

  // Says in words what is still wrong on this page; the first question with a problem, or null.
  check() {
    let first = null;
    for (const one of this.here) {
      const missing = !answered(one) && one.form.required;
      const problem = one.problem ?? (missing ? words("missing_one", { question: one.form.text }) : null);
      one.note.hidden = problem === null;
      one.note.textContent = problem ?? "";
      if (problem !== null) first ??= one;
    }
    return first;
  }

  clear(one) {
    one.note.hidden = true;
  }

  get values() {
    const given = {};
    for (const one of this.controls) if (one.value !== undefined) given[one.id] = one.value;
    return given;
  }

  get verdicts() {
    const given = {};
    for (const one of this.controls) if (one instanceof Verify && one.verdict) given[one.id] = one.verdict;
    return given;
  }

  restore(values, verdicts) {
    for (const one of this.controls) {
      if (one instanceof Verify) one.set({ verdict: verdicts[one.id], value: values[one.id] });
      else if (values[one.id] !== undefined) one.set(values[one.id]);
    }
    this.grid?.draw();
    this.active = this.units.flatMap((unit) => unit.controls).find(open) ?? this.active;
  }

  of(node) {
    const set = node.closest?.("fieldset.question");
    return set ? this.controls.find((one) => one.node === set) : null;
  }
}
