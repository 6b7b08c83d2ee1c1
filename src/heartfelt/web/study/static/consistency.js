// What comparisons say about how they were made: the effect of order, agreement between raters, and each rater's consistency.
import { element, estimate, number, percent, whole } from "./draw.js";

const LISTED = 200;
const STRENGTHS = ["choice", "preference", "rank", "best-worst"];
const PAIRS = ["choice", "preference"];
const SIDE_P = 0.01;
const shareOf = (e) => (e.value === null ? `undefined, because ${e.why_missing}` : percent(e.value) + (e.low === null || e.low === undefined ? "" : ` [${percent(e.low)}, ${percent(e.high)}]`));
const probability = (p) => (p === null || p === undefined ? "" : p < 0.001 ? "p < .001" : `p = ${p.toFixed(3).replace("0.", ".")}`);

const facts = (question) => {
  const out = [];
  if (PAIRS.includes(question.scale)) {
    const order = question.order;
    out.push(["First of two preferred", order ? [shareOf(order.first_share), probability(order.p)].filter(Boolean).join(", ") : "undefined, because the order was not recorded or no pair came in both orders"]);
  }
  if (question.agreement) {
    out.push(["Two answers to a pair agree", shareOf(question.agreement.two_answers)]);
    out.push(["Krippendorff\u2019s \u03b1 of pairs", estimate(question.agreement.alpha)]);
  }
  return out;
};

const rows = (parent, question) => {
  const list = question.consistency.toSorted((a, b) => (a.agreement ?? 2) - (b.agreement ?? 2));
  if (!list.length) {
    element("p", "note", parent, "No rater\u2019s consistency yet: it needs two raters or more, and at most 60 contestants.");
    return;
  }
  const table = element("table", "", parent), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
  for (const [words, hint] of [["rater", ""], ["with others", "share of decided comparisons in line with the strengths fitted without this rater"], ["circular", "circular triads (a over b, b over c, c over a) of those judged completely"], ["first", "share of first choices"]]) {
    const th = element("th", words === "rater" ? "" : "number", head, words);
    th.scope = "col";
    th.title = hint;
  }
  for (const rater of list.slice(0, LISTED)) {
    const line = element("tr", "", body), name = element("th", "", line, rater.rater.length > 12 ? `${rater.rater.slice(0, 10)}…` : rater.rater);
    name.scope = "row";
    name.title = `${rater.rater}: ${whole(rater.comparisons)} comparisons, ${whole(rater.ties)} ties`;
    element("td", "number", line, percent(rater.agreement)).title = rater.p_chance === null ? "" : `so much or more by guessing: ${probability(rater.p_chance)}`;
    element("td", "number", line, rater.triads ? `${whole(rater.circular)} of ${whole(rater.triads)}` : "–").title = rater.p_guessing === null ? "" : `so few by guessing: ${probability(rater.p_guessing)}`;
    const odd = rater.p_side !== null && rater.p_side < SIDE_P;
    element("td", odd ? "number warn" : "number", line, percent(rater.first_share)).title = rater.p_side === null ? "" : `differs from the others: ${probability(rater.p_side)}`;
  }
  if (list.length > LISTED) element("p", "note", parent, `The ${LISTED} who agree least, of ${whole(list.length)}.`);
};

export const consistency = (section, choose) => {
  const host = section.querySelector(".body");
  let last = null;
  const paint = () => {
    const question = last?.questions.find((question) => question.question === choose.value) || last?.questions[0];
    section.hidden = !question || !STRENGTHS.includes(question.scale);
    if (section.hidden) return;
    const top = host.scrollTop;
    host.replaceChildren();
    if (question.why_missing) { element("p", "note", host, `No figure yet, because ${question.why_missing}.`); return; }
    const list = element("ul", "legend", host);
    for (const [name, words] of facts(question)) {
      const item = element("li", "", list);
      element("b", "", item, name);
      item.append(` ${words}`);
    }
    rows(host, question);
    host.scrollTop = top;
  };
  choose.addEventListener("change", paint);
  return (data) => { last = data; paint(); };
};
