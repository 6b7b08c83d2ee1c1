// System means with intervals, and how many more ratings a wanted precision takes; or the shares of categories, which have no mean.
import { estimate, percent, picture, plain, plusMinus, whole } from "./draw.js";
import { intervals } from "./intervals.js";

const needs = (row) => {
  if (row.needed.value === null) return { short: row.mean.value === null ? "" : "more stimuli", long: row.needed.why_missing };
  return row.needed.value === 0 ? { short: "reached", long: "the wanted precision is reached" } : { short: `+${whole(row.needed.value)}`, long: `about ${whole(row.needed.value)} more ratings` };
};
const meanRow = (row, precision) => {
  const more = needs(row);
  return {
    name: row.system, estimate: row.mean, text: plusMinus(row.mean), remark: more.short,
    tip: `${row.system}: ${estimate(row.mean)}\n${whole(row.ratings)} ratings of ${whole(row.stimuli)} stimuli\nfor ±${plain(precision)}: ${more.long}`,
  };
};
const shareRow = (row, total) => ({
  name: row.category, estimate: row.share, text: percent(row.share.value), remark: row.intended_share === null || row.intended_share === undefined ? "" : percent(row.intended_share),
  tip: `${row.category}: most raters\u2019 answer to ${whole(row.n_stimuli)} of ${whole(total)} stimuli\n${percent(row.share.value)} [${percent(row.share.low)}, ${percent(row.share.high)}]`,
});

export const systems = (section, choose, precision, study) => {
  const host = section.querySelector(".body"), title = section.querySelector("h2"), wanted = precision.closest("label");
  const draw = picture(host, "Mean rating of each system, or share of each category", intervals);
  let means = null, shares = null, answered = false;
  const emptyWords = () => {
    if (!answered) return "No answers yet.";
    const values = study.questions.some((question) => !["text", "comparison"].includes(question.level));
    return values ? "The stimuli name no systems, so there are no means to compare." : "No question is answered with numbers or categories.";
  };
  const paint = () => {
    if (!means) return;
    const categories = shares.find((question) => question.question === choose.value);
    title.textContent = categories ? "Shares of categories" : "System means";
    wanted.hidden = Boolean(categories);
    if (categories) {
      const rows = categories.rows.map((row) => shareRow(row, categories.n_stimuli));
      draw({ rows, heads: ["stimuli", rows.some((row) => row.remark) ? "intended" : ""], bounds: [0, 1], percent: true, empty: "No answers yet." });
      return;
    }
    const list = means.systems.filter((row) => row.question === choose.value).toSorted((a, b) => (b.mean.value ?? -1e9) - (a.mean.value ?? -1e9));
    draw({ rows: list.map((row) => meanRow(row, means.precision)), heads: ["mean", `for ±${plain(means.precision)}`], bounds: list[0]?.bounds, empty: emptyWords() });
  };
  choose.addEventListener("change", paint);
  // Questions in ``elsewhere`` have their figures in another panel.
  return (data, categories, elsewhere, some) => {
    means = data;
    shares = categories.questions;
    answered = some;
    const nominal = shares.map((question) => question.question);
    const names = [...nominal, ...new Set(data.systems.map((row) => row.question).filter((name) => !elsewhere.has(name) && !nominal.includes(name)))];
    section.hidden = elsewhere.size > 0 && !names.length;
    choose.closest("label").hidden = names.length < 2;
    if (names.join() !== [...choose.options].map((option) => option.value).join()) {
      const held = choose.value;
      choose.replaceChildren(...names.map((name) => new Option(name, name, false, name === held)));
    }
    paint();
  };
};
