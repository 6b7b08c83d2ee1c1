// Small things for building pages. Every control is made anew for every trial: nothing can leak from one to the next.
export const find = (what, root = document) => root.querySelector(what);
export const part = (name, root) => root.querySelector(`[data-part="${name}"]`);
export const does = (name, root) => root.querySelector(`[data-does="${name}"]`);

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

// The direction of a text in another script than the page's, such as one that is there in English only; else undefined.
export function ownDirection(text) {
  const [rtl, page] = [RIGHT_TO_LEFT.test(text), document.documentElement.dir === "rtl"];
  if (page) return rtl || !/\p{L}/u.test(text) ? undefined : "ltr";
  return rtl && !/\p{Script=Latin}/u.test(text) ? "rtl" : undefined;
}

export function make(tag, facts = {}, ...inner) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") {
      node.textContent = value;
      const direction = ownDirection(value);
      if (direction) node.dir = direction;
    }
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...inner.filter((child) => child !== null && child !== undefined));
  return node;
}

// Keys and what they do, on one line of their own; what stands between two keys is given as they are.
export function keyHint(label, ...keys) {
  const parts = keys.map((key) => (key === "–" ? key : make("kbd", { text: key })));
  return make("span", { class: "key-hint" }, make("span", { class: "key-names", dir: "ltr" }, ...parts), make("span", { text: label }));
}

export const copy = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

const SVG = "http://www.w3.org/2000/svg";

export function figure(name) {
  const node = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${document.body.dataset.static}/figures.svg#${name}`);
  node.setAttribute("viewBox", "0 0 64 64");
  node.setAttribute("aria-hidden", "true");
  node.classList.add("figure");
  node.append(use);
  return node;
}

// Random text; crypto.randomUUID is missing where a page is not served over https.
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function tell(words) {
  find("#announcement").textContent = words;
}
