// The members of a set as raters know them: A, B, C by their place, a reference, an X. Nothing else tells them apart.
import { words } from "./words.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const KEYS = { reference: "r", x: "x" };
const ROWS = new Set(["grade", "rank", "best-worst"]);

export class Members {
  constructor(step, study) {
    this.list = step.members;
    this.type = study.set_type;
    this.judged = this.list.flatMap(({ kind }, place) => (kind === "judged" ? [place] : []));
    this.labels = this.list.map(({ kind }, place) => {
      if (kind === "judged") return LETTERS[this.judged.indexOf(place)];
      return kind === "x" ? "X" : words("reference");
    });
    // Where every question has a row for each member, the members are there and not above the questions as well.
    const scales = step.forms.map((number) => study.scales[study.forms[number].scale].type);
    const above = scales.every((type) => ROWS.has(type)) ? (place) => !this.judged.includes(place) : () => true;
    this.above = this.list.map((_, place) => place).filter(above);
  }

  // The place of the member a key stands for, or -1. The key's own place counts where the keyboard writes other letters.
  keyed({ key, code }) {
    const letter = /^[a-z]$/i.test(key) ? key.toLowerCase() : /^Key[A-Z]$/.test(code) && key.length === 1 ? code[3].toLowerCase() : null;
    if (letter === null) return -1;
    return this.list.findIndex(({ kind }, place) => (KEYS[kind] ?? this.labels[place].toLowerCase()) === letter);
  }

  // Prompts to show: one for all, or each with its member.
  prompt(shared) {
    const texts = this.list.map((member) => member.prompt).filter(Boolean);
    if (!texts.length || new Set(texts).size === 1) return texts[0] ?? shared;
    return this.list.flatMap((member, place) => (member.prompt ? [`${this.labels[place]}: ${member.prompt}`] : [])).join("\n");
  }
}
