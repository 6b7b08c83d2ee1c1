// The page of a trial on which machine drafts are verified: one key accepts all that are open, a digit opens one field,
// Escape rejects, and every step can be undone.
import { NONE } from "./conditions.js";
import { find, keyHint, make, tell } from "./dom.js";
import { settled } from "./form.js";
import { Verify } from "./verify.js";
import { wish } from "./wishes.js";
import { words, wordsHere } from "./words.js";

const MOST_KEYS = 10;

export class Verification {
  constructor(trial) {
    this.trial = trial;
    this.form = trial.form;
    this.past = [];
    for (const field of this.form.controls) {
      if (!(field instanceof Verify)) continue;
      field.suggestion.addEventListener("click", () => this.open(field));
      field.rejecting.addEventListener("click", () => this.decide([field], "rejected"));
      field.done.addEventListener("click", () => this.close(field));
      field.settle = () => this.close(field);
    }
    const { heading } = this.form;
    if (heading) heading.append(make("span", { class: "verify-keys", "aria-hidden": "true" }, ...this.#help()));
    const { limits } = trial.step;
    if (heading && limits) heading.after(make("details", { class: "limits" }, make("summary", { text: words("draft_limits") }), ...limits.map((text) => make("p", { text, dir: "auto" }))));
  }

  #help() {
    const none = this.form.controls.some((field) => field instanceof Verify && field.form.none);
    return [
      keyHint(words("key_accept_all"), "A"), keyHint(words("key_open"), "1", "–", "9"), keyHint(words("key_reject"), "Esc"),
      keyHint(words("key_undo"), "U"), ...(none ? [keyHint(words("none"), "N")] : []),
    ];
  }

  get here() {
    return this.form.here.filter((field) => field instanceof Verify);
  }

  // Drafts on this page without a verdict.
  get pending() {
    return this.here.filter((field) => !field.answered);
  }

  get opened() {
    return this.form.controls.find((field) => field instanceof Verify && field.opened) ?? null;
  }

  get shown() {
    return this.here.length > 0;
  }

  // The fields the rater is working on.
  get current() {
    if (!this.shown) return this.form.active ? [this.form.active] : this.form.here;
    const active = this.form.active;
    const busy = this.opened ?? (active && !(active instanceof Verify) && !settled(active) && !this.pending.length ? active : null);
    if (busy) return [busy];
    return this.pending.length ? this.pending : this.here;
  }

  // The digits that open the fields of this page.
  number() {
    for (const field of this.form.controls) field.keycap?.remove();
    if (!this.shown) return;
    this.form.here.slice(0, MOST_KEYS).forEach((field, place) => {
      field.keycap = make("kbd", { class: "keycap", "aria-hidden": "true", text: (place + 1) % MOST_KEYS });
      find("legend", field.node).prepend(field.keycap);
    });
  }

  decide(fields, verdict) {
    if (this.trial.locked || !fields.length) return;
    this.past.push(fields.map((field) => [field, field.opened ? this.before : field.memory]));
    for (const field of fields) {
      field.decide(verdict);
      this.#done(field);
    }
    const left = this.pending.length;
    const name = fields.length === 1 ? `${fields[0].form.text}: ` : "";
    tell(`${name}${words(`draft_${verdict}`)}. ${left ? words("drafts_open", { count: left }) : words("complete")}`);
    this.#onward(fields.at(-1));
  }

  acceptAll() {
    this.decide(this.pending, "accepted");
  }

  open(field) {
    if (this.trial.locked) return;
    if (field instanceof Verify && !field.opened) {
      if (this.opened) this.close(this.opened);
      this.before = field.memory;
      field.open();
      this.fit();
    }
    this.form.focus(field);
    if (field.editor?.kind === "number") field.entry.select();
    this.trial.moved(field);
  }

  // Where an opened field takes more room than there is, the others give way until it is closed.
  fit() {
    const { root } = this.form;
    root.classList.remove("solo");
    const { work } = this.trial;
    root.classList.toggle("solo", this.opened !== null && work.scrollHeight > work.clientHeight);
  }

  close(field) {
    const before = this.before ?? {};
    field.editor.take?.();
    if (field.problem !== null) {
      field.note.hidden = false;
      field.note.textContent = field.problem;
      this.fit();
      this.form.focus(field);
      return;
    }
    field.close();
    this.past.push([[field, before]]);
    this.#done(field);
    tell(`${field.form.text}: ${words(`draft_${field.verdict}`)}`);
    this.#onward(field);
  }

  undo() {
    const step = this.past.pop();
    if (!step) return false;
    for (const [field, memory] of step) {
      field.recall(memory);
      this.#done(field, "undone");
    }
    const [[field]] = step;
    const page = this.form.pages.findIndex((units) => units.some((unit) => unit.controls.includes(field)));
    if (page !== this.form.page) this.trial.turn(page);
    tell(words("draft_undone", { question: step.map(([each]) => each.form.text).join(", ") }));
    this.fit();
    this.form.focus(field);
    this.trial.moved(field);
    return true;
  }

  #done(field, how = field.verdict) {
    this.form.clear(field);
    field.changed(field, how === "undone" ? `undone: ${field.verdict ?? ""}` : field.logText);
  }

