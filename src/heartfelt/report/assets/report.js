"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  const node = (name, attributes, parent, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  };
  const element = (name, className, parent, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  };

  // One tooltip and one player serve every figure of the page.
  const tip = element("div", "tip", document.body);
  tip.hidden = true;
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - box.width - 6))}px`;
    tip.style.top = `${y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 16}px`;
  };
  const hideTip = () => { tip.hidden = true; };

  const player = document.getElementById("player");
  const audio = document.getElementById("player-audio");
  const image = document.getElementById("player-image");
  let playing = null;
  const stop = () => {
    audio.pause();
    player.hidden = true;
    if (playing) playing.classList.remove("playing");
    playing = null;
  };
  const play = (id, words, mark) => {
    const source = (data.media || {})[id];
    if (!source) return;
    if (playing) playing.classList.remove("playing");
    playing = mark;
    if (mark) mark.classList.add("playing");
    const seen = source.startsWith("data:image/") || /\.(png|jpe?g|webp|gif)$/i.test(source);
    audio.hidden = seen;
    image.hidden = !seen;
    player.hidden = false;
    document.getElementById("player-title").textContent = words.split("\n")[0];
    if (seen) { image.src = source; image.alt = words; audio.pause(); }
    else { audio.src = source; audio.play().catch(() => {}); }
  };
  document.getElementById("player-close").addEventListener("click", stop);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") { stop(); hideTip(); } });

  // A mark tells on hover and focus, and plays on click, Enter or Space when it stands for a stimulus.
  const tells = (mark, words, stimulus) => {
    mark.addEventListener("pointermove", (event) => showTip(words, event.clientX, event.clientY));
    mark.addEventListener("pointerleave", hideTip);
    if (!stimulus) return;
    mark.classList.add("mark");
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", `Play ${words.replaceAll("\n", ", ")}`);
    mark.addEventListener("focus", () => { const box = mark.getBoundingClientRect(); showTip(words, box.right, box.bottom); });
    mark.addEventListener("blur", hideTip);
    mark.addEventListener("click", () => play(stimulus, words, mark));
    mark.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); play(stimulus, words, mark); }
    });
  };

  const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));

  const figures = {};

  // Intended against perceived on two axes, one small map a system.
  figures.map = (host, figure) => {
    const [ax, ay] = figure.axes;
    const size = 300, edge = 34, inner = size - 2 * edge;
    const x = (value) => edge + ((value - ax.low) / (ax.high - ax.low)) * inner;
    const y = (value) => size - edge - ((value - ay.low) / (ay.high - ay.low)) * inner;
    const legend = element("ul", "legend", host);
    for (const group of figure.groups) {
      const entry = element("li", "", legend);
      const key = element("span", "key", entry);
      key.style.background = group.colour;
      entry.append(group.label);
    }
    element("li", "", legend, "✕ intended   ● perceived mean of an intent   · one stimulus (select it to hear or see it)");
    const maps = element("div", "maps", host);
    for (const system of figure.systems) {
      const box = element("figure", "", maps);
      const caption = element("figcaption", "", box, system.label + " ");
      element("small", "", caption, system.note || "");
      const svg = node("svg", { viewBox: `0 0 ${size} ${size}`, role: "group", "aria-label": `${system.label}: ${ax.label} and ${ay.label}` }, null);
      box.appendChild(svg);
      node("rect", { x: edge, y: edge, width: inner, height: inner, fill: "#f5f6f8" }, svg);
      const middleX = x((ax.low + ax.high) / 2), middleY = y((ay.low + ay.high) / 2);
      node("line", { x1: middleX, x2: middleX, y1: edge, y2: size - edge, stroke: "#cfd4dc" }, svg);
      node("line", { x1: edge, x2: size - edge, y1: middleY, y2: middleY, stroke: "#cfd4dc" }, svg);
      for (const value of [ax.low, (ax.low + ax.high) / 2, ax.high]) node("text", { x: x(value), y: size - edge + 14, "text-anchor": "middle" }, svg, value);
      for (const value of [ay.low, (ay.low + ay.high) / 2, ay.high]) node("text", { x: edge - 6, y: y(value) + 4, "text-anchor": "end" }, svg, value);
      node("text", { x: size / 2, y: size - 4, "text-anchor": "middle" }, svg, ax.label);
      node("text", { x: 10, y: size / 2, "text-anchor": "middle", transform: `rotate(-90 10 ${size / 2})` }, svg, ay.label);
      for (const intent of system.intents) {
        if (intent.rx === null || intent.ry === null || intent.mx === null || intent.my === null) continue;
        node("line", { x1: x(intent.rx), y1: y(intent.ry), x2: x(intent.mx), y2: y(intent.my), stroke: intent.colour, "stroke-width": 1.3, opacity: 0.55 }, svg);
      }
      for (const point of system.points) {
        const dot = node("circle", { cx: x(point.x), cy: y(point.y), r: 4, fill: point.colour, opacity: 0.42 }, svg);
        tells(dot, `${point.stimulus}\n${point.intent || ""}\n${ax.label} ${number(point.x)} (sd ${number(point.sx)}, ${point.nx} raters)\n${ay.label} ${number(point.y)} (sd ${number(point.sy)}, ${point.ny} raters)`, point.stimulus);
      }
      for (const intent of system.intents) {
        if (intent.rx !== null && intent.ry !== null) {
          const cross = node("path", { d: `M${x(intent.rx) - 4},${y(intent.ry) - 4}l8,8m0,-8l-8,8`, stroke: intent.colour, "stroke-width": 1.8, fill: "none" }, svg);
          tells(cross, `${intent.id}: intended\n${ax.label} ${number(intent.rx)}, ${ay.label} ${number(intent.ry)}`);
        }
        if (intent.mx !== null && intent.my !== null) {
          const mean = node("circle", { cx: x(intent.mx), cy: y(intent.my), r: 5.5, fill: intent.colour, stroke: "#fff", "stroke-width": 1.2 }, svg);
          tells(mean, `${intent.id}: perceived, mean of ${intent.n} stimuli\n${ax.label} ${number(intent.mx)}, ${ay.label} ${number(intent.my)}`);
        }
      }
    }
  };

  for (const host of document.querySelectorAll("[data-figure]")) {
    const figure = data.figures[host.dataset.figure];
    if (figure) figures[figure.type](host, figure);
  }
  for (const button of document.querySelectorAll("[data-stimulus]")) {
    button.addEventListener("click", () => play(button.dataset.stimulus, button.dataset.words || button.dataset.stimulus, null));
  }
})();
