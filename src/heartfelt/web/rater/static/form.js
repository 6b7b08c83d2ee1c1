// The questions of a trial: controls in fieldsets, laid out on as many pages as it takes so that nothing scrolls.
import { find, make, part, tell } from "./dom.js";
import { Choices } from "./choices.js";
import { BestWorst, choice, preference } from "./comparing.js";
import { visible } from "./conditions.js";
import { NumberEntry, TextEntry } from "./entries.js";
import { Grades } from "./grades.js";
import { Grid } from "./grid.js";
import { matrix } from "./matrix.js";
import { offerNone } from "./none.js";
import { Ranking } from "./ranking.js";
import { TagEntry } from "./tags.js";
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
  // A page of a questionnaire brings its forms along.
  const form = typeof number === "object" ? { ...number } : { ...study.forms[number], number };
  const scale = study.scales[form.scale];
  if (SETS[scale.type]) return SETS[scale.type](id, form, scale, changed, set);
  const Kind = KINDS[scale.type] ?? Choices;
  const entry = (notify) => {
    const field = new Kind(id, form, scale, notify);
    if (form.none) offerNone(field);
    return field;
  };
  if (!form.machine || machine === null || machine === undefined) return entry(changed);
  let verify = null;
  const editor = entry((_, value, typed) => verify.edited(typed));
  verify = new Verify(editor, machine, changed);
  return verify;
}

