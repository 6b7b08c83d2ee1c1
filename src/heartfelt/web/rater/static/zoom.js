// A picture as large as the screen, to be zoomed and moved about. Escape, the close button and the browser's back close it.
import { does, find, part } from "./dom.js";

const MOST = 6;
const STEP = 1.6;

class Zoom {
  constructor(image) {
    this.dialog = find("#dialog-image");
    this.view = part("view", this.dialog);
    this.image = image.cloneNode();
    this.zoom = 1;
    this.open = new AbortController();
  }

  show() {
    const { dialog, view, image } = this;
    const { signal } = this.open;
    const on = (node, kind, act) => node.addEventListener(kind, act, { signal });
    view.replaceChildren(image);
    dialog.showModal();
    this.#fit();
    this.#set(1);
    on(does("in", dialog), "click", () => this.#set(this.zoom * STEP));
    on(does("out", dialog), "click", () => this.#set(this.zoom / STEP));
    on(does("close", dialog), "click", () => dialog.close());
    on(dialog, "keydown", (event) => this.#key(event));
    on(view, "wheel", (event) => {
      event.preventDefault();
      this.#set(this.zoom * (event.deltaY < 0 ? 1.2 : 1 / 1.2), event);
    });
    this.#drag(on);
    on(window, "resize", () => this.#fit());
    // The back button closes the picture rather than leave the page.
    history.pushState({ picture: true }, "");
    on(window, "popstate", () => dialog.close());
    on(dialog, "close", () => {
      this.open.abort();
      view.replaceChildren();
      if (history.state?.picture) history.back();
    });
  }

  // A click zooms in or out again; pressing and moving moves the picture. Touch scrolls by itself.
  #drag(on) {
    let from = null;
    let moved = false;
    on(this.view, "pointerdown", (event) => {
      moved = false;
      from = event.pointerType === "mouse" ? [event.clientX + this.view.scrollLeft, event.clientY + this.view.scrollTop] : null;
    });
    on(this.view, "pointermove", (event) => {
      if (!from || !event.buttons) return;
      const [x, y] = [from[0] - event.clientX, from[1] - event.clientY];
      if (Math.abs(x - this.view.scrollLeft) + Math.abs(y - this.view.scrollTop) > 3) moved = true;
      this.view.scrollTo(x, y);
    });
    on(this.view, "dragstart", (event) => event.preventDefault());
    on(this.view, "click", (event) => {
      if (!moved) this.#set(this.zoom > 1 ? 1 : 2.5, event);
    });
  }

  #fit() {
    const { clientWidth, clientHeight } = this.view;
    const { naturalWidth: wide, naturalHeight: high } = this.image;
    const share = Math.min(clientWidth / wide, clientHeight / high);
    this.image.style.setProperty("--width", Math.floor(wide * share));
    this.image.style.setProperty("--height", Math.floor(high * share));
  }

  // Zooms about a point of the screen, which stays where it is; the middle if none is given.
  #set(wanted, at = null) {
    const zoom = Math.min(MOST, Math.max(1, wanted));
    const { view, image } = this;
    const [x, y] = at ? [at.clientX, at.clientY] : [view.clientWidth / 2, view.clientHeight / 2];
    const before = image.getBoundingClientRect();
    const share = [(x - before.left) / (before.width || 1), (y - before.top) / (before.height || 1)];
    this.zoom = zoom;
    image.style.setProperty("--zoom", zoom);
    view.classList.toggle("zoomed", zoom > 1);
    const after = image.getBoundingClientRect();
    view.scrollBy(after.left + share[0] * after.width - x, after.top + share[1] * after.height - y);
    does("out", this.dialog).disabled = zoom <= 1;
    does("in", this.dialog).disabled = zoom >= MOST;
  }

  #key(event) {
    if (event.key === "+" || event.key === "=") this.#set(this.zoom * STEP);
    else if (event.key === "-") this.#set(this.zoom / STEP);
    else if (event.key === "0") this.#set(1);
    else return;
    event.preventDefault();
  }
}

export const enlarge = (image) => new Zoom(image).show();
