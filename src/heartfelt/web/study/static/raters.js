// Raters ranked by joint carelessness, with exclude and restore, what that would change, and every trial of one.
import { ago, button, element, estimate, moment, number, whole } from "./draw.js";
import { copyable, dialog, field, status } from "./dialog.js";
import { complain, get, say, send } from "./net.js";
import { home, play } from "./player.js";

const short = (name) => (name.length > 12 ? `${name.slice(0, 10)}…` : name);

const cell = (row, words, className) => element("td", className || "", row, words);

// Means and alphas before and after, largest change first.
const changes = (parent, effect) => {
  element("h3", "", parent, "Effect on the results");
  const table = element("table", "", parent), head = element("tr", "", element("thead", "", table));
  for (const words of ["", "now", "then", "change"]) { const th = element("th", words && "number", head, words); th.scope = "col"; }
  const body = element("tbody", "", table);
  const row = (name, before, after, digits) => {
    const line = element("tr", "", body);
    element("th", "", line, name).scope = "row";
    cell(line, estimate(before, digits), "number");
    cell(line, estimate(after, digits), "number");
    const moved = before?.value === null || after?.value === null || !before || !after ? null : after.value - before.value;
    cell(line, moved === null ? "–" : `${moved > 0 ? "+" : ""}${number(moved, 3)}`, "number");
  };
  for (const item of effect.alpha) row(`α ${item.question}`, item.before, item.after, 3);
  const size = (item) => (item.before?.value === null || item.after?.value === null || !item.before || !item.after ? 0 : Math.abs(item.after.value - item.before.value));
  for (const item of effect.systems.toSorted((a, b) => size(b) - size(a)).slice(0, 8)) row(`mean ${item.question}, ${item.system}`, item.before, item.after, 2);
  for (const item of effect.strengths.toSorted((a, b) => size(b) - size(a)).slice(0, 8)) row(`strength ${item.question}, ${item.system}`, item.before, item.after, 2);
  if (effect.systems.length > 8) element("p", "note", parent, `The 8 system means that change most, of ${effect.systems.length}.`);
};

const judge = async (rater, reload) => {
  const out = !rater.excluded, box = dialog(out ? `Exclude ${rater.rater}?` : `Restore ${rater.rater}?`);
  box.id = "judge";
  if (rater.reasons.length) {
    element("h3", "", box, "Evidence");
    const list = element("ul", "", box);
    for (const words of rater.reasons) element("li", "", list, words);
  }
  const wait = element("p", "note", box, "Computing the effect…");
  const form = element("form", "", box), row = element("div", "row", form);
  const reason = out ? field(row, "Reason (stored with the data)", "text", rater.flagged_by.length ? `careless: ${rater.flagged_by.join(", ")}` : "", "field wide") : null;
  if (reason) { reason.required = true; reason.maxLength = 500; }
  const go = element("button", "main", row, out ? "Exclude" : "Restore");
  go.type = "submit";
  const feedback = status(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      const done = await send("POST", `raters/${encodeURIComponent(rater.rater)}/${out ? "exclude" : "restore"}`, out ? { reason: reason.value } : undefined);
      box.close();
      say(out ? `${rater.rater} is left out; ${whole(done.slots)} slots are open again.` : `${rater.rater} is back; ${whole(done.slots)} ratings count again.`);
      reload();
    } catch (problem) { go.disabled = false; complain(problem, feedback); }
  });
  try {
    const effect = await get(`raters/${encodeURIComponent(rater.rater)}/effect`);
    const part = element("div", "");
    element("p", "", part, out ? `${whole(effect.ratings.before - effect.ratings.after)} of ${whole(effect.ratings.before)} ratings would no longer count; their slots open again.` : `${whole(effect.ratings.after - effect.ratings.before)} ratings would count again.`);
    changes(part, effect);
    wait.replaceWith(part);
  } catch (problem) { wait.textContent = `${problem.message} ${problem.fix}`; }
};

