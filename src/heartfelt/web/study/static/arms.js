// Arms: raters and ratings of each; and how many people each screener screened out.
import { element, number, whole } from "./draw.js";

const arms = (host, rows) => {
  const table = element("table", "", host), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
  for (const words of ["arm", "weight", "raters", "complete", "rating now", "trials answered"]) {
    element("th", words === "arm" ? "" : "number", head, words).scope = "col";
  }
  const decimals = rows.every((arm) => Number.isInteger(arm.weight)) ? 0 : 2;
  for (const arm of rows) {
    const line = element("tr", "", body);
    element("th", "", line, arm.arm).scope = "row";
    for (const words of [number(arm.weight, decimals), whole(arm.raters), whole(arm.complete), whole(arm.active), `${whole(arm.ratings)} of ${whole(arm.wanted)}`]) {
      element("td", "number", line, words);
    }
  }
  element("p", "note", host, "Raters are assigned to the arm with the fewest who are complete or at work, within their stratum. Compare arms between raters.");
};

export const groups = (section) => {
  const host = section.querySelector(".body");
  return (data) => {
    const screened = Object.entries(data.screened_out);
    section.hidden = !data.arms.length && !screened.length;
    host.replaceChildren();
    if (data.arms.length) arms(host, data.arms);
    if (screened.length) element("p", "note", host, `Screened out: ${screened.map(([name, count]) => `${name} ${whole(count)}`).join(", ")}.`);
  };
};
