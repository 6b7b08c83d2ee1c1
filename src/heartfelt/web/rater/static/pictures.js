// The pictures of a set: next to each other, or one over the other with a slider between them; all can be enlarged.
import { does, find, make, part } from "./dom.js";
import { words } from "./words.js";
import { enlarge } from "./zoom.js";

export class Pictures {
  constructor(root, members) {
    Object.assign(this, { root, members, selected: null, images: [], holders: [] });
    this.panes = part("panes", root);
    this.wipe = part("wipe", root);
    this.overlay = does("overlay", root);
    this.shown = members.above.map((place) => {
      const pane = make("figure", { class: "pane" }, this.control(place), make("figcaption", { text: members.labels[place] }));
      pane.dataset.place = place;
      return pane;
    });
    this.panes.append(...this.shown);
    this.panes.style.setProperty("--panes", this.shown.length || 1);
    root.hidden = !this.shown.length;
    part("wiping", root).hidden = this.shown.length < 2;
    this.overlay.addEventListener("click", () => this.#turn(!this.over));
    this.wipe.addEventListener("input", () => this.#draw());
    this.panes.addEventListener("pointermove", (event) => this.#drag(event));
    this.panes.addEventListener("dragstart", (event) => event.preventDefault());
  }

  // A button that shows a member and enlarges it.
  control(place) {
    const name = this.members.labels[place];
    const button = make("button", {
      type: "button", class: "picture", "aria-label": words("enlarge_member", { member: name }), onclick: () => this.#enlarge(place),
    });
    this.holders.push([place, button]);
    return button;
  }

  async load(images) {
    this.images = images;
    images.forEach((image, place) => (image.alt = words("member_image", { member: this.members.labels[place] })));
    for (const [place, button] of this.holders) {
      const copy = images[place].cloneNode();
      button.append(copy, make("b", { "aria-hidden": "true", text: this.members.labels[place] }));
    }
    const [widest] = images.map((image) => image.naturalWidth / image.naturalHeight || 1).sort((a, b) => b - a);
    this.root.closest("form").style.setProperty("--ratio", widest);
    this.#draw();
  }

  get over() {
    return this.panes.classList.contains("over");
  }

  #turn(over) {
    this.panes.classList.toggle("over", over);
    this.overlay.setAttribute("aria-pressed", over);
    this.wipe.hidden = !over;
    this.moved?.();
    this.#draw();
  }

  // In the overlay: what the others are compared with on the left, the member chosen last on the right.
  #draw() {
    const places = this.members.above;
    const fixed = places.find((place) => !this.members.judged.includes(place)) ?? places[0];
    const right = this.selected !== null && this.selected !== fixed && places.includes(this.selected)
      ? this.selected : places.find((place) => place !== fixed);
    for (const pane of this.shown) {
      const place = Number(pane.dataset.place);
      pane.classList.toggle("left", place === fixed);
      pane.classList.toggle("right", place === right);
    }
    this.panes.style.setProperty("--wipe", `${this.wipe.value}%`);
    this.wipe.setAttribute("aria-valuetext", words("wipe_at", {
      first: this.members.labels[fixed], second: this.members.labels[right], share: this.wipe.value,
    }));
  }

  #drag(event) {
    if (!this.over || !event.buttons) return;
    const box = find(".left", this.panes).getBoundingClientRect();
    this.wipe.value = Math.round((100 * (event.clientX - box.left)) / box.width);
    this.dragged = true;
    this.#draw();
  }

  // By its letter: on the right of the overlay, or large.
  choose(place) {
    this.selected = place;
    if (this.over) this.#draw();
    else this.#enlarge(place);
  }

  #enlarge(place) {
    const dragged = this.dragged;
    this.dragged = false;
    if (dragged || !this.images.length) return;
    // Two are enlarged together, so that they can be compared in every detail.
    const together = this.shown.length === 2 && this.members.above.includes(place) ? this.members.above : [place];
    enlarge(together.map((each) => this.images[each]), together.map((each) => this.members.labels[each]));
  }

  close() {}
}
