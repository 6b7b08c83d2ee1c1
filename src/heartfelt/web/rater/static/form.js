// The questions of a trial: controls in fieldsets, laid out on as many pages as it takes so that nothing scrolls.
import { find, make, part } from "./dom.js";
import { Choices } from "./choices.js";
import { BestWorst, choice, preference } from "./comparing.js";
import { NumberEntry, TagEntry, TextEntry } from "./entries.js";
import { Grades } from "./grades.js";
import { Grid } from "./grid.js";
import { Ranking } from "./ranking.js";
import { Course, Trace } from "./trace.js";
import { Verify } from "./verify.js";
import { words } from "./words.js";

const KINDS = { numeric: NumberEntry, text: TextEntry, tags: TagEntry, trace: Trace };
const SETS = {
  choice, preference,
  grade: (...given) => new Grades(...given),
  rank: (...given) => new Ranking(...given),
  "best-worst": (...given) => new BestWorst(...given),
};

function control(id, number, study, machine, changed, set) {
  const form = { ...study.forms[number], number };
  const scale = study.scales[form.scale];
  if (SETS[scale.type]) return SETS[scale.type](id, form, scale, changed, set);
  const Kind = KINDS[scale.type] ?? Choices;
  if (!form.machine || machine === null || machine === undefined) return new Kind(id, form, scale, changed);
  let verify = null;
  const editor = new Kind(id, form, scale, (_, value, typed) => verify.edited(typed));
  verify = new Verify(editor, machine, changed);
  return verify;
}

function fieldset(field) {
  const legend = make("legend", {}, make("span", { class: "asks", text: field.form.text }));
  if (!field.form.required) legend.append(make("small", { class: "optional", text: words("optional") }));
  if (field.form.help) legend.append(make("small", { class: "help", text: field.form.help }));
  field.note = make("p", { class: "note", role: "alert", hidden: true });
  field.node = make("fieldset", { class: `question ${field.kind}`, "data-form": field.form.number, tabindex: "-1" }, legend,
    ...field.body.filter(Boolean), field.note);
  return field.node;
}

export const answered = (field) => (field instanceof Verify ? field.answered : field.value !== undefined);
const open = (field) => !answered(field) || field.problem !== null;
// Every draft needs a verdict, also where the question is optional.
export const settled = (field) => field.problem === null && (answered(field) || (!field.form.required && !(field instanceof Verify)));

export class Form {
  constructor(root, step, study, changed, set) {
    this.root = root;
    this.study = study;
    this.container = part("questions", root);
    this.controls = step.questions.map((id, place) => control(id, step.forms[place], study, step.machine[id], (field, ...details) => {
      this.grid?.draw();
      changed(field, ...details);
    }, set));
    this.courses = [];
    this.units = this.#units();
    this.page = 0;
    this.active = this.units[0]?.controls[0] ?? null;
  }

