// Rows of estimates with their intervals, each with a name, the number and a remark: means, strengths, grades or shares.
import { cut, linear, node, plain, tells, ticks, wide } from "./draw.js";

// data: { rows: [{ name, estimate, text, remark, quiet, tip }], heads: [of the number, of the remark], bounds, neutral, percent, empty }
export const intervals = (svg, data, width, height) => {
  const list = data.rows;
  if (!list.length) { node("text", { x: 8, y: 24 }, svg, cut(data.empty, width - 16)); return 40; }
  const ends = list.flatMap((r) => (r.estimate.value === null ? [] : [r.estimate.low ?? r.estimate.value, r.estimate.high ?? r.estimate.value]));
  const bounds = data.bounds || [-Infinity, Infinity];
  const spread = ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1], pad = 0.12 * (spread[1] - spread[0] || 1);
  const low = Math.max(bounds[0], spread[0] - pad), high = Math.min(bounds[1], spread[1] + pad);
  const nameWidth = Math.min(width * 0.34, Math.max(...list.map((r) => wide(r.name))) + 12);
  const side = Math.max(wide(data.heads[1]), ...list.map((r) => wide(r.remark))) + 16, textWidth = Math.max(wide(data.heads[0]), ...list.map((r) => wide(r.text))) + 14;
  const left = nameWidth, right = Math.max(left + 40, width - side - textWidth), top = 20, foot = height - 22, step = Math.max(17, Math.min(60, (foot - top) / list.length)), bottom = top + step * list.length;
  const x = linear(low, high, left + 4, right - 6), label = (value) => (data.percent ? `${plain(100 * value)}%` : plain(value));
  for (const value of ticks(low, high, Math.max(3, (right - left) / 55))) {
    node("line", { x1: x(value), x2: x(value), y1: top - 4, y2: bottom, class: value === (data.neutral ?? 0) ? "axis" : "grid" }, svg);
    node("text", { x: x(value), y: bottom + 15, "text-anchor": "middle" }, svg, label(value));
  }
  node("text", { x: width, y: 12, "text-anchor": "end" }, svg, data.heads[1]);
  node("text", { x: width - side, y: 12, "text-anchor": "end" }, svg, data.heads[0]);
  list.forEach((row, number) => {
    const y = top + step * (number + 0.5), mark = node("g", { class: row.quiet ? "k3" : "k0" }, svg), e = row.estimate;
    node("rect", { x: 0, y: y - step / 2, width, height: step, class: "hit" }, mark);
    node("text", { x: left - 8, y: y + 4, "text-anchor": "end", class: row.quiet ? "" : "strong" }, mark, cut(row.name, nameWidth - 10));
    if (e.value === null) node("text", { x: left + 6, y: y + 4 }, mark, cut(`undefined, because ${e.why_missing}`, width - left - 8));
    else {
      if (e.low !== null && e.low !== undefined) node("line", { x1: x(Math.max(low, e.low)), x2: x(Math.min(high, e.high)), y1: y, y2: y, class: "reach" }, mark);
      node("circle", { cx: x(e.value), cy: y, r: 4.5, class: "dot" }, mark);
      node("text", { x: width - side, y: y + 4, "text-anchor": "end", class: "strong" }, mark, row.text);
      node("text", { x: width, y: y + 4, "text-anchor": "end" }, mark, row.remark);
    }
    tells(mark, row.tip);
  });
  return Math.max(bottom + 20, 60);
};
