// Coverage against the quota: how many items have how many ratings, with what is being rated just now, and when it will be full.
import { cut, element, linear, moment, node, number, picture, tells, ticks, whole, wide } from "./draw.js";

const bars = (svg, data, width, height) => {
  const left = 40, right = width - 10, top = 30, bottom = height - 34;
  const last = Math.max(data.quota, ...data.histogram.map((h) => h.ratings), 1);
  const most = Math.max(1, ...data.histogram.map((h) => Math.max(h.units, h.units_with_leases)));
  const step = (right - left) / (last + 1), y = linear(0, most, bottom, top);
  for (const value of ticks(0, most, 4).filter(Number.isInteger)) {
    node("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "grid" }, svg);
    node("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, svg, whole(value));
  }
  const every = Math.ceil(26 / step), thin = Math.min(4, step * 0.12);
  for (const bin of data.histogram) {
    const x = left + bin.ratings * step, kind = data.adaptive || bin.ratings < data.quota ? "below" : bin.ratings === data.quota ? "full" : "over";
    const mark = node("g", {}, svg);
    node("rect", { x, y: top, width: step, height: bottom - top, class: "hit" }, mark);
    node("rect", { x: x + thin, y: y(bin.units), width: step - 2 * thin, height: bottom - y(bin.units), class: kind, rx: 2 }, mark);
    if (bin.units_with_leases && bin.units_with_leases !== bin.units) node("rect", { x: x + thin, y: y(bin.units_with_leases), width: step - 2 * thin, height: bottom - y(bin.units_with_leases), class: "ghost", rx: 2 }, mark);
    if (bin.units && step > 24) node("text", { x: x + step / 2, y: y(bin.units) - 4, "text-anchor": "middle", class: "strong" }, mark, whole(bin.units));
    if (bin.ratings % every === 0) node("text", { x: x + step / 2, y: bottom + 15, "text-anchor": "middle" }, svg, bin.ratings);
    tells(mark, `${whole(bin.units)} ${data.of} have ${bin.ratings} rating${bin.ratings === 1 ? "" : "s"}\n${whole(bin.units_with_leases)} once those being rated now are in`);
  }
  const at = left + (data.quota + 1) * step;
  if (at < right + 1) node("line", { x1: at, x2: at, y1: 15, y2: bottom, class: "quota" }, svg);
  node("text", { x: Math.min(at, right), y: 11, "text-anchor": "end", class: "strong" }, svg, `quota ${data.quota}${data.adaptive ? " on average" : ""}`);
  const caption = `complete ratings of ${data.of}`, more = `${caption} (dashed: with those coming in)`;
  node("text", { x: (left + right) / 2, y: bottom + 30, "text-anchor": "middle" }, svg, wide(more) > right - left ? cut(caption, right - left) : more);
  return height;
};

const share = (svg, data, width) => {
  const x = linear(0, Math.max(1, data.wanted), 0, width), done = x(Math.min(data.complete, data.wanted)), held = x(Math.min(data.complete + data.leased, data.wanted));
  const pattern = node("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, node("defs", {}, svg));
  node("rect", { width: 5, height: 5, class: "hatch-ground" }, pattern);
  node("line", { x1: 0, x2: 0, y1: 0, y2: 5, class: "hatch" }, pattern);
  node("rect", { x: 0, y: 2, width, height: 12, rx: 3, class: "rest" }, svg);
  node("rect", { x: 0, y: 2, width: done, height: 12, rx: 3, class: "full" }, svg);
  node("rect", { x: done, y: 2, width: held - done, height: 12, class: "leased" }, svg);
  svg.setAttribute("aria-hidden", "true");
  return 16;
};

export const forecast = (data) => {
  if (data.complete >= data.wanted) return data.adaptive ? `All ratings are in; the study chose which ${data.of} got more.` : `All ${data.of} have their ratings.`;
  if (data.finish) return `At ${number(data.per_hour, data.per_hour < 10 ? 1 : 0)} trials per hour it will be complete by ${moment(data.finish)}.`;
  return `No forecast: ${data.why_no_finish}.`;
};

export const coverage = (host) => {
  const words = element("p", "progress-words");
  const strip = element("div", "strip", host);
  let now = null;
  const paint = () => {
    strip.replaceChildren();
    const width = Math.round(strip.clientWidth) || 300, svg = node("svg", {}, strip);
    svg.setAttribute("viewBox", `0 0 ${width} ${share(svg, now, width)}`);
    svg.setAttribute("height", 16);
  };
  host.append(words);
  const draw = picture(host, "Items by number of complete ratings", bars);
  return (data) => {
    now = data;
    paint();
    words.replaceChildren();
    const extra = data.extra ? [`${whole(data.extra)} beyond the quota`] : [];
    for (const text of [`${whole(data.complete)} of ${whole(data.wanted)} trials answered`, ...extra, `${whole(data.leased)} being rated now`, forecast(data)]) element("span", "", words, text);
    draw(data);
  };
};