  // The next field that needs something: a draft to look at, or a question whose draft was withheld.
  #onward(field) {
    this.fit();
    const next = this.form.following(field);
    this.form.focus(next ?? field);
    this.trial.moved(next ?? field);
  }

  remind() {
    const text = wordsHere("drafts_open", { count: this.pending.length });
    this.trial.part("hint").textContent = text;
    tell(text);
    this.form.focus(this.opened ?? this.pending[0]);
  }

  // Returns true when the key was meant for the drafts.
  key(event, typing) {
    const { key, repeat } = event;
    if (!this.shown || this.trial.locked) return false;
    const field = this.form.of(event.target);
    if (key === "Escape") {
      const active = this.opened ?? (field instanceof Verify ? field : this.form.active);
      if (!(active instanceof Verify) || repeat) return false;
      this.decide([active], "rejected");
      return true;
    }
    if (key === "Enter" && this.opened && !(typing && event.shiftKey) && (field === this.opened || field === null)) {
      if (event.target.matches?.("button.refuse")) return false;
      if (!(typing && this.opened.editor.take?.())) this.close(this.opened);
      return true;
    }
    const step = { ArrowUp: -1, ArrowDown: 1 }[key];
    if (step && !typing && !this.opened && !event.target.matches?.("input") && !(this.trial.pan?.zoom > 1)) return this.#frame(step);
    if (typing || !wish("keys") || repeat) return false;
    if (key === "a" || key === "A") this.acceptAll();
    else if (key === "u" || key === "U" || (key === "Backspace" && this.past.length)) this.trial.undo();
    else if ((key === "n" || key === "N") && this.form.active instanceof Verify && this.form.active.form.none) this.none(this.form.active);
    else if (/^[0-9]$/.test(key)) return this.#digit(key);
    else return false;
    return true;
  }

  // Moves the frame to the field before or after.
  #frame(step) {
    const { here, active } = this.form;
    const to = here[here.indexOf(active) + step];
    if (to) this.form.focus(to);
    return true;
  }

  // There is nothing to answer.
  none(field) {
    if (!field.opened) {
      this.before = field.memory;
      field.open();
    }
    field.editor.set(NONE);
    this.close(field);
  }

  // A digit answers the field that is in use, if that takes digits, else it opens the field of that number.
  #digit(key) {
    const { active } = this.form;
    if (this.opened && this.opened === active && this.opened.key(key)) return true;
    const asked = active && !(active instanceof Verify) && !settled(active);
    if (asked && active.node.contains(document.activeElement)) return false;
    const chosen = this.form.here[(Number(key) + MOST_KEYS - 1) % MOST_KEYS];
    if (chosen) this.open(chosen);
    return Boolean(chosen);
  }

  foot(submit) {
    const open = this.pending.length;
    submit.textContent = open ? words("accept_all") : submit.dataset.text;
    this.number();
  }
}
