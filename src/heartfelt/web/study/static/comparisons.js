// Questions answered about several stimuli together: strengths, MUSHRA conditions, means against a reference, or ABX shares.
import { element, estimate, number, percent, picture, plusMinus, whole } from "./draw.js";
import { intervals } from "./intervals.js";

const TITLES = { abx: "Told apart (ABX)", mushra: "Conditions (MUSHRA)", reference: "Against the reference" };
const ROLES = { "hidden-reference": "hidden reference", anchor: "anchor" };
const inside = (e) => (e.low === null || e.low === undefined ? "" : ` [${percent(e.low)}, ${percent(e.high)}]`);
const ranks = (row) => (row.rank === null ? "" : row.rank_low === null || row.rank_low === row.rank_high ? `${row.rank}` : `${row.rank_low}\u2013${row.rank_high}`);

const pictured = {
  strengths: (question) => ({
    heads: ["strength", "rank"],
    rows: question.contestants.map((row) => ({
      name: row.name, estimate: row.strength, text: plusMinus(row.strength), remark: ranks(row),
      tip: `${row.name}: ${estimate(row.strength)}\n${whole(row.answers)} answers${row.rank === null ? "" : `\nrank ${row.rank}, plausibly ${row.rank_low ?? row.rank} to ${row.rank_high ?? row.rank}`}${row.best === null ? "" : `\nstrongest with probability ${percent(row.best)}`}${row.score ? `\nbest less worst per time shown: ${estimate(row.score)}` : ""}`,
    })),
  }),
  mushra: (question) => ({
    heads: ["mean", "median"], bounds: [0, 100],
    rows: question.mushra.conditions.map((row) => ({
      name: row.name, estimate: row.mean, text: plusMinus(row.mean, 1), remark: number(row.median, 0), quiet: row.role in ROLES,
      tip: `${row.name}${row.role in ROLES ? ` (${ROLES[row.role]})` : ""}: ${estimate(row.mean, 1)}\nmedian ${number(row.median, 1)}, quartiles ${row.quartiles.map((value) => number(value, 1)).join(" and ")}`,
    })),
  }),
  reference: (question) => ({
    heads: ["mean", "below the top"],
    rows: question.reference.map((row) => ({ name: row.system, estimate: row.mean, text: plusMinus(row.mean), remark: number(row.below_top.value), tip: `${row.system}: ${estimate(row.mean)}\nless the top of the scale: ${estimate(row.below_top)}` })),
  }),
  abx: (question) => ({
    heads: ["right", "p"], bounds: [0, 1], neutral: 0.5, percent: true,
    rows: question.abx.map((row) => ({
      name: row.a === "all" ? "all pairs" : `${row.a}, ${row.b}`, estimate: row.share, text: percent(row.share.value), remark: number(row.p_corrected, 3),
      tip: `${row.a === "all" ? "all pairs" : `${row.a} and ${row.b}`}: right in ${percent(row.share.value)}${inside(row.share)}; guessing gives 50%\nd\u2032 ${estimate(row.d_prime)}`,
    })),
  }),
};

const sentences = (question) => {
  const used = question.contestants.find((row) => row.strength.value !== null)?.strength.n_answers;
  const trials = used === undefined || used === question.trials ? `${whole(question.trials)} trials` : `${whole(used)} of ${whole(question.trials)} trials count (in the others two members are of one ${question.of})`;
  const out = [`${trials}, ${whole(question.raters)} raters.`];
  if (question.model) out.push(`Model: ${question.model}; 95% intervals over raters${question.of === "system" ? " and stimuli" : ""}.`);
  return [...out, ...question.notes];
};

// Whom the standard's post-screening leaves out of the conditions, and why.
const postScreening = (parent, listeners) => {
  const left = listeners.filter((listener) => listener.excluded), opened = parent.querySelector("details")?.open;
  parent.replaceChildren();
  const words = `Post-screening (ITU-R BS.1534) leaves out ${left.length || "none"} of ${listeners.length} listeners`;
  if (!left.length) { parent.textContent = `${words}.`; return; }
  const more = element("details", "", parent);
  more.open = Boolean(opened);
  element("summary", "", more, words);
  for (const listener of left) element("p", "", more, `${listener.rater}: ${listener.reason}`);
};

export const comparisons = (section, choose) => {
  const host = section.querySelector(".body"), title = section.querySelector("h2"), about = element("p", "hint", host), screened = element("div", "hint", host);
  const draw = picture(host, "Estimates with 95% intervals", intervals);
  let last = null;
  const paint = () => {
    const question = last?.questions.find((question) => question.question === choose.value) || last?.questions[0];
    if (!question) return;
    const kind = question.scale in TITLES ? question.scale : "strengths", reason = question.why_missing || question.why_no_strengths;
    title.textContent = TITLES[kind] || (question.of === "stimulus" ? "Strengths of stimuli" : "Strengths of systems");
    about.textContent = sentences(question).join(" ");
    screened.hidden = !question.mushra;
    if (question.mushra) postScreening(screened, question.mushra.listeners);
    const none = { rows: [], heads: ["", ""] };
    draw({ empty: reason ? `No figure yet, because ${reason}.` : "Too many contestants to list here; see the API.", ...(reason || (kind === "mushra" && !question.mushra) ? none : pictured[kind](question)) });
  };
  choose.addEventListener("change", paint);
  return (data) => {
    last = data;
    section.hidden = !data.questions.length;
    const names = data.questions.map((question) => question.question);
    choose.closest("label").hidden = names.length < 2;
    if (names.join() !== [...choose.options].map((option) => option.value).join()) choose.replaceChildren(...names.map((name) => new Option(name, name, false, name === choose.value)));
    paint();
  };
};
