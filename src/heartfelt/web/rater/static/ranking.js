// An order of the members, best first: by dragging, by touch, by keys and by buttons. Nobody has a rank until they are
// given one, so that the order in which members happen to be listed is never taken for an answer.
import { make, tell } from "./dom.js";
import { words } from "./words.js";

const ARROWS = { up: "M12 19V5M5 12l7-7 7 7", down: "M12 5v14M5 12l7 7 7-7" };
const SVG = "http://www.w3.org/2000/svg";

function arrow(way) {
  const [svg, path] = ["svg", "path"].map((name) => document.createElementNS(SVG, name));
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ARROWS[way]);
  svg.append(path);
  return svg;
}

export class Ranking {
  kind = "ranking";

  constructor(id, form, scale, changed, set) {
    Object.assign(this, { id, form, scale, changed, members: set });
    this.rows = set.judged.map((place, row) => this.#row(place, row));
    this.order = []; // the rows that have a rank, best first
    this.rest = [...this.rows];
    this.line = make("p", { class: "unranked", text: words("unranked") });
    this.list = make("div", { class: "members-rows", role: "group", "aria-label": form.text });
    this.top = make("p", { class: "extreme", text: scale.best });
    this.bottom = make("p", { class: "extreme", text: scale.worst });
    this.body = [this.top, this.list, this.bottom];
    this.locked = false;
    this.#lay();
  }

  #row(place, number) {
    const row = { place, number };
    const name = this.members.labels[place];
    const button = (way, step) => make("button", {
      type: "button", class: "step", "aria-label": words(`rank_${way}`, { member: name }),
      onclick: (event) => this.#step(row, step, event.currentTarget),
    }, arrow(way));
    row.buttons = [button("up", -1), button("down", 1)];
    row.rank = make("span", { class: "rank" });
    row.grip = make("div", {
      class: "grip", tabindex: "0", role: "button", "aria-label": words("rank_grip", { member: name }), "aria-roledescription": words("rank_role"),
      onkeydown: (event) => this.#keyed(row, event), onpointerdown: (event) => this.#drag(row, event),
    }, row.rank, make("span", { class: "dots", "aria-hidden": "true" }));
    row.node = make("div", { class: "row" }, row.grip, this.members.view.control(place), ...row.buttons);
    return row;
  }

  // Shows the rows in their order, those without a rank below a line. Rows that stay where they are are not touched, so
  // that one being dragged, or in focus, stays so.
  #lay(held = null) {
    const nodes = [...this.order.map((row) => row.node), ...(this.rest.length ? [this.line] : []), ...this.rest.map((row) => row.node)];
    if (!this.rest.length) this.line.remove();
    const at = held ? nodes.indexOf(held.node) : -1;
    if (at >= 0 && held.node.parentNode === this.list) {
      for (const node of nodes.slice(0, at)) this.list.insertBefore(node, held.node);
      this.list.append(...nodes.slice(at + 1));
    } else this.list.append(...nodes);
    this.#number();
  }

  #number() {
    for (const row of this.rows) {
      const rank = this.order.indexOf(row);
      row.rank.textContent = rank < 0 ? "–" : rank + 1;
      row.node.classList.toggle("ranked", rank >= 0);
      row.buttons[0].disabled = this.locked || rank === 0;
      row.buttons[1].disabled = this.locked || rank < 0 || rank === this.order.length - 1;
    }
  }

  // Gives a row a rank, counted from 0; the last one left takes the last rank by itself.
  #put(row, rank, held = null) {
    const before = this.draft.join();
    this.order = this.order.filter((other) => other !== row);
    this.rest = this.rest.filter((other) => other !== row);
    this.order.splice(Math.max(0, Math.min(rank, this.order.length)), 0, row);
    if (this.rest.length === 1 && !held) this.order.push(...this.rest.splice(0));
    if (held && this.draft.join() === before) return;
    this.#lay(row);
    tell(words("ranked", { member: this.members.labels[row.place], rank: this.order.indexOf(row) + 1, of: this.rows.length }));
  }

  #settled(row) {
    if (this.rest.length === 1 && this.order.length) this.order.push(...this.rest.splice(0));
    this.#lay(row);
    this.changed(this, this.draft, false, this.value === undefined);
  }

  #step(row, step, focused) {
    if (this.locked) return;
    const rank = this.order.indexOf(row);
    if (rank < 0 && step > 0) return;
    this.#put(row, rank < 0 ? this.order.length : rank + step);
    this.changed(this, this.draft, false, true);
    (focused?.disabled ? row.grip : focused)?.focus();
  }

  #keyed(row, event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.#step(row, step, row.grip);
    row.grip.scrollIntoView({ block: "nearest" });
  }

  // The other rows make way while one is dragged.
  #drag(row, event) {
    if (this.locked || event.button > 0) return;
    const { grip, node } = row;
    const ends = new AbortController();
    const on = (kind, act) => grip.addEventListener(kind, act, { signal: ends.signal });
    grip.setPointerCapture(event.pointerId);
    node.classList.add("dragged");
    let moved = false;
    // A finger that drags makes no gesture of its own, after which a browser would swallow the next tap.
    grip.addEventListener("touchmove", (touch) => touch.preventDefault(), { signal: ends.signal, passive: false });
    on("pointermove", ({ clientY }) => {
      if (!moved && Math.abs(clientY - event.clientY) < 6) return;
      moved = true;
      const middle = (other) => other.getBoundingClientRect().top + other.offsetHeight / 2;
      const others = this.order.filter((other) => other !== row);
      const above = others.filter((other) => middle(other.node) < clientY).length;
      // Below the line it stays where it was, without a rank.
      if (this.rest.includes(row) && this.rest.length > 1 && clientY > this.line.getBoundingClientRect().bottom) return;
      this.#put(row, above, row);
    });
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) {
      on(kind, () => {
        ends.abort();
        node.classList.remove("dragged");
        if (moved) this.#settled(row);
      });
    }
  }

  get draft() {
    return this.order.map((row) => row.number);
  }

  get value() {
    return this.rest.length ? undefined : this.draft;
  }

  set(order) {
    this.order = order.map((number) => this.rows[number]).filter(Boolean);
    this.rest = this.rows.filter((row) => !this.order.includes(row));
    this.#lay();
  }

  get problem() {
    return this.order.length && this.rest.length ? words("rank_all") : null;
  }

  lock(locked) {
    this.locked = locked;
    for (const row of this.rows) row.grip.setAttribute("aria-disabled", locked);
    this.#number();
  }

  // A member that was chosen by its letter: the arrow keys move it.
  chosen(place) {
    this.rows.find((row) => row.place === place)?.grip.focus({ preventScroll: true });
  }

  // A digit gives the next rank to that member.
  key(pressed) {
    const row = this.rows[(Number(pressed) + 9) % 10];
    if (!row || !this.rest.includes(row)) return false;
    this.#put(row, this.order.length);
    this.changed(this, this.draft, false, this.value === undefined);
    return true;
  }

  // Where the next answer is given.
  get spot() {
    return (this.rest[0] ?? this.order[0]).grip;
  }

  get entry() {
    return null;
  }
}
