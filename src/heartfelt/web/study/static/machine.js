// What people made of values a machine filled in first.
import { element, estimate, whole } from "./draw.js";

export const machine = (section) => {
  const host = section.querySelector(".body");
  return (data) => {
    section.hidden = !data.fields.length;
    host.replaceChildren();
    if (section.hidden) return;
    const table = element("table", "", host), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
    for (const words of ["question", "verified", "accepted", "fixed", "rejected", "planted errors accepted"]) {
      element("th", words === "question" ? "" : "number", head, words).scope = "col";
    }
    for (const field of data.fields) {
      const line = element("tr", "", body);
      element("th", "", line, field.question).scope = "row";
      element("td", "number", line, whole(field.verified));
      for (const name of ["accepted", "fixed", "rejected", "planted_accepted"]) {
        const cell = element("td", "number", line, field[name].value === null ? "–" : estimate(field[name], 2));
        cell.title = field[name].why_missing || `${field[name].interval}`;
      }
    }
    element("p", "note", host, "Shares of verifications with 95% intervals over raters and stimuli. Planted errors are wrong values shown on purpose.");
  };
};
