// Pictures as large as the screen, to be zoomed and moved about; several move together. Escape, the close button and the
// browser's back close them.
import { does, find, make, part } from "./dom.js";
import { words } from "./words.js";

const MOST = 6;
const STEP = 1.6;

class Zoom {
  constructor(images, labels) {
    this.dialog = find("#dialog-image");
    this.frame = part("views", this.dialog);
    this.images = images.map((image) => image.cloneNode());
    this.views = this.images.map((image, place) => make("div", {
      class: "view", tabindex: "0", role: "group", "aria-label": images[place].alt || words("stimulus_image"),
    }, image));
    this.labels = labels;
    this.zoom = 1;
    this.open = new AbortController();
  }

  show() {
    const { dialog, frame } = this;
    const { signal } = this.open;
    const on = (node, kind, act) => node.addEventListener(kind, act, { signal });
    frame.replaceChildren(...this.views.map((view, place) => make("div", { class: "framed" }, view,
      this.labels.length > 1 ? make("b", { "aria-hidden": "true", text: this.labels[place] }) : null)));
    dialog.showModal();
    this.#fit();
    this.#set(1);
    on(does("in", dialog), "click", () => this.#set(this.zoom * STEP));
    on(does("out", dialog), "click", () => this.#set(this.zoom / STEP));
    on(does("close", dialog), "click", () => dialog.close());
    on(dialog, "keydown", (event) => this.#key(event));
    for (const view of this.views) {
      on(view, "wheel", (event) => {
        event.preventDefault();
        this.#set(this.zoom * (event.deltaY < 0 ? 1.2 : 1 / 1.2), event, view);
      });
      on(view, "scroll", () => this.#follow(view));
      this.#drag(on, view);
    }
    on(window, "resize", () => this.#fit());
    // The back button closes the picture rather than leave the page.
    history.pushState({ picture: true }, "");
    on(window, "popstate", () => dialog.close());
    on(dialog, "close", () => {
      this.open.abort();
      frame.replaceChildren();
      if (history.state?.picture) history.back();
    });
  }

  // The other pictures show the same part.
  #follow(view) {
    for (const other of this.views) {
      if (other === view) continue;
      if (Math.abs(other.scrollLeft - view.scrollLeft) > 1) other.scrollLeft = view.scrollLeft;
      if (Math.abs(other.scrollTop - view.scrollTop) > 1) other.scrollTop = view.scrollTop;
    }
  }

  // A click zooms in or out again; pressing and moving moves the picture. Touch scrolls by itself.
  #drag(on, view) {
    let from = null;
    let moved = false;
    on(view, "pointerdown", (event) => {
      moved = false;
      from = event.pointerType === "mouse" ? [event.clientX + view.scrollLeft, event.clientY + view.scrollTop] : null;
    });
    on(view, "pointermove", (event) => {
      if (!from || !event.buttons) return;
      const [x, y] = [from[0] - event.clientX, from[1] - event.clientY];
      if (Math.abs(x - view.scrollLeft) + Math.abs(y - view.scrollTop) > 3) moved = true;
      view.scrollTo(x, y);
    });
    on(view, "dragstart", (event) => event.preventDefault());
    on(view, "click", (event) => {
      if (!moved) this.#set(this.zoom > 1 ? 1 : 2.5, event, view);
    });
  }

  #fit() {
    this.views.forEach(({ clientWidth, clientHeight }, place) => {
      const image = this.images[place];
      const { naturalWidth: wide, naturalHeight: high } = image;
      const share = Math.min(clientWidth / wide, clientHeight / high);
      image.style.setProperty("--width", Math.floor(wide * share));
      image.style.setProperty("--height", Math.floor(high * share));
    });
  }

  // Zooms about a point of a picture, which stays where it is; the middle if none is given.
  #set(wanted, at = null, where = this.views[0]) {
    const zoom = Math.min(MOST, Math.max(1, wanted));
    const view = where;
    const image = this.images[this.views.indexOf(view)];
    const frame = view.getBoundingClientRect();
    const [x, y] = at ? [at.clientX, at.clientY] : [frame.left + view.clientWidth / 2, frame.top + view.clientHeight / 2];
    const before = image.getBoundingClientRect();
    const share = [(x - before.left) / (before.width || 1), (y - before.top) / (before.height || 1)];
    this.zoom = zoom;
    for (const each of this.images) each.style.setProperty("--zoom", zoom);
    for (const each of this.views) each.classList.toggle("zoomed", zoom > 1);
    const after = image.getBoundingClientRect();
    view.scrollBy(after.left + share[0] * after.width - x, after.top + share[1] * after.height - y);
    this.#follow(view);
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

export const enlarge = (images, labels = []) => new Zoom(images, labels).show();
