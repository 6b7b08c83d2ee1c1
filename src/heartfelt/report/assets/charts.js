"use strict";
// One function per type of chart; each draws a panel to the given width.
(({ node, element, number, showTip, hideTip, play, playable, follow, describe, nearest, rove, figures }) => {
  const INK = "#1d2330", SOFT = "#5b6472", LINE = "#d9dde4";
  const tick = (value) => String(Number(value.toPrecision(6))).replace("-", "\u2212");
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  const wide = (text) => ruler.measureText(text).width;
  const widest = (texts) => Math.max(0, ...texts.map(wide));
  // A label no wider than ``most`` pixels.
  const cut = (text, most) => {
    if (wide(text) <= most) return text;
    let cutText = text;
    while (cutText.length > 1 && wide(`${cutText}…`) > most) cutText = cutText.slice(0, -1);
    return `${cutText}…`;
  };
  const name = (svg, text, x, y, most, anchor = "end") => {
    const label = node("text", { x, y, "text-anchor": anchor, class: "name" }, svg, cut(text, most));
    if (label.textContent !== text) node("title", {}, label, text);
  };

  const legend = (host, entries) => {
    if (!entries || !entries.length) return;
    const list = element("ul", "legend", host);
    for (const entry of entries) {
      const item = element("li", "", list);
      const svg = node("svg", { viewBox: "-6 -6 12 12", class: "key", "aria-hidden": "true" }, item);
      shape(svg, entry.shape || "circle", 0, 0, 5, { fill: entry.colour });
      item.append(entry.label);
    }
  };

  const shape = (parent, kind, x, y, r, attributes) => {
    if (kind === "square") return node("rect", { x: x - r * 0.9, y: y - r * 0.9, width: 1.8 * r, height: 1.8 * r, ...attributes }, parent);
    if (kind === "triangle") return node("path", { d: `M${x},${y - r * 1.1}L${x + r * 1.05},${y + r * 0.8}L${x - r * 1.05},${y + r * 0.8}Z`, ...attributes }, parent);
    if (kind === "diamond") return node("path", { d: `M${x},${y - r * 1.2}L${x + r * 1.2},${y}L${x},${y + r * 1.2}L${x - r * 1.2},${y}Z`, ...attributes }, parent);
    if (kind === "star") {
      const points = [...Array(10).keys()].map((i) => { const a = (Math.PI * i) / 5 - Math.PI / 2, s = i % 2 ? r * 0.45 : r * 1.15; return `${x + s * Math.cos(a)},${y + s * Math.sin(a)}`; });
      return node("polygon", { points: points.join(" "), ...attributes }, parent);
    }
    return node("circle", { cx: x, cy: y, r, ...attributes }, parent);
  };

  // Panels in a grid, each drawn to its own width and drawn again when that changes.
  const panels = (host, figure, draw) => {
    legend(host, figure.legend);
    const grid = element("div", `panels count-${Math.min(figure.panels.length, 3)}`, host);
    for (const panel of figure.panels) {
      const box = element("div", "panel", grid);
      if (panel.title) { const title = element("p", "panel-title", box, panel.title); if (panel.note) { title.append(" "); element("small", "", title, panel.note); } }
      const frame = element("div", "frame", box);
      let drawn = 0;
      const again = () => {
        const width = Math.round(frame.clientWidth) || 560;
        if (Math.abs(width - drawn) < 3) return;
        drawn = width;
        frame.replaceChildren();
        const svg = node("svg", { role: "group", "aria-label": [panel.title, figure.title].filter(Boolean).join(": ") }, frame);
        const height = draw(svg, panel, width);
        svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        rove(svg);
      };
      again();
      if (window.ResizeObserver) new ResizeObserver(again).observe(frame);
    }
  };

  const across = (svg, axis, x, top, bottom) => {
    for (const value of axis.ticks) {
      node("line", { x1: x(value), x2: x(value), y1: top, y2: bottom, stroke: LINE }, svg);
      node("text", { x: x(value), y: bottom + 15, "text-anchor": "middle" }, svg, tick(value));
    }
    if (axis.label) node("text", { x: (x(axis.low) + x(axis.high)) / 2, y: bottom + 32, "text-anchor": "middle", class: "label" }, svg, axis.label);
  };
  const upward = (svg, axis, y, left, right) => {
    for (const value of axis.ticks) {
      node("line", { x1: left, x2: right, y1: y(value), y2: y(value), stroke: LINE }, svg);
      node("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, svg, tick(value));
    }
    const middle = (y(axis.low) + y(axis.high)) / 2;
    if (axis.label) node("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})`, class: "label" }, svg, axis.label);
  };
  const linear = (axis, from, to) => (value) => from + ((value - axis.low) / (axis.high - axis.low)) * (to - from);

  figures.intervals = (host, figure) => panels(host, figure, (svg, panel, width) => {
    // Labels are left of their rows, or above them where that would leave too little space.
    const rows = panel.rows, labelWidth = widest(rows.map((r) => r.label)) + 14, above = labelWidth > width * 0.42;
    const row = above ? 40 : panel.row || (rows.length > 24 ? 18 : 26), left = above ? 8 : labelWidth;
    const lanes = (panel.brackets || []).length * 30 + (panel.ties || []).length * 8;
    const right = width - 10 - lanes, top = (panel.lines || []).some((l) => l.label) ? 18 : 6, bottom = top + rows.length * row;
    const x = linear(panel.value, left, right), y = (place) => top + (place + (above ? 0.68 : 0.5)) * row;
    across(svg, panel.value, x, top, bottom);
    for (const line of panel.lines || []) {
      node("line", { x1: x(line.at), x2: x(line.at), y1: top, y2: bottom, stroke: SOFT, "stroke-width": 1.2, "stroke-dasharray": line.label ? "4 3" : null }, svg);
      if (line.label) node("text", { x: x(line.at), y: 12, "text-anchor": x(line.at) > right - 30 ? "end" : x(line.at) < left + 30 ? "start" : "middle" }, svg, line.label);
    }
    rows.forEach((entry, place) => {
      if (above) name(svg, entry.label, left, y(place) - 11, right - left, "start");
      else name(svg, entry.label, left - 8, y(place) + 4, left - 10);
      if (entry.value === null) return;
      const mark = node("g", {}, svg);
      node("rect", { x: left, y: top + place * row, width: right - left, height: row, class: "hit" }, mark);
      if (panel.bars) node("rect", { x: x(Math.max(panel.value.low, Math.min(0, entry.value))), y: y(place) - 8, width: Math.abs(x(entry.value) - x(Math.max(panel.value.low, 0))), height: 16, fill: entry.colour, opacity: 0.85 }, mark);
      if (entry.low !== null) node("line", { x1: Math.max(left, x(entry.low)), x2: Math.min(right, x(entry.high)), y1: y(place), y2: y(place), stroke: panel.bars ? INK : entry.colour, "stroke-width": panel.bars ? 1.6 : 2.2 }, mark);
      if (!panel.bars) node("circle", { cx: x(entry.value), cy: y(place), r: row > 20 ? 5 : 4, fill: entry.colour, stroke: "#fff" }, mark);
      describe(mark, entry.words);
    });
    (panel.brackets || []).forEach((bracket, lane) => {
      const at = right + 10 + lane * 30, a = y(bracket.a), b = y(bracket.b);
      const mark = node("g", {}, svg);
      node("rect", { x: at - 6, y: a - 4, width: 29, height: b - a + 8, class: "hit" }, mark);
      node("path", { d: `M${at - 4},${a}h4V${b}h-4`, fill: "none", stroke: INK }, mark);
      node("text", { x: at + 3, y: (a + b) / 2 + 6, class: "stars" }, mark, bracket.stars);
      describe(mark, bracket.words);
    });
    (panel.ties || []).forEach(([first, last], lane) => {
      const at = right + 10 + lane * 8;
      node("line", { x1: at, x2: at, y1: y(first) - 7, y2: y(last) + 7, stroke: SOFT, "stroke-width": 4, opacity: 0.6 }, svg);
    });
    return bottom + (panel.value.label ? 38 : 22);
  });

  figures.columns = (host, figure) => panels(host, figure, (svg, panel, width) => {
    const left = 52, right = width - 6, top = 8, bottom = top + Math.min(240, Math.max(150, width * 0.4));
    const step = Math.min((right - left) / panel.bars.length, 90);
    const y = linear(panel.y, bottom, top);
    upward(svg, panel.y, y, left, right);
    const longest = widest(panel.bars.map((bar) => bar.label)) + 6;
    const every = Math.max(1, Math.ceil(longest / step)), turned = every > 1 && panel.bars.some((bar) => /[^\d–.]/.test(bar.label));
    panel.bars.forEach((bar, place) => {
      const mark = node("g", {}, svg), x = (left + right - step * panel.bars.length) / 2 + place * step;
      node("rect", { x, y: top, width: step, height: bottom - top, class: "hit" }, mark);
      node("rect", { x: x + step * 0.09, y: y(bar.value), width: step * 0.82, height: bottom - y(bar.value), fill: bar.colour }, mark);
      describe(mark, bar.words);
      if (turned) node("text", { x: x + step / 2, y: bottom + 12, "text-anchor": "end", transform: `rotate(-40 ${x + step / 2} ${bottom + 12})` }, svg, cut(bar.label, 80));
      else if (place % every === 0) node("text", { x: x + step / 2, y: bottom + 15, "text-anchor": "middle" }, svg, bar.label);
    });
    const low = turned ? 70 : 32;
    if (panel.x.label) node("text", { x: (left + right) / 2, y: bottom + low, "text-anchor": "middle", class: "label" }, svg, panel.x.label);
    return bottom + low + 6;
  });

  figures.plane = (host, figure) => panels(host, figure, (svg, panel, width) => {
    const left = 52, right = panel.equal ? Math.min(width - 10, left + 400) : width - 10, top = 8;
    const unit = (right - left) / (panel.x.high - panel.x.low);
    const bottom = top + (panel.equal ? unit * (panel.y.high - panel.y.low) : Math.min(430, Math.max(260, width * 0.55)));
    const x = linear(panel.x, left, right), y = linear(panel.y, bottom, top);
    across(svg, panel.x, x, top, bottom);
    upward(svg, panel.y, y, left, right);
    for (const at of panel.x.lines || []) node("line", { x1: x(at), x2: x(at), y1: top, y2: bottom, stroke: SOFT }, svg);
    for (const at of panel.y.lines || []) node("line", { x1: left, x2: right, y1: y(at), y2: y(at), stroke: SOFT }, svg);
    if (panel.diagonal) {
      const from = Math.max(panel.x.low, panel.y.low), to = Math.min(panel.x.high, panel.y.high);
      node("line", { x1: x(from), y1: y(from), x2: x(to), y2: y(to), stroke: SOFT, "stroke-dasharray": "4 3" }, svg);
    }
    for (const [a, b] of panel.links || []) {
      const p = panel.points[a], q = panel.points[b];
      node("line", { x1: x(p.x), y1: y(p.y), x2: x(q.x), y2: y(q.y), stroke: INK, "stroke-width": 1.2 }, svg);
    }
    for (const point of panel.points) {
      const cx = x(point.x), cy = y(point.y), pen = { stroke: point.colour, "stroke-width": 1.4 };
      if (panel.arrows) node("line", { x1: x(0), y1: y(0), x2: cx, y2: cy, ...pen, opacity: 0.5 }, svg);
      if (point.xl != null) node("line", { x1: x(point.xl), x2: x(point.xh), y1: cy, y2: cy, ...pen }, svg);
      if (point.yl != null) node("line", { x1: cx, x2: cx, y1: y(point.yl), y2: y(point.yh), ...pen }, svg);
    }
    const marks = [];
    for (const point of panel.points) {
      const mark = shape(svg, point.shape, x(point.x), y(point.y), panel.named ? 6 : 4.5, { fill: point.colour, stroke: "#fff" });
      marks.push({ x: x(point.x), y: y(point.y), mark, words: describe(mark, point.words, point.stimulus, false) });
      if (!panel.named) continue;
      const near = panel.points.filter((p) => p !== point).sort((p, q) => Math.hypot(p.x - point.x, p.y - point.y) - Math.hypot(q.x - point.x, q.y - point.y))[0];
      const labelWidth = wide(point.label) + 8, up = near ? point.y >= near.y : point.y >= 0;
      const start = (point.x >= 0 && x(point.x) + labelWidth < right) || x(point.x) - labelWidth < left;
      node("text", { x: x(point.x) + (start ? 7 : -7), y: y(point.y) + (up ? -7 : 15), "text-anchor": start ? "start" : "end", class: "name" }, svg, point.label);
    }
    nearest(svg, marks);
    return bottom + 38;
  });

  figures.curve = (host, figure) => {
    const entries = figure.panels[0].series.map((series) => ({ label: series.label, colour: series.colour }));
    panels(host, { ...figure, legend: entries }, (svg, panel, width) => {
      const left = 52, right = width - 34, top = 8, bottom = top + Math.min(320, Math.max(200, width * 0.42));
      const x = linear(panel.x, left, right), y = linear(panel.y, bottom, top);
      across(svg, panel.x, x, top, bottom);
      upward(svg, panel.y, y, left, right);
      for (const line of panel.lines) {
        node("line", { x1: left, x2: right, y1: y(line.at), y2: y(line.at), stroke: SOFT, "stroke-dasharray": "5 3" }, svg);
        node("text", { x: right + 5, y: y(line.at) + 4 }, svg, line.label);
      }
      if (panel.here) {
        node("line", { x1: x(panel.here.at), x2: x(panel.here.at), y1: top, y2: bottom, stroke: SOFT, "stroke-dasharray": "2 3" }, svg);
        node("text", { x: x(panel.here.at) + 5, y: bottom - 6 }, svg, panel.here.label);
      }
      const dashes = [null, "7 3", "7 3 2 3", "2 3"];
      panel.series.forEach((series, place) => {
        const known = series.points.filter((p) => p.low !== null && p.high !== null);
        const at = (p, key) => `${x(p.x).toFixed(1)},${y(p[key]).toFixed(1)}`;
        if (panel.banded && known.length) node("path", { d: `M${known.map((p) => at(p, "high")).join("L")}L${known.slice().reverse().map((p) => at(p, "low")).join("L")}Z`, fill: series.colour, opacity: 0.15, "pointer-events": "none" }, svg);
        node("path", { d: `M${series.points.map((p) => at(p, "y")).join("L")}`, fill: "none", stroke: series.colour, "stroke-width": 2.2, "stroke-dasharray": dashes[place % 4], "pointer-events": "none" }, svg);
        for (const p of series.points) describe(node("circle", { cx: x(p.x), cy: y(p.y), r: 7, class: "hit dot", style: `--own:${series.colour}` }, svg), p.words);
        for (const p of series.needed) describe(node("circle", { cx: x(p.x), cy: y(p.y), r: 5, fill: series.colour, stroke: "#fff" }, svg), p.words);
      });
      return bottom + 38;
    });
  };

  // Traces of one stimulus: thin lines are raters, the thick one is what they share. The cursor follows the clip.
  figures.trace = (host, figure) => {
    if (figure.key && figure.panels.some((panel) => panel.timed && playable(panel.stimulus))) element("p", "hint", host, figure.key);
    panels(host, figure, (svg, panel, width) => {
      const left = 52, right = width - 10, top = 8, bottom = top + Math.min(240, Math.max(170, width * 0.4)), low = bottom + 20, floor = low + 44;
      const x = linear(panel.x, left, right), y = linear(panel.y, bottom, top), sounds = panel.timed && playable(panel.stimulus);
      const path = (values) => `M${values.map((value, place) => `${x(panel.moments[place]).toFixed(1)},${y(value).toFixed(1)}`).join("L")}`;
      across(svg, panel.x, x, top, floor);
      upward(svg, panel.y, y, left, right);
      for (const own of panel.raters) node("path", { d: path(own), fill: "none", stroke: SOFT, "stroke-width": 0.8, opacity: 0.4 }, svg);
      if (panel.low.length) {
        const back = panel.low.map((value, place) => `${x(panel.moments[place]).toFixed(1)},${y(value).toFixed(1)}`).reverse();
        node("path", { d: `${path(panel.high)}L${back.join("L")}Z`, fill: "#0072b2", opacity: 0.18 }, svg);
      }
      node("path", { d: path(panel.shared), fill: "none", stroke: "#0072b2", "stroke-width": 2.2 }, svg);
      const widestSpread = Math.max(...panel.spread.map(([, spread]) => spread), 1e-9);
      node("line", { x1: left, x2: right, y1: floor, y2: floor, stroke: LINE }, svg);
      node("text", { x: left - 6, y: low + 9, "text-anchor": "end" }, svg, number(widestSpread));
      node("text", { x: left - 6, y: floor + 4, "text-anchor": "end" }, svg, "SD 0");
      if (panel.spread.length) node("path", { d: `M${panel.spread.map(([at, spread]) => `${x(at).toFixed(1)},${(floor - ((floor - low) * spread) / widestSpread).toFixed(1)}`).join("L")}`, fill: "none", stroke: SOFT, "stroke-width": 1.4 }, svg);
      const cursor = node("line", { x1: left, x2: left, y1: top, y2: floor, class: "cursor" }, svg);
      const words = `${panel.title}\n${panel.note}`;
      const area = node("rect", { x: left, y: top, width: right - left, height: floor - top, class: sounds ? "hit plays" : "hit" }, svg);
      const moment = (event) => {
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
        return Math.max(panel.x.low, Math.min(panel.x.high, panel.x.low + ((at - left) / (right - left)) * (panel.x.high - panel.x.low)));
      };
      const tell = (at) => {
        const place = panel.moments.reduce((best, value, index) => (Math.abs(value - at) < Math.abs(panel.moments[best] - at) ? index : best), 0);
        const band = panel.low.length ? ` [${number(panel.low[place])}, ${number(panel.high[place])}]` : "";
        return `${number(panel.moments[place], panel.timed ? 1 : 0)} ${panel.x.label}\n${number(panel.shared[place])}${band}`;
      };
      area.addEventListener("pointermove", (event) => showTip(tell(moment(event)), event.clientX, event.clientY));
      area.addEventListener("pointerleave", hideTip);
      if (sounds) {
        const button = shape(svg, "circle", left + 18, top + 18, 12, { fill: "#fff", stroke: INK });
        node("path", { d: `M${left + 14},${top + 12}l10,6l-10,6Z`, fill: INK, "pointer-events": "none" }, svg);
        describe(button, words, panel.stimulus);
        area.addEventListener("click", (event) => play(panel.stimulus, words, button, moment(event)));
        follow(svg, panel.stimulus, (seconds) => {
          cursor.classList.toggle("on", seconds !== null);
          if (seconds !== null) for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(Math.max(panel.x.low, Math.min(panel.x.high, seconds))));
        });
      }
      return floor + 38;
    });
  };

  figures.heatmap = (host, figure) => panels(host, figure, (svg, panel, width) => {
    const left = Math.min(widest(panel.rows) + 14, width * 0.38) + (panel.row_label ? 20 : 0), right = width - 4;
    const step = (right - left) / panel.columns.length, high = panel.square ? Math.min(step, 64) : 28;
    const turned = widest(panel.columns) + 4 > step;
    const top = 4, bottom = top + high * panel.rows.length;
    panel.cells.forEach((line, i) => {
      name(svg, panel.rows[i], left - 8, top + (i + 0.5) * high + 4, left - 10 - (panel.row_label ? 20 : 0));
      line.forEach((cell, j) => {
        const start = panel.middle ?? panel.low, way = cell.value === null ? 0 : (cell.value - start) / (panel.high - start || 1);
        const share = Math.abs(way), shade = way < 0 ? "#d55e00" : "#0072b2";
        const mark = node("g", {}, svg);
        node("rect", { x: left + j * step + 1, y: top + i * high + 1, width: Math.max(1, step - 2), height: high - 2, fill: shade, "fill-opacity": (0.04 + 0.96 * share).toFixed(3), rx: 2 }, mark);
        if (step > 22) node("text", { x: left + (j + 0.5) * step, y: top + (i + 0.5) * high + 4, "text-anchor": "middle", fill: share > 0.75 ? "#fff" : INK, class: "cell" }, mark, cell.text);
        describe(mark, cell.words);
      });
    });
    panel.columns.forEach((label, j) => {
      const at = left + (j + 0.5) * step;
      if (turned) node("text", { x: at, y: bottom + 12, "text-anchor": "end", transform: `rotate(-40 ${at} ${bottom + 12})` }, svg, cut(label, 84));
      else node("text", { x: at, y: bottom + 15, "text-anchor": "middle" }, svg, label);
    });
    const low = turned ? 78 : 32;
    node("text", { x: (left + right) / 2, y: bottom + low, "text-anchor": "middle", class: "label" }, svg, panel.column_label);
    if (panel.row_label) node("text", { x: 12, y: (top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + bottom) / 2})`, class: "label" }, svg, panel.row_label);
    return bottom + low + 6;
  });

  figures.dumbbell = (host, figure) => panels(host, figure, (svg, panel, width) => {
    const labelWidth = widest(panel.rows.map((r) => r.label)) + 14, above = labelWidth > width * 0.5, row = above ? 44 : 30, top = 4;
    const left = above ? 8 : labelWidth, right = width - 12, bottom = top + panel.rows.length * row;
    const x = linear(panel.value, left, right);
    across(svg, panel.value, x, top, bottom);
    panel.rows.forEach((entry, place) => {
      const y = top + (place + (above ? 0.68 : 0.5)) * row;
      if (above) name(svg, entry.label, left, y - 14, right - left, "start");
      else name(svg, entry.label, left - 8, y + 4, left - 10);
      const mark = node("g", {}, svg);
      node("rect", { x: left, y: top + place * row, width: right - left, height: row, class: "hit" }, mark);
      node("line", { x1: x(entry.before.value), y1: y - 5, x2: x(entry.after.value), y2: y + 5, stroke: SOFT }, mark);
      [[entry.before, -5, 0], [entry.after, 5, 1]].forEach(([side, off, which]) => {
        const look = figure.legend[which];
        if (side.low !== null) node("line", { x1: x(side.low), x2: x(side.high), y1: y + off, y2: y + off, stroke: look.colour, "stroke-width": 1.8 }, mark);
        shape(mark, look.shape, x(side.value), y + off, 4, { fill: look.colour, stroke: "#fff" });
      });
      describe(mark, entry.words);
    });
    return bottom + 38;
  });

  // Intended against perceived on two axes, one small map per system; the legend hides and shows groups.
  figures.map = (host, figure) => {
    const list = element("ul", "legend", host);
    const hidden = new Set();
    for (const entry of figure.legend) {
      const button = element("button", "toggle", element("li", "", list));
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      const svg = node("svg", { viewBox: "-6 -6 12 12", class: "key", "aria-hidden": "true" }, button);
      shape(svg, "circle", 0, 0, 5, { fill: entry.colour });
      button.append(entry.label);
      button.addEventListener("click", () => {
        if (!hidden.delete(entry.group)) hidden.add(entry.group);
        button.setAttribute("aria-pressed", String(!hidden.has(entry.group)));
        for (const mark of host.querySelectorAll("[data-group]")) mark.classList.toggle("away", hidden.has(mark.dataset.group));
      });
    }
    if (figure.key) element("li", "", list, figure.key);
    const plain = { ...figure, legend: [] };
    panels(host, plain, (svg, panel, width) => {
      const size = Math.min(width, panel.size || 460), edge = 40, inner = size - edge - 14, top = 8, colour = (group) => panel.colours[group || ""] || panel.colours[""];
      const x = linear(panel.x, edge, edge + inner), y = linear(panel.y, top + inner, top), of = (mark) => ({ "data-group": mark.group || "" });
      const clip = `clip-${Math.random().toString(36).slice(2)}`;
      node("rect", { x: edge, y: top, width: inner, height: inner }, node("clipPath", { id: clip }, node("defs", {}, svg)));
      node("rect", { x: edge, y: top, width: inner, height: inner, fill: "#f5f6f8" }, svg);
      const middle = [x((panel.x.low + panel.x.high) / 2), y((panel.y.low + panel.y.high) / 2)];
      node("line", { x1: middle[0], x2: middle[0], y1: top, y2: top + inner, stroke: "#cfd4dc" }, svg);
      node("line", { x1: edge, x2: edge + inner, y1: middle[1], y2: middle[1], stroke: "#cfd4dc" }, svg);
      for (const value of panel.x.ticks) node("text", { x: x(value), y: top + inner + 15, "text-anchor": "middle" }, svg, tick(value));
      for (const value of panel.y.ticks) node("text", { x: edge - 6, y: y(value) + 4, "text-anchor": "end" }, svg, tick(value));
      node("text", { x: edge + inner / 2, y: top + inner + 30, "text-anchor": "middle", class: "label" }, svg, panel.x.label);
      node("text", { x: 12, y: top + inner / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${top + inner / 2})`, class: "label" }, svg, panel.y.label);
      const regions = node("g", { "clip-path": `url(#${clip})` }, svg);
      for (const e of panel.ellipses || []) {
        const across = inner / (panel.x.high - panel.x.low), up = inner / (panel.y.high - panel.y.low), turns = [];
        for (let k = 0; k <= 60; k++) {
          const t = (k / 60) * 2 * Math.PI, u = e.long * Math.cos(t), v = e.short * Math.sin(t);
          turns.push(`${(x(e.x) + across * (u * Math.cos(e.angle) - v * Math.sin(e.angle))).toFixed(1)},${(y(e.y) - up * (u * Math.sin(e.angle) + v * Math.cos(e.angle))).toFixed(1)}`);
        }
        node("path", { d: `M${turns.join("L")}Z`, fill: colour(e.group), "fill-opacity": 0.09, stroke: colour(e.group), "stroke-width": 1.4, ...of(e) }, regions);
      }
      for (const line of panel.lines || []) node("line", { x1: x(line.x1), y1: y(line.y1), x2: x(line.x2), y2: y(line.y2), stroke: colour(line.group), "stroke-width": 1.3, opacity: 0.55, ...of(line) }, svg);
      const marks = [], add = (mark, at, words, stimulus) => marks.push({ x: x(at.x), y: y(at.y), mark, words: describe(mark, words, stimulus, false) });
      for (const p of panel.points) {
        const dot = node("circle", { cx: x(p.x), cy: y(p.y), r: 3.6, fill: colour(p.group), "fill-opacity": panel.points.length > 300 ? 0.28 : 0.5, ...of(p) }, svg);
        const part = (label, value, sd, n) => `\n${label} ${number(value)}${n == null ? "" : ` (sd ${number(sd)}, ${n} raters)`}`;
        add(dot, p, `${p.stimulus}\n${p.intent || ""}${part(panel.x.label, p.x, p.sx, p.nx)}${part(panel.y.label, p.y, p.sy, p.ny)}`, p.stimulus);
      }
      for (const mark of panel.crosses || []) {
        const cross = node("path", { d: `M${x(mark.x) - 4},${y(mark.y) - 4}l8,8m0,-8l-8,8`, stroke: colour(mark.group), "stroke-width": 2, fill: "none", ...of(mark) }, svg);
        add(cross, mark, mark.words);
      }
      for (const mark of panel.means || []) add(node("circle", { cx: x(mark.x), cy: y(mark.y), r: 5.5, fill: colour(mark.group), stroke: "#fff", "stroke-width": 1.2, ...of(mark) }, svg), mark, mark.words);
      for (const mark of panel.stars || []) add(shape(svg, "star", x(mark.x), y(mark.y), 8, { fill: colour(mark.group), stroke: INK, ...of(mark) }), mark, mark.words);
      if (!panel.points.length) for (const mark of panel.stars || []) node("text", { x: x(mark.x), y: y(mark.y) - 10, "text-anchor": "middle", class: "cell", ...of(mark) }, svg, mark.label);
      nearest(svg, marks);
      for (const mark of svg.querySelectorAll("[data-group]")) mark.classList.toggle("away", hidden.has(mark.dataset.group));
      return top + inner + 36;
    });
  };
})(window.heartfelt);
