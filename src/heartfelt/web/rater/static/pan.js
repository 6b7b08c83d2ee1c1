// The picture of a trial in its place: zoomed with the wheel, two fingers, a double tap or + and -, moved by dragging or with
// the arrow keys. One tap or click enlarges it to the whole screen.
const MOST = 8;
const STEP = 1.5;
const DOUBLE = 280; // milliseconds between the taps of a double tap
const SLACK = 8; // pixels a finger may move in a tap
const MOVE = 60; // pixels an arrow key moves the picture

export class Pan {
  constructor(frame, enlarge) {
    Object.assign(this, { frame, enlarge, zoom: 1, x: 0, y: 0, fingers: new Map(), tapped: 0, moved: false, image: null });
    frame.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#to(this.zoom * (event.deltaY < 0 ? 1.2 : 1 / 1.2), event);
    }, { passive: false });
    frame.addEventListener("pointerdown", (event) => this.#down(event));
    frame.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, (event) => this.fingers.delete(event.pointerId));
    frame.addEventListener("dragstart", (event) => event.preventDefault());
    frame.addEventListener("click", (event) => this.#click(event));
  }

  // What is drawn over the picture moves with it.
  show(image, over = null) {
    Object.assign(this, { image, over, zoom: 1, x: 0, y: 0 });
    image.style.transform = "";
  }

  #down(event) {
    if (!this.fingers.size) this.moved = false;
    this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    this.from = [event.clientX, event.clientY];
    if (this.zoom > 1) this.frame.setPointerCapture(event.pointerId);
  }

  #move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    if (Math.hypot(now[0] - this.from[0], now[1] - this.from[1]) > SLACK) this.moved = true;
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
    this.fingers.set(event.pointerId, now);
    if (other) {
      this.moved = true;
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      this.#to((this.zoom * apart(now)) / apart(before), { clientX: (now[0] + other[0]) / 2, clientY: (now[1] + other[1]) / 2 });
    } else if (this.zoom > 1) this.#by(now[0] - before[0], now[1] - before[1]);
  }

  #click(event) {
    if (this.moved) return;
    clearTimeout(this.waiting);
    const again = event.timeStamp - this.tapped < DOUBLE;
    this.tapped = again ? 0 : event.timeStamp;
    if (again) this.#to(this.zoom > 1 ? 1 : 2.5, event);
    // A key on the button is no tap that a second one could follow.
    else if (event.detail === 0) this.enlarge();
    else this.waiting = setTimeout(() => this.frame.isConnected && this.enlarge(), DOUBLE);
  }

  // Zooms about a point, which stays where it is; the middle if none is given.
  #to(wanted, at = null) {
    const zoom = Math.min(MOST, Math.max(1, wanted));
    const box = this.frame.getBoundingClientRect();
    const [x, y] = at ? [at.clientX - box.left - box.width / 2, at.clientY - box.top - box.height / 2] : [0, 0];
    this.x = x - ((x - this.x) * zoom) / this.zoom;
    this.y = y - ((y - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.#by(0, 0, box);
  }

  #by(x, y, box = this.frame.getBoundingClientRect()) {
    const most = [(box.width * (this.zoom - 1)) / 2, (box.height * (this.zoom - 1)) / 2];
    this.x = Math.min(most[0], Math.max(-most[0], this.x + x));
    this.y = Math.min(most[1], Math.max(-most[1], this.y + y));
    this.frame.classList.toggle("panned", this.zoom > 1);
    const transform = this.zoom > 1 ? `translate(${this.x}px, ${this.y}px) scale(${this.zoom})` : "";
    for (const node of [this.image, this.over]) if (node) node.style.transform = transform;
  }

  // Returns true when the key was meant for the picture.
  key({ key, target }) {
    if (!this.image) return false;
    const arrow = { ArrowLeft: [MOVE, 0], ArrowRight: [-MOVE, 0], ArrowUp: [0, MOVE], ArrowDown: [0, -MOVE] }[key];
    if (key === "+" || key === "=") this.#to(this.zoom * STEP);
    else if (key === "-" && this.zoom > 1) this.#to(this.zoom / STEP);
    else if (arrow && this.zoom > 1 && !target.matches?.("input")) this.#by(...arrow);
    else return false;
    return true;
  }
}
