// The affect grid: one click answers two questions, across and up. For the eye and the pointer; the two rows of radio
// buttons beside it say the same to everyone else, and the two always agree.
import { find, make } from "./dom.js";

const ends = (scale) => {
  const { options, anchors } = scale;
  return [anchors[options[0][0]] ?? options[0][1], anchors[options.at(-1)[0]] ?? options.at(-1)[1]];
};

export class Grid {
  constructor(across, up, hint) {
    this.across = across;
    this.up = up;
    const [left, right] = ends(across.scale);
    const [bottom, top] = ends(up.scale);
    this.cells = make("div", { class: "cells" }, make("i", { class: "column" }), make("i", { class: "row" }), make("i", { class: "spot" }));
    this.node = make("div", { class: "grid", "aria-hidden": "true" },
      make("p", { class: "soft", text: hint }),
      make("div", { class: "frame" },
        make("span", { class: "top", text: top }), make("span", { class: "left", text: left }), this.cells,
        make("span", { class: "right", text: right }), make("span", { class: "bottom", text: bottom })));
    this.cells.addEventListener("click", (event) => this.#clicked(event));
  }

  #clicked(event) {
    if (this.cells.closest("form").dataset.locked !== undefined) return;
    const box = this.cells.getBoundingClientRect();
    const count = this.across.inputs.length;
    const place = (share) => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    const x = place((event.clientX - box.left) / box.width);
    const y = place((box.bottom - event.clientY) / box.height);
    this.across.inputs[x].checked = true;
    this.across.changed(this.across, this.across.value, false, true);
    this.up.inputs[y].checked = true;
    this.up.changed(this.up, this.up.value);
  }

  draw() {
    const x = this.across.inputs.findIndex((input) => input.checked);
    const y = this.up.inputs.findIndex((input) => input.checked);
    const count = this.across.inputs.length;
    this.cells.style.setProperty("--x", x);
    this.cells.style.setProperty("--y", count - 1 - y);
    this.cells.style.setProperty("--n", count);
    find(".column", this.cells).hidden = x < 0;
    find(".row", this.cells).hidden = y < 0;
    find(".spot", this.cells).hidden = x < 0 || y < 0;
  }
}
