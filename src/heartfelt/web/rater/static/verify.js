// A field that a machine filled in first: accept it, fix it or reject it. What was done is kept beside the value.
import { make } from "./dom.js";
import { words } from "./words.js";

const VERDICTS = [["accepted", "accept"], ["fixed", "fix"], ["rejected", "reject"]];
let made = 0;

export class Verify {
  kind = "verify";

  constructor(editor, machine, changed) {
    made += 1;
    this.id = editor.id;
    this.form = editor.form;
    this.editor = editor;
    this.machine = machine;
    this.changed = changed;
    this.inputs = VERDICTS.map(([verdict]) => make("input", {
      type: "radio", name: `verdict-${made}`, value: verdict, autocomplete: "off", onchange: () => this.#turned(),
    }));
    const options = VERDICTS.map(([, word], place) => make("label", { class: "option" }, this.inputs[place],
      make("kbd", { "aria-hidden": "true", text: place + 1 }), make("span", { class: "label", text: words(word) })));
    const tags = new Map(editor.kind === "tags" ? editor.scale.tags : []);
    const shown = editor.kind === "tags" ? machine.split(editor.scale.separator).map((tag) => tag.trim()) : [machine.trim()];
    const chips = shown.map((text) => make("span", { class: "chip machine", text: tags.get(text) ?? text }));
    this.suggestion = make("p", { class: "suggestion" }, make("span", { class: "sr", text: words("machine_says") }), ...chips);
    // The field to mend it takes the place of what the machine said, so that nothing else on the page moves.
    this.correction = make("div", { class: "editor", hidden: true }, ...editor.body.filter(Boolean));
    this.body = [make("div", { class: "row" }, this.suggestion, this.correction, make("div", { class: "options" }, ...options))];
  }

  get verdict() {
    return this.inputs.find((input) => input.checked)?.value;
  }

  #turned() {
    this.#open();
    if (this.verdict === "fixed" && this.editor.value === undefined) this.editor.set(this.machine);
    this.changed(this, `${this.verdict}: ${this.value ?? ""}`);
  }

  #open() {
    const fixing = this.verdict === "fixed";
    this.correction.hidden = !fixing;
    this.suggestion.hidden = fixing;
  }

  get value() {
    if (this.verdict === "accepted") return this.editor.kind === "number" ? Number(this.machine) : this.machine;
    return this.verdict === "fixed" ? this.editor.value : undefined;
  }

  get answered() {
    return this.verdict !== undefined && (this.verdict !== "fixed" || this.editor.value !== undefined);
  }

  set({ verdict, value }) {
    const input = this.inputs.find((each) => each.value === verdict);
    if (!input) return;
    input.checked = true;
    this.#open();
    if (verdict === "fixed" && value !== undefined) this.editor.set(value);
  }

  get problem() {
    return this.verdict === "fixed" ? this.editor.problem : null;
  }

  key(pressed) {
    const input = this.inputs[Number(pressed) - 1];
    if (!input) return false;
    input.checked = true;
    this.#turned();
    return true;
  }

  get entry() {
    return this.verdict === "fixed" ? this.editor.entry : null;
  }
}
