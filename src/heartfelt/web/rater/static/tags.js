// Tags: chips to choose from, and a field for others that offers suggestions while one types.
import { make } from "./dom.js";
import { words } from "./words.js";

const MOST = 8; // suggestions offered at a time
let made = 0;

const plain = (text) => text.normalize("NFKC").toLowerCase();

export class TagEntry {
  kind = "tags";

  constructor(id, form, scale, changed) {
    Object.assign(this, { id, form, scale, changed });
    this.chosen = [];
    this.known = [...scale.tags, ...(scale.suggestions ?? [])];
    this.texts = new Map(this.known);
    this.list = make("span", { class: "chips" });
    this.offered = make("span", { class: "chips offered" });
    for (const [tag, text] of scale.tags) {
      const chip = make("button", { type: "button", class: "chip", "aria-pressed": "false", "data-tag": tag, text });
      chip.addEventListener("click", () => this.#turn(tag));
      this.offered.append(chip);
    }
    this.field = scale.open || scale.suggestions ? make("input", {
      type: "text", autocomplete: "off", maxlength: 190, placeholder: words("add_tag"), "aria-label": form.text,
      onblur: () => this.#left(), oninput: () => this.#typed(),
    }) : null;
    this.body = [scale.tags.length ? this.offered : null, make("div", { class: "tagging" }, this.list, this.field)];
    if (scale.suggestions) this.#suggesting();
  }

  // The field as a combobox: arrows choose among the suggestions, Enter or a tap takes one, Escape closes them.
  #suggesting() {
    this.popup = make("ul", { class: "suggestions", role: "listbox", id: `suggestions-${(made += 1)}`, "aria-label": this.form.text, hidden: true });
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", this.popup.id]]) {
      this.field.setAttribute(name, value);
    }
    this.field.addEventListener("keydown", (event) => this.#steer(event));
    this.body.at(-1).append(this.popup);
  }

  #typed() {
    if (this.field.value.includes(this.scale.separator)) this.take();
    this.#suggest();
  }

  // Those that begin with what was typed come first, then those that hold it in a later word.
  #suggest() {
    if (!this.popup) return;
    const typed = plain(this.field.value.trim());
    const free = (this.scale.suggestions ?? []).filter(([tag]) => !this.chosen.includes(tag));
    const at = (place) => free.filter((each) => each.some((text) => place(plain(text))));
    const starts = typed ? at((text) => text.startsWith(typed)) : [];
    const holds = typed ? at((text) => text.includes(typed)).filter((each) => !starts.includes(each)) : [];
    this.matches = [...starts, ...holds].slice(0, MOST);
    this.popup.replaceChildren(...this.matches.map(([tag, text], place) => {
      const option = make("li", { role: "option", id: `${this.popup.id}-${place}`, "aria-selected": "false", text });
      // Before the field loses the focus, and with it what was typed.
      option.addEventListener("pointerdown", (event) => event.preventDefault());
      option.addEventListener("click", () => this.#pick(tag));
      return option;
    }));
    this.#mark(-1);
    this.#open(this.matches.length > 0);
  }

  #open(open) {
    if (!this.popup) return;
    this.popup.hidden = !open;
    this.field.setAttribute("aria-expanded", open);
    if (open) this.popup.scrollIntoView({ block: "nearest" });
    else this.#mark(-1);
  }

  #mark(place) {
    this.marked = place;
    [...this.popup.children].forEach((option, number) => option.setAttribute("aria-selected", number === place));
    if (place < 0) this.field.removeAttribute("aria-activedescendant");
    else this.field.setAttribute("aria-activedescendant", this.popup.children[place].id);
  }

  #steer(event) {
    const count = this.matches?.length ?? 0;
    if (this.popup.hidden || !count || event.isComposing) return;
    if (event.key === "ArrowDown") this.#mark((this.marked + 1) % count);
    else if (event.key === "ArrowUp") this.#mark((this.marked + count - (this.marked < 0 ? 0 : 1)) % count);
    else if (event.key === "Escape") this.#open(false);
    else return;
    event.preventDefault();
  }

  #pick(tag) {
    this.field.value = "";
    this.#open(false);
    if (!this.chosen.includes(tag)) this.#turn(tag);
  }

  #left() {
    this.#open(false);
    this.take();
  }

  // Takes what stands in the field as tags, or the suggestion that is marked; true when there was something.
  take() {
    if (this.popup && !this.popup.hidden && this.marked >= 0) {
      this.#pick(this.matches[this.marked][0]);
      return true;
    }
    const typed = (this.field?.value ?? "").split(this.scale.separator).map((tag) => tag.trim()).filter(Boolean);
    const named = typed.map((tag) => [tag, this.#named(tag) ?? (this.scale.open ? tag : null)]);
    const given = named.map(([, tag]) => tag).filter((tag) => tag !== null);
    for (const tag of given) if (!this.chosen.includes(tag)) this.chosen.push(tag);
    // What is no tag of a closed list stays in the field, with a word about it.
    if (this.field) this.field.value = named.filter(([, tag]) => tag === null).map(([text]) => text).join(this.scale.separator);
    if (given.length) this.#show(true);
    if (given.length) this.#open(false);
    return given.length > 0;
  }

  // The tag that reads like this, whatever the rater's language.
  #named(text) {
    return this.known.find((each) => each.some((other) => plain(other) === plain(text)))?.[0];
  }

  #turn(tag) {
    if (this.chosen.includes(tag)) this.chosen = this.chosen.filter((chosen) => chosen !== tag);
    else this.chosen.push(tag);
    this.#show(true);
  }

  #show(notify) {
    for (const chip of this.offered.children) chip.setAttribute("aria-pressed", this.chosen.includes(chip.dataset.tag));
    const own = this.chosen.filter((tag) => !this.scale.tags.some(([offered]) => offered === tag));
    this.list.replaceChildren(...own.map((tag) => {
      const text = this.texts.get(tag) ?? tag;
      return make("button", {
        type: "button", class: "chip own", "aria-label": words("remove_tag", { tag: text }), text, onclick: () => this.#turn(tag),
      });
    }));
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
    const left = this.field?.value.trim();
    return left && !this.scale.open ? words("tag_unknown", { tag: left }) : null;
  }

  key() {
    return false;
  }

  get entry() {
    return this.field;
  }
}
