// Questions answered by choosing one of several: points, categories, yes or no. Native radio buttons in a fieldset.
import { anchorRow, crowded, list } from "./anchors.js";
import { address } from "./server.js";
import { figure, make } from "./dom.js";

let made = 0;

// The key that gives each option: its own digit where it has one, else its place, with 0 for the tenth.
export function digits(options) {
  const own = options.every(([value]) => Number.isInteger(value) && value >= 0 && value <= 9);
  return options.map(([value], place) => {
    if (own) return String(value);
    return place < 10 && options.length <= 10 ? String((place + 1) % 10) : null;
  });
}

const FIGURES = 5;

function pictureAt(scale, place) {
  const last = scale.options.length - 1;
  if (scale.pictures) {
    const source = scale.pictures[scale.options[place][0]];
    return source ? make("img", { class: "figure", src: address(source), alt: "" }) : null;
  }
  if (!scale.figures) return null;
  for (let which = 0; which < FIGURES; which += 1) {
    if (Math.round((which * last) / (FIGURES - 1)) === place) return figure(`${scale.figures}-${which + 1}`);
  }
  return null;
}

export class Choices {
  constructor(id, form, scale, changed) {
    made += 1;
    this.id = id;
    this.form = form;
    this.scale = scale;
    this.changed = changed;
    this.keys = scale.keys ?? digits(scale.options);
    this.inputs = [];
    const name = `choice-${made}`;
    const row = make("div", { class: "options" });
    scale.options.forEach(([value, text], place) => row.append(this.#option(name, value, text, place)));
    row.style.setProperty("--options", scale.options.length);
    this.body = [row];
    if (scale.type === "points") this.body.push(this.#anchors());
    this.kind = scale.type === "points" ? "points" : "list";
    if (scale.figures || scale.pictures) this.kind += " pictured";
    if (scale.type === "points" && Object.keys(scale.anchors).length === scale.options.length) this.kind += " worded";
    if (scale.options.length > 5 && scale.type !== "points") this.kind += " many";
  }

  #option(name, value, text, place) {
    const input = make("input", {
      type: "radio", name, value, autocomplete: "off", onchange: () => this.changed(this, this.value),
    });
    this.inputs.push(input);
    const key = this.keys[place];
    if (this.scale.type !== "points") {
      const shown = key === null ? null : make("kbd", { "aria-hidden": "true", text: key });
      return make("label", { class: "option" }, input, shown, make("span", { class: "label", text }));
    }
    const anchor = this.scale.anchors[value];
    const spoken = anchor ? make("span", { class: "spoken" }, make("span", { class: "comma", text: ", " }), anchor) : null;
    const inner = [pictureAt(this.scale, place), make("span", { class: "point", text }), spoken];
    return make("label", { class: "option" }, input, ...inner);
  }

  #anchors() {
    const { options, anchors } = this.scale;
    const middle = (place) => (place + 0.5) / options.length;
    const pairs = options.flatMap(([value], place) => (anchors[value] ? [[middle(place), anchors[value], value]] : []));
    // Words of every point stand centred under it; of few, those at an end may be longer.
    const few = pairs.length < options.length;
    this.anchors = anchorRow(pairs, few && Boolean(anchors[options[0][0]]), few && Boolean(anchors[options.at(-1)[0]]));
    this.anchors.setAttribute("aria-hidden", "true");
    this.anchors.style.setProperty("--options", options.length);
    return this.anchors;
  }

  // Where the words have no room next to one another, and every point has some, the points are listed one below the other.
  fit() {
    if (!this.kind.includes("worded")) {
      list(this.anchors);
      return;
    }
    this.node.classList.remove("listed");
    this.node.classList.toggle("listed", crowded(this.anchors));
  }

  get value() {
    const place = this.inputs.findIndex((input) => input.checked);
    return place < 0 ? undefined : this.scale.options[place][0];
  }

  set(value) {
    const place = this.scale.options.findIndex((option) => option[0] === value);
    if (place >= 0) this.inputs[place].checked = true;
  }

  get problem() {
    return null;
  }

  // Answers by key; true when the key means something here.
  key(pressed) {
    const place = this.keys.indexOf(pressed);
    if (place < 0) return false;
    this.inputs[place].checked = true;
    this.changed(this, this.value);
    return true;
  }

  get entry() {
    return null;
  }
}