// Deleting everything about a person, after the rater's id was typed.
const erase = (rater, reload) => {
  const box = dialog(`Erase ${rater.rater}?`);
  box.id = "erase";
  element("p", "", box, "Everything about this person is deleted for good: answers, demographics, comments and their participant id. Only a count is left, and their slots open again. This cannot be undone.");
  const form = element("form", "", box), row = element("div", "row", form);
  const typed = field(row, "Type the rater's id to confirm", "text", "", "field wide");
  typed.required = true;
  typed.autocomplete = "off";
  const go = element("button", "main", row, "Erase");
  go.type = "submit";
  const feedback = status(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (typed.value.trim() !== rater.rater) { say("That is not this rater's id.", feedback); return; }
    go.disabled = true;
    try {
      const done = await send("POST", `raters/${encodeURIComponent(rater.rater)}/erase`);
      if (done.snapshots.length) {
        form.replaceChildren();
        element("p", "warn", form, `Erased. These earlier snapshots still contain this person; delete them: ${done.snapshots.join(", ")}`);
      } else { box.close(); say(`${rater.rater} was erased.`); }
      reload();
    } catch (problem) { go.disabled = false; complain(problem, feedback); }
  });
};

const trials = async (rater, reload, image) => {
  const box = dialog(`Rater ${rater.rater}`, "drawer");
  box.id = "drawer";
  box.addEventListener("close", home);
  const facts = [["came", moment(rater.arrived)], ["by", rater.recruiter], ["state", rater.state], ["evidence of carelessness", rater.score === null ? "–" : number(rater.score, 1)]];
  element("p", "note", box, facts.map(([name, words]) => `${name} ${words}`).join(" · "));
  if (rater.reason) element("p", "warn", box, `Excluded: ${rater.reason}`);
  for (const words of rater.reasons) element("p", "", box, words);
  const acts = element("div", "row", box), feedback = status(box);
  button(rater.excluded ? "Restore…" : "Exclude…", acts, () => { box.close(); judge(rater, reload); });
  button("Link to continue", acts, async () => {
    try {
      const made = await send("POST", `raters/${encodeURIComponent(rater.rater)}/resume-link`);
      say("For this rater only, valid for 14 days:", feedback);
      copyable(feedback, made.link);
    } catch (problem) { complain(problem, feedback); }
  });
  button("Erase…", acts, () => { box.close(); erase(rater, reload); });
  const wait = element("p", "note", box, "Loading the trials…");
  try {
    const reply = await get(`raters/${encodeURIComponent(rater.rater)}/trials`);
    const about = Object.entries(reply.about);
    if (about.length) wait.before(element("p", "note about", box, about.map(([name, fact]) => `${name.replace("_", " ")}: ${fact}`).join(" · ")));
    wait.textContent = `${reply.trials.length} trials`;
    const table = element("table", "", box), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
    for (const words of ["#", "stimulus", "kind", "answers", "seconds", "plays", "heard", "left the page", "when", "comment"]) element("th", "", head, words).scope = "col";
    for (const trial of reply.trials) {
      const line = element("tr", trial.late ? "late" : "", body);
      cell(line, trial.position ?? "–", "number");
      const what = cell(line, null);
      const present = (shown, parent, words) => {
        if (shown.media) button("▶", parent, () => play(shown.media, shown.stimulus, image), "media").setAttribute("aria-label", `Play ${shown.stimulus}`);
        parent.append(words);
      };
      if (!trial.members.length) present(trial, what, trial.stimulus || "–");
      for (const member of trial.members) {
        present(member, element("div", "", what), `${{ reference: "Reference", x: "X" }[member.kind] || member.place}: ${member.stimulus}`);
      }
      cell(line, trial.kind + (trial.late ? ", late" : ""));
      cell(line, Object.entries(trial.answers).map(([name, value]) => `${name} ${value ?? "–"}`).join(", ") || trial.status || "–");
      cell(line, number(trial.seconds, 1), "number");
      cell(line, trial.plays ?? "–", "number");
      const part = trial.heard === null ? "–" : `${Math.round(100 * trial.heard)}%`;
      cell(line, trial.heard_flag ? `${part}, ${trial.heard_flag}` : part, trial.heard_flag ? "number warn" : "number");
      cell(line, trial.focus_losses ?? "–", "number");
      cell(line, moment(trial.at));
      cell(line, trial.comment || "", "long").title = trial.comment || "";
    }
  } catch (problem) { wait.textContent = `${problem.message} ${problem.fix}`; }
};

