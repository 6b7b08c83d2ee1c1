// Nodes, numbers, one tooltip, and the parts every picture shares.
const SVG = "http://www.w3.org/2000/svg";

export const node = (name, attributes, parent, text) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
};
export const element = (name, className, parent, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
};
export const button = (words, parent, act, className = "") => {
  const made = element("button", className, parent, words);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
};

export const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "\u2212"));
export const percent = (share) => (share === null || share === undefined ? "–" : `${number(100 * share, 0)}%`);
export const whole = (value) => (value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en"));
export const estimate = (e, digits = 2) => {
  if (!e || e.value === null) return `undefined, because ${e?.why_missing || "it was not computed"}`;
  const inside = e.low === null || e.low === undefined ? "" : ` [${number(e.low, digits)}, ${number(e.high, digits)}]`;
  return number(e.value, digits) + inside;
};
export const plusMinus = (e, digits = 2) => {
  if (!e || e.value === null) return "";
  return number(e.value, digits) + (e.low === null || e.low === undefined ? "" : ` ±${number((e.high - e.low) / 2, digits)}`);
};
export const clock = (text) => new Date(text).toLocaleTimeString("en", { hour12: false });
export const moment = (text) => {
  if (!text) return "–";
  const at = new Date(text), now = new Date();
  const day = at.toDateString() === now.toDateString() ? "" : `${at.toLocaleDateString("en", { weekday: "short", day: "numeric", month: "short" })} `;
  return day + at.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
};
export const ago = (text) => {
  if (!text) return "–";
  const s = Math.max(0, (Date.now() - new Date(text)) / 1000);
  if (s < 90) return "now";
  return s < 5400 ? `${Math.round(s / 60)} min` : s < 129600 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
};

const tip = document.getElementById("tip");
export const showTip = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - box.width - 6))}px`;
  tip.style.top = `${y + box.height + 24 > innerHeight ? Math.max(4, y - box.height - 12) : y + 16}px`;
};
export const hideTip = () => { tip.hidden = true; };
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

// A mark tells on hover and on focus.
export const tells = (mark, words) => {
  mark.classList.add("mark");
  mark.setAttribute("tabindex", "-1");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", words.replaceAll("\n", ", "));
  mark.addEventListener("pointermove", (event) => showTip(words, event.clientX, event.clientY));
  mark.addEventListener("pointerleave", hideTip);
  mark.addEventListener("focus", () => { const box = mark.getBoundingClientRect(); showTip(words, box.right, box.bottom); });
  mark.addEventListener("blur", hideTip);
};
// One tab stop a picture; arrow keys go from mark to mark.
export const rove = (svg) => {
  const marks = [...svg.querySelectorAll(".mark")];
  if (!marks.length) return;
  marks[0].setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    const here = marks.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (here < 0 || !step) return;
    event.preventDefault();
    const next = marks[(here + step + marks.length) % marks.length];
    marks[here].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
};

// A picture that fills its host and is drawn again when the host changes size or new data come.
export const picture = (host, label, draw) => {
  const frame = element("div", "", host);
  let data = null, drawn = "";
  const paint = (force) => {
    const width = Math.round(frame.clientWidth), height = Math.floor(host.clientHeight - rest());
    if (data === null || width < 40 || (!force && drawn === `${width}x${height}`)) return;
    drawn = `${width}x${height}`;
    const held = frame.contains(document.activeElement);
    frame.replaceChildren();
    const svg = node("svg", { role: "group", "aria-label": label }, frame);
    const tall = draw(svg, data, width, Math.max(110, height));
    svg.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    svg.setAttribute("height", tall);
    rove(svg);
    if (held) svg.querySelector('[tabindex="0"]')?.focus();
  };
  const rest = () => [...host.children].filter((child) => child !== frame).reduce((sum, child) => sum + child.getBoundingClientRect().height + 4, 0);
  new ResizeObserver(() => paint(false)).observe(host);
  return (fresh) => { data = fresh; paint(true); };
};
export const linear = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);
export const ticks = (low, high, count = 5) => {
  const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const out = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * step; value += step) out.push(Number(value.toPrecision(8)));
  return out;
};
export const plain = (value) => String(Number(value.toPrecision(6))).replace("-", "\u2212");
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
export const wide = (text) => ruler.measureText(text).width;
export const cut = (text, most) => {
  if (wide(text) <= most) return text;
  let short = text;
  while (short.length > 1 && wide(`${short}…`) > most) short = short.slice(0, -1);
  return `${short}…`;
};