// Which questions are optional is always said, which are required only where both are asked.
function fieldset(field, both = false) {
  const legend = make("legend", {}, make("span", { class: "asks", text: field.form.text }));
  if (both || !field.form.required) {
    const { required } = field.form;
    legend.append(" ", make("small", { class: required ? "required" : "optional", text: words(required ? "required" : "optional") }));
  }
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
    this.conditions = step.show_if ?? {};
    this.out = new Set();
    this.controls = step.questions.map((id, place) => control(id, step.forms[place], study, step.machine[id], (field, ...details) => {
      this.grid?.draw();
      this.review(true);
      changed(field, ...details);
    }, set));
    this.courses = [];
    this.units = this.#units();
    this.review();
    this.page = 0;
    this.active = this.units[0]?.controls[0] ?? null;
  }

  // Which questions are shown after the answers so far; the others are out of the form until that changes.
  review(speak = false) {
    if (!Object.keys(this.conditions).length) return;
    const fields = new Map(this.controls.map((field) => [field.id, field]));
    // A draft counts as accepted until there is a verdict, so that one key can accept all that depends on it too.
    const value = (field) => (field instanceof Verify && !field.verdict ? field.machine : field.value);
    const shown = visible([...fields.keys()], this.conditions, (id) => value(fields.get(id)));
    const out = new Set(this.controls.filter((field) => !shown.has(field.id)));
    if (out.size === this.out.size && [...out].every((field) => this.out.has(field))) return;
    const added = this.controls.filter((field) => this.out.has(field) && !out.has(field));
    this.out = out;
    if (out.has(this.active)) this.active = this.controls.find((field) => !out.has(field)) ?? null;
    if (this.pages) this.lay(this.fits);
    if (speak && added.length) tell(words("asked_too", { question: added.map((field) => field.form.text).join("; ") }));
  }

  #units() {
    const units = [];
    const both = new Set(this.controls.map((field) => Boolean(field.form.required))).size > 1;
    const framed = (field) => fieldset(field, both);
    const [x, y] = this.study.grid.map((number) => this.controls.find((field) => field.form.number === number));
    for (const field of this.controls) {
      if (x && y && field === y) continue;
      if (x && y && field === x && x instanceof Trace) {
        const course = new Course(x, y);
        this.courses.push(course);
        const rows = make("div", { class: "rows" }, framed(x), framed(y), course.status);
        units.push({ controls: [x, y], node: make("div", { class: "gridded traced" }, course.surface.area, rows), machine: false, first: true });
      } else if (x && y && field === x) {
        this.grid = new Grid(x, y, this.container.dataset.grid);
        const rows = make("div", { class: "rows" }, make("p", { class: "soft", text: this.container.dataset.rows }), framed(x), framed(y));
        units.push({ controls: [x, y], node: make("div", { class: "gridded" }, this.grid.node, rows), machine: false });
        this.grid.draw();
      } else if (field.form.grid) {
        if (units.some((unit) => unit.controls.includes(field))) continue;
        const rows = this.controls.filter((other) => other.form.grid === field.form.grid);
        units.push({ controls: rows, node: matrix(rows, framed), machine: false, rows: true });
      } else {
        if (field instanceof Trace) this.courses.push(new Course(field));
        units.push({ controls: [field], node: framed(field), machine: Boolean(field.form.machine), first: field instanceof Trace });
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

  get #worded() {
    return this.controls.filter((field) => field.anchors);
  }

  // Gives the words under scales the room they need.
  fit() {
    for (const field of this.#worded) field.fit();
  }

  // Splits the questions into pages: judgement first, the machine's fields after it, each page as full as fits.
  lay(fits) {
    this.fits = fits;
    const active = this.active;
    this.root.classList.remove("compact", "tight");
    if (this.#worded.length) this.#only(this.units);
    this.fit();
    this.#paginate(fits);
    const tall = () => this.pages.some((page) => page.length === 1 && !this.#only(page, fits));
    // Where one question alone does not fit, everything else gives way to it.
    if (tall()) {
      this.root.classList.add("tight");
      this.#paginate(fits);
    }
    // Points that are listed and do not fit, as on a phone on its side, stand in a row after all.
    if (find(".listed", this.container) && tall()) {
      for (const field of this.#worded) field.node.classList.remove("listed");
      this.#paginate(fits);
    }
    this.turn(Math.max(0, this.pages.findIndex((page) => page.some((unit) => unit.controls.includes(active)))));
    if (active) this.activate(active);
  }

  #paginate(fits) {
    this.pages = [];
    for (const phase of [this.judged, this.verified].flatMap((units) => this.#grouped(units))) {
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

  // The units to show, together as the study groups them on pages.
  #grouped(units) {
    const groups = [];
    let last = null;
    for (const unit of units) {
      if (unit.controls.every((field) => this.out.has(field))) continue;
      const { page } = unit.controls[0].form;
      if (groups.length && page === last) groups.at(-1).push(unit);
      else groups.push([unit]);
      last = page;
    }
    return groups;
  }

  #filled(units, fits) {
    const pages = [[]];
    for (const unit of units.flatMap((each) => this.#sliced(each, fits))) {
      const page = pages.at(-1);
      if (page.length && !this.#only([...page, unit], fits)) pages.push([unit]);
      else page.push(unit);
    }
    return pages;
  }

  // A grid that is too tall for one page, as parts of it.
  #sliced(unit, fits) {
    if (!unit.rows || this.#only([unit], fits)) return [unit];
    const parts = [];
    for (const field of unit.controls.filter((each) => !this.out.has(each))) {
      const last = parts.at(-1);
      if (last && this.#only([{ ...unit, controls: [...last.controls, field] }], fits)) last.controls.push(field);
      else parts.push({ ...unit, controls: [field] });
    }
    return parts;
  }

  #only(units, fits) {
    const shown = new Set(units.flatMap((unit) => unit.controls));
    for (const unit of this.units) {
      unit.node.hidden = !unit.controls.some((field) => shown.has(field));
      if (unit.rows) for (const field of unit.controls) field.node.hidden = !shown.has(field) || this.out.has(field);
    }
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
    return (this.pages[this.page] ?? []).flatMap((unit) => unit.controls).filter((field) => !this.out.has(field));
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

  // The questions that are shown, on this page or another.
  get asked() {
    return this.controls.filter((field) => !this.out.has(field));
  }

  get values() {
    const given = {};
    for (const field of this.asked) if (field.value !== undefined) given[field.id] = field.value;
    return given;
  }

  // The values, and what has been given so far of those that are not complete.
  get drafts() {
    const given = this.values;
    for (const field of this.asked) if (field.draft !== undefined) given[field.id] = field.draft;
    return given;
  }

  get verdicts() {
    const given = {};
    for (const field of this.asked) if (field instanceof Verify && field.verdict) given[field.id] = field.verdict;
    return given;
  }

  restore(values, verdicts) {
    for (const field of this.controls) {
      if (field instanceof Verify) field.set({ verdict: verdicts[field.id], value: values[field.id] });
      else if (values[field.id] !== undefined) field.set(values[field.id]);
    }
    this.grid?.draw();
    this.review();
    const asked = this.units.flatMap((unit) => unit.controls).filter((field) => !this.out.has(field));
    this.active = asked.find(open) ?? asked.at(-1) ?? null;
  }

  of(node) {
    const set = node.closest?.("fieldset.question");
    return set ? this.controls.find((field) => field.node === set) : null;
  }
}