const CHIPS = 2;
const chips = (parent, rater) => {
  const reasons = (rule) => rater.reasons.filter((r) => r.startsWith(`${rule}:`)).join("\n");
  for (const rule of rater.flagged_by.slice(0, CHIPS)) element("span", "chip", parent, rule).title = reasons(rule);
  const more = rater.flagged_by.slice(CHIPS);
  if (more.length) element("span", "chip", parent, `+${more.length}`).title = more.map(reasons).join("\n");
};

const NOTE = 140;
const remark = (hint, data) => {
  const opened = hint.querySelector("details")?.open;
  hint.textContent = data.raters.length ? "Evidence in powers of ten, summed over the rules: a ranking, not a test. " : "No raters yet.";
  const notes = data.notes.join(" ");
  if (!data.raters.length || !notes) return;
  if (notes.length <= NOTE) { hint.append(notes); return; }
  const more = element("details", "", hint);
  more.open = Boolean(opened);
  element("summary", "", more, data.notes.length === 1 ? "1 note" : `${data.notes.length} notes`);
  for (const words of data.notes) element("p", "", more, words);
};

export const raters = (host, hint, reload, image) => {
  const table = element("table", "", host), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
  for (const [words, kind] of [["#", "number"], ["rater"], ["evidence"], ["flagged by"], ["trials", "number"], ["state"], ["seen"], [""]]) {
    const th = element("th", kind || "", head, words);
    th.scope = "col";
    if (!words) th.append(Object.assign(document.createElement("span"), { className: "unseen", textContent: "action" }));
  }
  return (data) => {
    remark(hint, data);
    const most = Math.max(4, ...data.raters.map((r) => r.score || 0));
    const held = document.activeElement?.dataset?.rater, kind = document.activeElement?.className;
    const top = host.scrollTop;
    body.replaceChildren();
    for (const rater of data.raters) {
      const line = element("tr", rater.excluded ? "out" : "", body);
      cell(line, rater.rank ?? "–", "number");
      const name = element("th", "", line);
      name.scope = "row";
      const open = button(short(rater.rater), name, () => trials(rater, reload, image), "link");
      open.title = rater.rater;
      open.dataset.rater = rater.rater;
      open.setAttribute("aria-label", `Every trial of ${rater.rater}`);
      const evidence = cell(line, null, "tight");
      const bar = element("span", "evidence", evidence);
      bar.setAttribute("aria-hidden", "true");
      element("i", "", bar).style.width = `${(100 * (rater.score || 0)) / most}%`;
      evidence.append(rater.score === null ? "–" : number(rater.score, 1));
      const why = cell(line, null, "plain chips");
      if (rater.excluded && rater.reason) element("span", "chip", why, `excluded: ${rater.reason.length > 40 ? `${rater.reason.slice(0, 38)}…` : rater.reason}`).title = rater.reason;
      else chips(why, rater);
      cell(line, whole(rater.trials), "number");
      cell(line, rater.state, "tight");
      cell(line, ago(rater.seen), "tight");
      const act = button(rater.excluded ? "Restore" : "Exclude", cell(line, null, "number"), () => judge(rater, reload));
      act.dataset.rater = rater.rater;
      act.setAttribute("aria-label", `${rater.excluded ? "Restore" : "Exclude"} ${rater.rater}`);
    }
    host.scrollTop = top;
    if (held) [...body.querySelectorAll("button")].find((b) => b.dataset.rater === held && b.className === kind)?.focus();
  };
};
