// System means with intervals, and how many more ratings a wanted precision takes.
import { cut, estimate, linear, node, number, picture, plain, tells, ticks, whole, wide } from "./draw.js";

const needs = (row) => {
  if (row.needed.value === null) return { short: row.mean.value === null ? "" : "more stimuli", long: row.needed.why_missing };
  return row.needed.value === 0 ? { short: "reached", long: "the wanted precision is reached" } : { short: `+${whole(row.needed.value)}`, long: `about ${whole(row.needed.value)} more ratings` };
};
const shown = (row) => {
  if (row.mean.value === null) return "";
  return number(row.mean.value) + (row.mean.low === null || row.mean.low === undefined ? "" : ` ±${number((row.mean.high - row.mean.low) / 2)}`);
};
const rows = (svg, data, width, height) => {
  const list = data.rows;
  if (!list.length) { node("text", { x: 8, y: 24 }, svg, "The study has no systems, or no ratings yet."); return 40; }
  const ends = list.flatMap((r) => (r.mean.value === null ? [] : [r.mean.low ?? r.mean.value, r.mean.high ?? r.mean.value]));
  const bounds = list[0].bounds || [Math.min(...ends, 0), Math.max(...ends, 1)];
  const spread = ends.length ? [Math.min(...ends), Math.max(...ends)] : bounds, pad = 0.12 * (spread[1] - spread[0] || 1);
  const low = Math.max(bounds[0], spread[0] - pad), high = Math.min(bounds[1], spread[1] + pad);
  const nameWidth = Math.min(width * 0.34, Math.max(...list.map((r) => wide(r.system))) + 12), side = Math.max(64, ...list.map((r) => wide(needs(r).short) + 16)), meanWidth = Math.max(...list.map((r) => wide(shown(r)) + 14));
  const left = nameWidth, right = width - side - meanWidth, top = 20, foot = height - 22, step = Math.max(17, Math.min(60, (foot - top) / list.length)), bottom = top + step * list.length;
  const x = linear(low, high, left + 4, right - 6);
  for (const value of ticks(low, high, Math.max(3, width / 110))) {
    node("line", { x1: x(value), x2: x(value), y1: top - 4, y2: bottom, class: "grid" }, svg);
    node("text", { x: x(value), y: bottom + 15, "text-anchor": "middle" }, svg, plain(value));
  }
  node("text", { x: width, y: 12, "text-anchor": "end" }, svg, `for ±${plain(data.precision)}`);
  node("text", { x: width - side, y: 12, "text-anchor": "end" }, svg, "mean");
  list.forEach((row, place) => {
    const y = top + step * (place + 0.5), mark = node("g", { class: "k0" }, svg), more = needs(row);
    node("rect", { x: 0, y: y - step / 2, width, height: step, class: "hit" }, mark);
    node("text", { x: left - 8, y: y + 4, "text-anchor": "end", class: "strong" }, mark, cut(row.system, nameWidth - 10));
    if (row.mean.value === null) node("text", { x: left + 6, y: y + 4 }, mark, cut(`undefined, because ${row.mean.why_missing}`, right - left));
    else {
      if (row.mean.low !== null && row.mean.low !== undefined) node("line", { x1: x(Math.max(low, row.mean.low)), x2: x(Math.min(high, row.mean.high)), y1: y, y2: y, class: "reach" }, mark);
      node("circle", { cx: x(row.mean.value), cy: y, r: 4.5, class: "dot" }, mark);
    }
    node("text", { x: width - side, y: y + 4, "text-anchor": "end", class: "strong" }, mark, shown(row));
    node("text", { x: width, y: y + 4, "text-anchor": "end", class: row.needed.value === 0 ? "" : "strong" }, mark, more.short);
    tells(mark, `${row.system}: ${estimate(row.mean)}\n${whole(row.ratings)} ratings of ${whole(row.stimuli)} stimuli\nfor ±${plain(data.precision)}: ${more.long}`);
  });
  return Math.max(bottom + 20, 60);
};

export const systems = (host, choose) => {
  const draw = picture(host, "Mean rating of each system", rows);
  let last = null;
  const paint = () => {
    if (!last) return;
    const list = last.systems.filter((r) => r.question === choose.value);
    draw({ precision: last.precision, rows: list.toSorted((a, b) => (b.mean.value ?? -1e9) - (a.mean.value ?? -1e9)) });
  };
  choose.addEventListener("change", paint);
  return (data) => {
    last = data;
    const names = [...new Set(data.systems.map((r) => r.question))];
    if (names.join() !== [...choose.options].map((o) => o.value).join()) {
      const held = choose.value;
      choose.replaceChildren(...names.map((name) => new Option(name, name, false, name === held)));
    }
    paint();
  };
};
