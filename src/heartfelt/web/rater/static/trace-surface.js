// Where a marker is moved by mouse, finger or pen, and its trail. One axis runs up, and time from right to left; a plane has
// one axis across and one up. For the eye and the pointer: the sliders say the same to everyone else.
import { make } from "./dom.js";
import { limited } from "./trace-recorder.js";

const TRAIL = 4000; // milliseconds until the trail has faded
const CLICK = 6; // pixels: a press that moves less is a click
const PEN = 0.82; // how far right the marker of one axis is: its trail runs to the left

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const end = (side, text) => make("span", { class: `trace-end ${side}`, "aria-hidden": "true", text });

export class Surface {
  constructor(course) {
    this.course = course;
    this.plane = course.fields.length === 2;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.trail = [];
    this.held = false;
    if (this.plane) this.#plane();
    else this.#strip();
    this.area.addEventListener("pointerdown", (event) => this.#down(event));
    this.area.addEventListener("pointermove", (event) => this.#move(event));
    this.area.addEventListener("pointerup", (event) => this.#up(event));
    this.area.addEventListener("pointercancel", () => this.letGo());
    this.area.addEventListener("pointerleave", (event) => {
      if (!event.buttons) this.letGo();
    });
  }

  #strip() {
    const [field] = this.course.fields;
    const [low, high] = field.ends;
    this.area = field.slider;
    this.area.classList.add("trace-strip");
    this.area.setAttribute("aria-orientation", "vertical");
    this.area.prepend(end("top", high), end("bottom", low), this.canvas);
    field.body = [this.area, this.course.status];
  }

  #plane() {
    const [across, up] = this.course.fields;
    const [left, right] = across.ends;
    const [bottom, top] = up.ends;
    this.marker = make("i", { class: "trace-marker" });
    this.area = make("div", { class: "trace-plane", "aria-hidden": "true" },
      end("top", top), end("left", left), end("right", right), end("bottom", bottom), this.canvas, this.marker);
    for (const field of this.course.fields) this.#rail(field);
  }

  // A slider next to the plane can be dragged as well.
  #rail(field) {
    const follow = ({ clientX, timeStamp }) => {
      const box = field.slider.getBoundingClientRect();
      this.course.put(field, (clientX - box.left) / box.width, timeStamp);
      this.run();
    };
    field.slider.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      field.slider.setPointerCapture(event.pointerId);
      follow(event);
    });
    field.slider.addEventListener("pointermove", (event) => {
      if (event.buttons && field.slider.hasPointerCapture(event.pointerId)) follow(event);
    });
  }

  // --- pointers --------------------------------------------------------------------------------------------------------

  #down(event) {
    if (event.button) return;
    event.preventDefault();
    const { course } = this;
    const holding = this.held;
    course.glide.stop();
    if (!course.fields.some((field) => field.slider === document.activeElement)) course.fields[0].slider.focus({ preventScroll: true });
    this.area.setPointerCapture(event.pointerId);
    this.pressed = { x: event.clientX, y: event.clientY, holding };
    this.held = true;
    this.#follow([event]);
  }

  #move(event) {
    if (!this.held) return;
    if (event.buttons && this.pressed && Math.hypot(event.clientX - this.pressed.x, event.clientY - this.pressed.y) > CLICK) this.pressed.dragged = true;
    // Moves between two frames come together, each with its own time.
    const moves = event.getCoalescedEvents?.() ?? [];
    this.#follow(moves.length ? moves : [event]);
  }

  // A drag ends when the button is let go. After a click of the mouse the marker follows it until the next click.
  #up(event) {
    const { dragged, holding } = this.pressed ?? {};
    this.held = event.pointerType === "mouse" && !dragged && !holding;
    this.pressed = null;
  }

  letGo() {
    this.held = false;
    this.pressed = null;
  }

  #follow(events) {
    const box = this.area.getBoundingClientRect();
    const moves = events.map((event) => {
      const up = limited((box.bottom - event.clientY) / box.height);
      return [event.timeStamp, this.plane ? [limited((event.clientX - box.left) / box.width), up] : [up]];
    });
    this.course.moved(moves);
    this.run();
  }

  // --- drawing ---------------------------------------------------------------------------------------------------------

  moved(stamp, position) {
    this.trail.push([stamp, position]);
  }

  clear() {
    this.trail = [];
  }

  // Draws every frame for as long as something moves or fades.
  run() {
    if (this.frame) return;
    const tick = () => {
      this.frame = 0;
      this.course.advance(performance.now());
      this.draw();
      if ((this.trail.length && !calm()) || this.course.glide.gliding) this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  draw() {
    const { canvas, course, area } = this;
    const position = course.position ?? course.fields.map(() => 0.5);
    area.style.setProperty("--x", this.plane ? position[0] : PEN);
    area.style.setProperty("--y", 1 - position.at(-1));
    area.classList.toggle("untouched", course.position === null);
    const { clientWidth: width, clientHeight: height } = area;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (!calm() && course.position !== null) this.#trail(pen, width, height, performance.now());
  }

  #trail(pen, width, height, now) {
    // The last move before the trail's end is where the trail begins.
    while (this.trail.length > 1 && now - this.trail[1][0] > TRAIL) this.trail.shift();
    if (this.trail.length === 1 && this.plane && now - this.trail[0][0] > TRAIL) this.trail = [];
    const place = ([stamp, position]) => {
      const age = Math.min(TRAIL, now - stamp);
      const x = this.plane ? position[0] * width : width * PEN * (1 - age / TRAIL);
      return [x, (1 - position.at(-1)) * height, 1 - age / TRAIL];
    };
    pen.strokeStyle = getComputedStyle(this.area).getPropertyValue("--accent");
    pen.lineWidth = 3;
    const line = (...points) => {
      pen.globalAlpha = Math.max(0, points.at(-1)[2]) * 0.8;
      pen.beginPath();
      points.forEach(([x, y], index) => (index ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.stroke();
    };
    this.trail.forEach((move, index) => {
      const [x, y, fresh] = place(move);
      const following = this.trail[index + 1];
      if (this.plane) {
        if (following) line([x, y, fresh], place(following));
        return;
      }
      // On one axis the marker stays where it is until the next move: a level line, then a step.
      const [nextX, nextY, nextFresh] = following ? place(following) : [width * PEN, y, 1];
      const pieces = Math.max(1, Math.ceil((nextX - x) / 12));
      for (let piece = 0; piece < pieces; piece += 1) {
        const [from, to] = [piece, piece + 1].map((part) => part / pieces);
        line([x + (nextX - x) * from, y, 0], [x + (nextX - x) * to, y, fresh + (nextFresh - fresh) * to]);
      }
      line([nextX, y, 0], [nextX, nextY, nextFresh]);
    });
  }
}
