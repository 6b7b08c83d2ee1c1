// Questions answered by entering something: a number, a text, tags.
import { anchorRow, crowded, list } from "./anchors.js";
import { make } from "./dom.js";
import { words } from "./words.js";

let made = 0;

const decimal = (text) => {
  const clean = text.trim().replace(",", ".");
  return clean === "" || !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(clean) ? NaN : Number(clean);
};

// A slider that has no value until it is touched, with a field for the number beside it.
export class NumberEntry {
  kind = "number";

  constructor(id, form, scale, changed) {
    Object.assign(this, { id, form, scale, changed });
    const { low, high } = scale;
    this.field = make("input", {
      type: "text", inputmode: "decimal", autocomplete: "off", class: "amount", maxlength: 24,
      "aria-label": words("number_entry", { question: form.text }), oninput: () => this.#typed(),
    });
    const unit = scale.unit ? make("span", { class: "unit", text: scale.unit }) : null;
    this.body = [make("div", { class: "entry" }, this.field, unit)];
    if (low !== null && high !== null) {
      this.slider = make("input", {
        type: "range", min: low, max: high, step: scale.step ?? (high - low) / 100, autocomplete: "off",
        class: "untouched", "aria-label": form.text, "aria-valuetext": words("no_answer"),
      });
      this.slider.value = (low + high) / 2;
      for (const touch of ["input", "change"]) this.slider.addEventListener(touch, () => this.#slid());
      // A click right where the slider rests moves nothing, and is an answer all the same.
      this.slider.addEventListener("pointerup", () => this.#slid());
      this.body = [make("div", { class: "entry" }, make("div", { class: "slide" }, this.slider, this.#marks()), this.field, unit)];
    }
  }

  // Words, or numbers where there are none, under the places of the slider they belong to.
  #marks() {
    const { low, high } = this.scale;
    const texts = new Map([[low, low], [high, high], ...this.scale.anchors]);
    const places = [...texts].sort((first, second) => first[0] - second[0]);
    const marks = anchorRow(places.map(([value, text]) => [(value - low) / (high - low), text, value]));
    marks.classList.replace("anchors", "marks");
    this.anchors = marks;
    marks.id = `marks-${(made += 1)}`;
    this.slider.setAttribute("aria-describedby", marks.id);
    return marks;
  }

  // Where the words have no room beside the field, the slider takes the whole width.
  fit() {
    this.node.classList.remove("stacked");
    this.anchors.classList.remove("spelled");
    this.node.classList.toggle("stacked", crowded(this.anchors));
    list(this.anchors);
  }

  #slid() {
    if (this.slider.disabled || this.slider.matches("fieldset:disabled *")) return;
    const text = this.#shown();
    if (this.field.value === text) return;
    this.field.value = text;
    this.#touched();
    this.changed(this, this.value, true);
  }

  #shown() {
    const decimals = String(this.scale.step ?? 0.01).split(".")[1]?.length ?? 0;
    return Number(this.slider.value).toFixed(decimals);
  }

  #typed() {
    if (this.value !== undefined && this.slider) this.slider.value = this.value;
    this.#touched();
    this.changed(this, this.field.value, true);
  }

  #touched() {
    if (!this.slider) return;
    const empty = this.value === undefined;
    this.slider.classList.toggle("untouched", empty);
    if (empty) this.slider.setAttribute("aria-valuetext", words("no_answer"));
    else this.slider.removeAttribute("aria-valuetext");
  }

  get value() {
    const number = decimal(this.field.value);
    return Number.isFinite(number) ? number : undefined;
  }

  set(value) {
    this.field.value = String(value);
    if (this.slider) this.slider.value = value;
    this.#touched();
  }

  get problem() {
    const { low, high } = this.scale;
    if (this.field.value.trim() === "") return null;
    if (this.value === undefined) return words("not_a_number");
    if ((low !== null && this.value < low) || (high !== null && this.value > high)) {
      return words("off_scale", { low: low ?? "−∞", high: high ?? "∞" });
    }
    if (this.scale.whole && !Number.isInteger(this.value)) return words("whole_number", { low, high });
    return null;
  }

  // A digit sets the slider to that tenth of its way.
  key(pressed) {
    if (!this.slider) return false;
    const { low, high } = this.scale;
    this.slider.value = low + ((high - low) * Number(pressed)) / 10;
    this.field.value = this.#shown();
    this.#touched();
    this.changed(this, this.value);
    return true;
  }

  get entry() {
    return this.field;
  }
}

// As count_words of the scale: Chinese and Japanese, which put no space between words, count by the character.
const HAN = "\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff";
const WORD = new RegExp(`[${HAN}]|[^\\s${HAN}]+`, "g");
const countWords = (text) => (text.match(WORD) || []).length;

export class TextEntry {
  kind = "text";

  constructor(id, form, scale, changed) {
    Object.assign(this, { id, form, scale, changed });
    const short = scale.most !== null && scale.most <= 15 && scale.least <= 1 && !scale.rows;
    this.count = make("small", { class: "words", id: `count-${(made += 1)}` });
    this.field = make(short ? "input" : "textarea", {
      type: short ? "text" : undefined, rows: short ? undefined : scale.rows ?? 2, autocomplete: "off", maxlength: 9000,
      "aria-label": form.text, "aria-describedby": this.count.id, oninput: () => this.#typed(),
    });
    this.body = [this.field, this.count];
    this.#count();
  }

  #typed() {
    this.#count();
    this.changed(this, this.field.value, true);
  }

  #count() {
    const texts = this.#rules.map(([unit, count, least, most]) => {
      const rule = least && most ? "_between" : least ? "_of" : most ? "_most" : "";
      return words(`${unit}${rule}`, { count, least, most });
    });
    this.count.textContent = texts.join(" · ");
  }

  // What is counted, how much there is of it, and the limits. Characters count only where they are limited.
  get #rules() {
    const { least, most, least_characters: fewest = 0, most_characters: highest = null } = this.scale;
    const text = this.field.value;
    const limited = fewest > 0 || highest !== null;
    const letters = ["characters", [...text.trim()].length, fewest, highest];
    return [...(limited && !least && most === null ? [] : [["words", countWords(text), least, most]]), ...(limited ? [letters] : [])];
  }

  get value() {
    return this.field.value.trim() === "" ? undefined : this.field.value;
  }

  set(value) {
    this.field.value = value;
    this.#count();
  }

  get problem() {
    if (this.value === undefined) return null;
    for (const [unit, count, least, most] of this.#rules) {
      if (count < least) return words(unit === "words" ? "too_few" : "too_short", { least });
      if (most !== null && count > most) return words(unit === "words" ? "too_many" : "too_long", { most });
    }
    return null;
  }

  key() {
    return false;
  }

  get entry() {
    return this.field;
  }
}