  #units() {
    const units = [];
    const [x, y] = this.study.grid.map((number) => this.controls.find((field) => field.form.number === number));
    for (const field of this.controls) {
      if (x && y && field === y) continue;
      if (x && y && field === x && x instanceof Trace) {
        const course = new Course(x, y);
        this.courses.push(course);
        const rows = make("div", { class: "rows" }, fieldset(x), fieldset(y), course.status);
        units.push({ controls: [x, y], node: make("div", { class: "gridded traced" }, course.surface.area, rows), machine: false, first: true });
      } else if (x && y && field === x) {
        this.grid = new Grid(x, y, this.container.dataset.grid);
        const rows = make("div", { class: "rows" }, make("p", { class: "soft", text: this.container.dataset.rows }), fieldset(x), fieldset(y));
        units.push({ controls: [x, y], node: make("div", { class: "gridded" }, this.grid.node, rows), machine: false });
        this.grid.draw();
      } else {
        if (field instanceof Trace) this.courses.push(new Course(field));
        units.push({ controls: [field], node: fieldset(field), machine: Boolean(field.form.machine), first: field instanceof Trace });
      }
    }
    // What is answered while the clip plays comes first.
    this.judged = units.filter((unit) => !unit.machine).sort((a, b) => Boolean(b.first) - Boolean(a.first));
    this.verified = units.filter((unit) => unit.machine);
    const verifying = this.verified.some((unit) => unit.controls[0] instanceof Verify);
    this.heading = verifying ? make("h2", { class: "phase", text: words("verify") }) : null;
    this.container.append(...this.judged.map((unit) => unit.node), ...(this.heading ? [this.heading] : []), ...this.verified.map((unit) => unit.node));
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
    const verifying = units.some((unit) => unit.machine);
    if (this.heading) this.heading.hidden = !verifying;
    this.root.classList.toggle("verifying", verifying);
    return fits ? fits() : true;
  }

  turn(page) {
    this.page = page;
    const units = this.pages[page] ?? [];
    this.#only(units);
    this.activate(this.here.find(open) ?? this.here[0] ?? null);
  }

  get here() {
    return (this.pages[this.page] ?? []).flatMap((unit) => unit.controls);
  }

  get last() {
    return this.page >= this.pages.length - 1;
  }

  activate(field) {
    this.active = field;
    for (const other of this.controls) other.node.classList.toggle("active", other === field);
  }

  lock(locked) {
    for (const field of this.controls) {
      // A question with buttons that play its members stays, and locks what answers.
      if (field.lock) field.lock(locked);
      else field.node.disabled = locked;
    }
    if (locked) this.root.dataset.locked = "";
    else delete this.root.dataset.locked;
  }

  // The question that comes next on this page: the first open one further down, else a needed one left behind.
  following(field) {
    const here = this.here;
    const place = here.indexOf(field);
    return here.slice(place + 1).find(open) ?? here.slice(0, place).find((other) => !settled(other)) ?? null;
  }

  focus(field) {
    this.activate(field);
    // A slider rather than its field, where a digit would be typed and a phone would open its keyboard.
    const place = field.spot ?? field.slider ?? field.entry ?? field.node;
    place.focus({ preventScroll: true });
    // A question with a row for each member may be taller than the screen.
    (field.spot ?? (field.lock ? find("legend", field.node) : field.node)).scrollIntoView({ block: "nearest" });
  }

  // Says in words what is still wrong on this page; the first question with a problem, or null.
  check() {
    let first = null;
    for (const field of this.here) {
      const missing = !answered(field) && field.form.required;
      const problem = field.problem ?? (missing ? field.missing ?? words("missing_one", { question: field.form.text }) : null);
      field.note.hidden = problem === null;
      field.note.textContent = problem ?? "";
      if (problem !== null) first ??= field;
    }
    return first;
  }

  clear(field) {
    field.note.hidden = true;
  }

  get values() {
    const given = {};
    for (const field of this.controls) if (field.value !== undefined) given[field.id] = field.value;
    return given;
  }

  // The values, and what has been given so far of those that are not complete.
  get drafts() {
    const given = this.values;
    for (const field of this.controls) if (field.draft !== undefined) given[field.id] = field.draft;
    return given;
  }

  get verdicts() {
    const given = {};
    for (const field of this.controls) if (field instanceof Verify && field.verdict) given[field.id] = field.verdict;
    return given;
  }

  restore(values, verdicts) {
    for (const field of this.controls) {
      if (field instanceof Verify) field.set({ verdict: verdicts[field.id], value: values[field.id] });
      else if (values[field.id] !== undefined) field.set(values[field.id]);
    }
    this.grid?.draw();
    this.active = this.units.flatMap((unit) => unit.controls).find(open) ?? this.units.at(-1)?.controls.at(-1) ?? null;
  }

  of(node) {
    const set = node.closest?.("fieldset.question");
    return set ? this.controls.find((field) => field.node === set) : null;
  }
}
