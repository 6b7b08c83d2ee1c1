// Questions answered by entering something: a number, a text, tags.
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
    const places = [...texts].sort((a, b) => a[0] - b[0]);
    const even = places.every(([value], place) => Math.abs((value - low) / (high - low) - place / (places.length - 1)) < 0.01);
    const marks = make("div", { class: even && places.length <= 3 ? "marks three" : "marks many" });
    for (const [value, text] of places) {
      const label = make("span", { text });
      label.style.setProperty("--at", Math.round((100 * (value - low)) / (high - low)));
      marks.append(label);
    }
    marks.id = `marks-${(made += 1)}`;
    this.slider.setAttribute("aria-describedby", marks.id);
    return marks;
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
    const short = scale.most !== null && scale.most <= 15 && scale.least <= 1;
    this.field = make(short ? "input" : "textarea", {
      type: short ? "text" : undefined, rows: short ? undefined : 2, autocomplete: "off", maxlength: 9000,
      "aria-label": form.text, oninput: () => this.#typed(),
    });
    this.count = make("small", { class: "words" });
    this.body = [this.field, this.count];
    this.#count();
  }

  #typed() {
    this.#count();
    this.changed(this, this.field.value, true);
  }

  #count() {
    const { least, most } = this.scale;
    const count = countWords(this.field.value);
    const key = least && most ? "words_between" : least ? "words_of" : most ? "words_most" : "words";
    this.count.textContent = words(key, { count, least, most });
  }

  get value() {
    return this.field.value.trim() === "" ? undefined : this.field.value;
  }

  set(value) {
    this.field.value = value;
    this.#count();
  }

  get problem() {
    const { least, most } = this.scale;
    if (this.value === undefined) return null;
    const count = countWords(this.field.value);
    if (count < least) return words("too_few", { least });
    if (most !== null && count > most) return words("too_many", { most });
    return null;
  }

  key() {
    return false;
  }

  get entry() {
    return this.field;
  }
}

export class TagEntry {
  kind = "tags";

  constructor(id, form, scale, changed) {
    Object.assign(this, { id, form, scale, changed });
    this.chosen = [];
    this.list = make("span", { class: "chips" });
    this.offered = make("span", { class: "chips offered" });
    for (const [tag, text] of scale.tags) {
      const chip = make("button", { type: "button", class: "chip", "aria-pressed": "false", "data-tag": tag, text });
      chip.addEventListener("click", () => this.#turn(tag));
      this.offered.append(chip);
    }
    this.field = scale.open ? make("input", {
      type: "text", autocomplete: "off", maxlength: 190, placeholder: words("add_tag"), "aria-label": form.text,
      onblur: () => this.take(), oninput: () => this.#separated(),
    }) : null;
    this.body = [scale.tags.length ? this.offered : null, make("div", { class: "tagging" }, this.list, this.field)];
  }

  #separated() {
    if (this.field.value.includes(this.scale.separator)) this.take();
  }

  // Takes what stands in the field as tags; true when there was something.
  take() {
    const typed = (this.field?.value ?? "").split(this.scale.separator).map((tag) => tag.trim()).filter(Boolean);
    const given = typed.map((tag) => this.#offered(tag) ?? tag);
    for (const tag of given) if (!this.chosen.includes(tag)) this.chosen.push(tag);
    if (this.field) this.field.value = "";
    if (given.length) this.#show(true);
    return given.length > 0;
  }

  // The tag of the list that reads like this, whatever the rater's language.
  #offered(text) {
    const same = (other) => other.toLowerCase() === text.toLowerCase();
    return this.scale.tags.find(([tag, shown]) => same(shown) || same(tag))?.[0];
  }

  #turn(tag) {
    if (this.chosen.includes(tag)) this.chosen = this.chosen.filter((chosen) => chosen !== tag);
    else this.chosen.push(tag);
    this.#show(true);
  }

  #show(notify) {
    for (const chip of this.offered.children) chip.setAttribute("aria-pressed", this.chosen.includes(chip.dataset.tag));
    const own = this.chosen.filter((tag) => !this.scale.tags.some(([offered]) => offered === tag));
    this.list.replaceChildren(...own.map((tag) => make("button", {
      type: "button", class: "chip own", "aria-label": words("remove_tag", { tag }), text: tag, onclick: () => this.#turn(tag),
    })));
    if (notify) this.changed(this, this.chosen);
  }

  get value() {
    return this.chosen.length ? [...this.chosen] : undefined;
  }

  set(value) {
    const given = Array.isArray(value) ? value : String(value).split(this.scale.separator);
    this.chosen = given.map((tag) => tag.trim()).filter(Boolean);
    this.#show(false);
  }

  get problem() {
    return null;
  }

  key() {
    return false;
  }

  get entry() {
    return this.field;
  }
}
