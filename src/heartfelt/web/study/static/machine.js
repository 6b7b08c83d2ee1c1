// What people made of values a machine filled in first.
import { element, estimate, whole } from "./draw.js";

export const machine = (section) => {
  const host = section.querySelector(".body");
  return (data) => {
    section.hidden = !data.fields.length;
    host.replaceChildren();
    if (section.hidden) return;
    const table = element("table", "", host), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
    const headings = ["question", "verified", "accepted", "fixed", "rejected", "planted errors accepted", "accuracy", "anchoring", "time with draft"];
    for (const words of headings) {
      element("th", words === "question" ? "" : "number", head, words).scope = "col";
    }
    for (const field of data.fields) {
      const line = element("tr", "", body);
      element("th", "", line, field.question).scope = "row";
      element("td", "number", line, whole(field.verified));
      for (const name of ["accepted", "fixed", "rejected", "planted_accepted", "accuracy", "anchoring", "time"]) {
        const cell = element("td", "number", line, field[name].value === null ? "–" : estimate(field[name], 2));
        cell.title = field[name].why_missing || field[name].why_no_interval || `${field[name].interval}`;
      }
    }
    element("p", "note", host, "Shares of verifications with 95% intervals over raters and stimuli. Planted errors are wrong values shown on purpose. Accuracy: similarity of the draft to answers given without it. Anchoring: how much nearer to the draft answers are that were given in sight of it. Time: as a multiple of the time without a draft.");
  };
};
