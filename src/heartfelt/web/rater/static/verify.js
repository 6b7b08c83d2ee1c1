// A field that a machine filled in first: its draft as chips, to be accepted, opened and corrected, or rejected.
import { NONE } from "./conditions.js";
import { make } from "./dom.js";
import { noneText } from "./none.js";
import { words } from "./words.js";

export const REJECTED = "(rejected)";
const MARKS = { accepted: "M5 12.5l4.5 4.5L19 7.5", fixed: "M5 19l1-4L15.500 5.500l3 3L9 18z", rejected: "M6.500 6.500l11 11M17.500 6.500l-11 11" };
const SVG = "http://www.w3.org/2000/svg";

function icon(path) {
  const node = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "path");
  node.setAttribute("viewBox", "0 0 24 24");
  node.setAttribute("aria-hidden", "true");
  if (path) line.setAttribute("d", path);
  node.append(line);
  return node;
}

// The words that stand for a draft or an answer.
export function draftTexts(value, scale, form) {
  if (value === NONE && form.none) return [noneText(form)];
  const known = new Map([...(scale.tags ?? []), ...(scale.suggestions ?? []), ...(scale.options ?? [])].map(([id, text]) => [String(id), text]));
  const parts = Array.isArray(value) ? value : scale.type === "tags" ? String(value).split(scale.separator) : [value];
  return parts.map((part) => String(part).trim()).filter(Boolean).map((part) => String(known.get(part) ?? part));
}

export class Verify {
  kind = "verify";

  constructor(editor, machine, changed) {
    Object.assign(this, { id: editor.id, form: editor.form, editor, machine, changed, verdict: undefined, opened: false });
    this.mark = icon();
    this.state = make("span", { class: "sr" });
    this.chips = make("span", { class: "chips" });
    this.suggestion = make("button", { type: "button", class: "suggestion", "data-does": "open", title: words("fix") },
      make("span", { class: "sr", text: words("machine_says") }), this.chips, this.state, this.mark);
    this.correction = make("div", { class: "editor", hidden: true }, ...editor.body.filter(Boolean));
    this.rejecting = make("button", {
      type: "button", class: "refuse", "data-does": "reject", title: words("reject"),
      "aria-label": words("reject_draft", { question: editor.form.text }),
    }, icon(MARKS.rejected));
    this.done = make("button", { type: "button", class: "done", "data-does": "done", hidden: true });
    this.body = [make("div", { class: "row" }, this.suggestion, this.correction, this.done, this.rejecting)];
    this.#draw();
  }

  #draw() {
    const { verdict, opened } = this;
    const fixed = verdict === "fixed";
    const shown = draftTexts(fixed ? this.editor.value ?? "" : this.machine, this.editor.scale, this.form);
    this.chips.replaceChildren(...shown.map((text) => make("span", { class: fixed ? "chip own" : "chip machine", text })));
    this.mark.firstChild.setAttribute("d", MARKS[verdict] ?? "");
    this.state.textContent = words(`draft_${verdict ?? "open"}`);
    this.suggestion.hidden = opened;
    this.correction.hidden = !opened;
    this.done.hidden = !opened;
    this.done.textContent = words(opened && this.#same ? "accept" : "draft_done");
    this.suggestion.setAttribute("aria-expanded", opened);
    if (this.node) this.node.dataset.verdict = verdict ?? "";
  }

  get #same() {
    const text = (value) => (Array.isArray(value) ? value : String(value).split(this.editor.scale.separator ?? "\0")).map((part) => part.trim()).join("\0");
    const { value, kind } = this.editor;
    if (value === NONE || this.machine === NONE) return value === this.machine;
    return kind === "number" ? Number(this.machine) === value : value !== undefined && text(value) === text(this.machine);
  }

  // What can be taken back to.
  get memory() {
    return { verdict: this.verdict, value: this.verdict === "fixed" ? this.editor.value : undefined };
  }

  recall({ verdict, value }) {
    this.opened = false;
    this.verdict = verdict;
    if (value !== undefined) this.editor.set(value);
    this.#draw();
  }

  decide(verdict) {
    this.recall({ verdict });
    if (verdict === "accepted") this.editor.set(this.machine);
  }

  open() {
    if (this.verdict !== "fixed") this.editor.set(this.machine);
    this.opened = true;
    this.#draw();
  }

  // Closes the field: a draft that was left as it is counts as accepted, one that was emptied as rejected.
  close() {
    this.opened = false;
    this.verdict = this.editor.value === undefined ? "rejected" : this.#same ? "accepted" : "fixed";
    this.#draw();
  }

  // The editor was used: a choice settles the field, text and tags may go on.
  edited(typed) {
    if ((this.editor.inputs || this.editor.value === NONE) && !typed) this.settle();
    else {
      this.done.textContent = words(this.#same ? "accept" : "draft_done");
      this.changed(this, this.logText, typed || true);
    }
  }

  // For the log of changes.
  get logText() {
    const value = this.opened ? this.editor.value : this.value;
    return `${this.opened ? "editing" : this.verdict}: ${Array.isArray(value) ? value.join(";") : value ?? ""}`;
  }

  get value() {
    if (this.verdict === "accepted") return this.editor.kind === "number" && this.machine !== NONE ? Number(this.machine) : this.machine;
    return this.verdict === "fixed" ? this.editor.value : undefined;
  }

  // The answer as it is logged.
  get given() {
    return this.verdict === "rejected" ? REJECTED : this.value;
  }

  get answered() {
    return this.verdict !== undefined && !this.opened;
  }

  set({ verdict, value }) {
    if (verdict) this.recall({ verdict, value });
  }

  get problem() {
    return this.opened || this.verdict === "fixed" ? this.editor.problem : null;
  }

  key(pressed) {
    return this.opened && this.editor.key(pressed);
  }

  get entry() {
    return this.opened ? this.editor.entry : null;
  }
}
