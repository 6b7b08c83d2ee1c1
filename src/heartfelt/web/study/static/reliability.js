// Reliability per question as the ratings grow, with intervals; or why it is undefined.
import { cut, element, estimate, linear, node, number, picture, plain, tells, ticks, whole } from "./draw.js";

const MOST = 6;
const lines = (svg, questions, width, height) => {
  const left = 40, right = width - 12, top = 10, bottom = height - 34;
  const points = questions.flatMap((q) => q.over_time.filter((p) => p.value !== null));
  const most = Math.max(2, ...questions.flatMap((q) => q.over_time.map((p) => p.ratings)));
  // Early intervals may span everything: the axis follows the values and the intervals of now, and bands are cut to it.
  const last = questions.map((q) => q.over_time.at(-1)).filter((p) => p && p.value !== null);
  const values = [...points.map((p) => p.value), ...last.flatMap((p) => [p.low ?? p.value, p.high ?? p.value])];
  const low = Math.max(-1, Math.floor(5 * Math.min(0, ...values)) / 5), high = Math.min(1, Math.max(0.6, Math.ceil(5 * Math.max(0, ...values) + 0.2) / 5));
  const x = linear(0, most, left, right), y = linear(low, high, bottom, top);
  for (const value of ticks(low, high, 5)) {
    node("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: value === 0 ? "axis" : "grid" }, svg);
    node("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, svg, plain(value));
  }
  for (const value of ticks(0, most, Math.min(6, width / 90)).filter(Number.isInteger)) node("text", { x: x(value), y: bottom + 15, "text-anchor": value > 0.97 * most ? "end" : "middle" }, svg, whole(value));
  node("text", { x: (left + right) / 2, y: bottom + 30, "text-anchor": "middle" }, svg, cut("ratings; Krippendorff\u2019s α with 95% interval", right - left));
  questions.forEach((question, place) => {
    const group = node("g", { class: `k${place}` }, svg), known = question.over_time.filter((p) => p.value !== null);
    const banded = known.filter((p) => p.low !== null);
    const inside = (value) => Math.min(high, Math.max(low, value));
    if (banded.length > 1) node("polygon", { points: [...banded.map((p) => `${x(p.ratings)},${y(inside(p.high))}`), ...banded.toReversed().map((p) => `${x(p.ratings)},${y(inside(p.low))}`)].join(" "), class: "band" }, group);
    if (known.length > 1) node("polyline", { points: known.map((p) => `${x(p.ratings)},${y(inside(p.value))}`).join(" "), class: "line" }, group);
    for (const p of known) {
      const mark = node("g", {}, group);
      node("circle", { cx: x(p.ratings), cy: y(inside(p.value)), r: 8, class: "hit" }, mark);
      node("circle", { cx: x(p.ratings), cy: y(inside(p.value)), r: p === known.at(-1) ? 4.5 : 2.5, class: "dot" }, mark);
      tells(mark, `${question.question}: ${estimate(p)}\nafter ${whole(p.ratings)} ratings`);
    }
  });
  if (!points.length) node("text", { x: (left + right) / 2, y: (top + bottom) / 2, "text-anchor": "middle" }, svg, questions.length ? "No figure yet." : "No question is answered with numbers or categories.");
  return height;
};

export const reliability = (host) => {
  const list = element("ul", "legend");
  host.append(list);
  const draw = picture(host, "Krippendorff's alpha by number of ratings", lines);
  return (data) => {
    const shown = data.questions.slice(0, MOST);
    list.replaceChildren();
    shown.forEach((question, place) => {
      const item = element("li", `k${place}`, list);
      element("span", "key", item).setAttribute("aria-hidden", "true");
      const a = question.alpha;
      element("b", "", item, question.question);
      if (a.value === null) element("span", "undefined", item, ` undefined, because ${a.why_missing}`);
      else item.append(` α ${estimate(a)}`, question.icc_mean.value === null ? "" : `, ICC of the mean ${number(question.icc_mean.value)}`);
    });
    if (data.questions.length > MOST) element("li", "note", list, `and ${data.questions.length - MOST} more in the API`);
    const measured = data.fields.filter((field) => field.alpha.value !== null), others = data.fields.filter((field) => field.alpha.value === null);
    const add = (fields, words) => { if (fields.length) { const item = element("li", "note", list, words); item.title = fields.map((field) => `${field.question}: ${field.alpha.value === null ? `no alpha, because ${field.alpha.why_missing}` : `α ${estimate(field.alpha)} (MASI)`}`).join("\n"); } };
    add(measured, `Tags, α (MASI): ${measured.map((field) => `${field.question} ${number(field.alpha.value)}`).join(", ")}`);
    add(others, `Without alpha: ${others.map((field) => `${field.question} (${whole(field.n_answers)} ${field.answers === "text" ? "texts" : "answers"})`).join(", ")}`);
    draw(shown);
  };
};
