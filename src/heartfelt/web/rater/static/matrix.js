// A grid of questions that share a scale: a row for each, a column for each point. On a phone the rows stand alone.
import { make } from "./dom.js";
import { noneText } from "./none.js";

export function matrix(rows, fieldset) {
  const [{ form, scale }] = rows;
  const anchors = scale.anchors ?? {};
  const columns = scale.options.map(([value, text]) => make("span", { class: "column" },
    make("b", { text }), anchors[value] ? make("small", { text: anchors[value] }) : null));
  if (form.none) columns.push(make("span", { class: "column", text: noneText(form) }));
  const caption = form.help ? make("p", { class: "caption", text: form.help }) : null;
  form.help = null;
  for (const row of rows) row.kind += " matrix-row";
  const head = make("div", { class: "matrix-head", "aria-hidden": "true" }, make("span"), make("div", { class: "columns" }, ...columns));
  const node = make("div", { class: "matrix" }, caption, head, ...rows.map(fieldset));
  node.style.setProperty("--columns", columns.length);
  node.style.setProperty("--shares", `minmax(0, ${columns.length - 1}fr) minmax(0, 1fr)`);
  return node;
}
