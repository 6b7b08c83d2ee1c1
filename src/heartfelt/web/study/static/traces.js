// Questions answered while listening: how far the raters' traces agree, and who lags behind.
import { element, estimate, number, whole } from "./draw.js";

const HEADINGS = ["question", "raters", "traces", "two raters (r)", "rater and the others (r)", "ceiling (r)", "never moved", "copies", "lags from – to, seconds"];
const lagged = (lags) => {
  const values = Object.values(lags).map((lag) => lag.value).filter((value) => value !== null);
  return values.length ? `${number(Math.min(...values), 1)} – ${number(Math.max(...values), 1)}` : "–";
};

export const traces = (section) => {
  const host = section.querySelector(".body");
  return (data) => {
    section.hidden = !data.questions.length;
    host.replaceChildren();
    if (section.hidden) return;
    const table = element("table", "", host), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
    for (const words of HEADINGS) element("th", words === "question" ? "" : "number", head, words).scope = "col";
    for (const question of data.questions) {
      const line = element("tr", "", body);
      element("th", "", line, question.question).scope = "row";
      element("td", "number", line, whole(question.raters));
      element("td", "number", line, whole(question.traces));
      for (const part of ["pairwise", "leave_one_out", "ceiling"]) {
        const figure = question[part];
        element("td", "number", line, figure.value === null ? "–" : estimate(figure)).title = figure.why_missing || figure.why_no_interval || figure.interval || "";
      }
      element("td", "number", line, whole(question.constant));
      element("td", "number", line, whole(question.duplicate));
      element("td", "number", line, lagged(question.lags));
    }
    element("p", "note", host, "Correlations over time, means over stimuli with 95% intervals.");
  };
};
