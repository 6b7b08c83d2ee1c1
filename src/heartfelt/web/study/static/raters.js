// Raters ranked by joint carelessness, with exclude and restore, what that would change, and every trial of one.
import { ago, button, element, estimate, moment, number, whole } from "./draw.js";
import { copyable, dialog, field, status } from "./dialog.js";
import { complain, get, say, send } from "./net.js";
import { home, play } from "./player.js";

const short = (name) => (name.length > 12 ? `${name.slice(0, 10)}…` : name);

const cell = (row, words, className) => element("td", className || "", row, words);

// Means and alphas before and after, largest change first.
const changes = (parent, found) => {
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
  for (const one of found.alpha) row(`α ${one.question}`, one.before, one.after, 3);
  const size = (one) => (one.before?.value === null || one.after?.value === null || !one.before || !one.after ? 0 : Math.abs(one.after.value - one.before.value));
  for (const one of found.systems.toSorted((a, b) => size(b) - size(a)).slice(0, 8)) row(`mean ${one.question}, ${one.system}`, one.before, one.after, 2);
  if (found.systems.length > 8) element("p", "note", parent, `The 8 system means that change most, of ${found.systems.length}.`);
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
  const told = status(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      const done = await send("POST", `raters/${encodeURIComponent(rater.rater)}/${out ? "exclude" : "restore"}`, out ? { reason: reason.value } : undefined);
      box.close();
      say(out ? `${rater.rater} is left out; ${whole(done.slots)} slots are open again.` : `${rater.rater} is back; ${whole(done.slots)} ratings count again.`);
      reload();
    } catch (problem) { go.disabled = false; complain(problem, told); }
  });
  try {
    const found = await get(`raters/${encodeURIComponent(rater.rater)}/effect`);
    const part = element("div", "");
    element("p", "", part, out ? `${whole(found.ratings.before - found.ratings.after)} of ${whole(found.ratings.before)} ratings would no longer count; their slots open again.` : `${whole(found.ratings.after - found.ratings.before)} ratings would count again.`);
    changes(part, found);
    wait.replaceWith(part);
  } catch (problem) { wait.textContent = `${problem.message} ${problem.fix}`; }
};

// Deleting everything one person said, after the rater's id was typed.
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
  const told = status(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (typed.value.trim() !== rater.rater) { say("That is not this rater's id.", told); return; }
    go.disabled = true;
    try {
      const done = await send("POST", `raters/${encodeURIComponent(rater.rater)}/erase`);
      if (done.snapshots.length) {
        form.replaceChildren();
        element("p", "warn", form, `Erased. These earlier snapshots still contain this person; delete them: ${done.snapshots.join(", ")}`);
      } else { box.close(); say(`${rater.rater} was erased.`); }
      reload();
    } catch (problem) { go.disabled = false; complain(problem, told); }
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
  const acts = element("div", "row", box), told = status(box);
  button(rater.excluded ? "Restore…" : "Exclude…", acts, () => { box.close(); judge(rater, reload); });
  button("Link to continue", acts, async () => {
    try {
      const made = await send("POST", `raters/${encodeURIComponent(rater.rater)}/resume-link`);
      say("For this rater only, valid for 14 days:", told);
      copyable(told, made.link);
    } catch (problem) { complain(problem, told); }
  });
  button("Erase…", acts, () => { box.close(); erase(rater, reload); });
  const wait = element("p", "note", box, "Loading the trials…");
  try {
    const found = await get(`raters/${encodeURIComponent(rater.rater)}/trials`);
    wait.textContent = `${found.trials.length} trials`;
    const table = element("table", "", box), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
    for (const words of ["#", "stimulus", "kind", "answers", "seconds", "plays", "heard", "left the page", "when", "comment"]) element("th", "", head, words).scope = "col";
    for (const one of found.trials) {
      const line = element("tr", one.late ? "late" : "", body);
      cell(line, one.position ?? "–", "number");
      const what = cell(line, null);
      if (one.media) button("▶", what, () => play(one.media, one.stimulus, image), "media").setAttribute("aria-label", `Play ${one.stimulus}`);
      what.append(one.stimulus || "–");
      cell(line, one.kind + (one.late ? ", late" : ""));
      cell(line, Object.entries(one.answers).map(([name, value]) => `${name} ${value ?? "–"}`).join(", ") || one.status || "–");
      cell(line, number(one.seconds, 1), "number");
      cell(line, one.plays ?? "–", "number");
      const part = one.heard === null ? "–" : `${Math.round(100 * one.heard)}%`;
      cell(line, one.heard_flag ? `${part}, ${one.heard_flag}` : part, one.heard_flag ? "number warn" : "number");
      cell(line, one.focus_losses ?? "–", "number");
      cell(line, moment(one.at));
      cell(line, one.comment || "", "long").title = one.comment || "";
    }
  } catch (problem) { wait.textContent = `${problem.message} ${problem.fix}`; }
};

const CHIPS = 2;
const chips = (parent, one) => {
  const said = (rule) => one.reasons.filter((r) => r.startsWith(`${rule}:`)).join("\n");
  for (const rule of one.flagged_by.slice(0, CHIPS)) element("span", "chip", parent, rule).title = said(rule);
  const more = one.flagged_by.slice(CHIPS);
  if (more.length) element("span", "chip", parent, `+${more.length}`).title = more.map(said).join("\n");
};

export const raters = (host, hint, reload, image) => {
  const table = element("table", "", host), head = element("tr", "", element("thead", "", table)), body = element("tbody", "", table);
  for (const [words, kind] of [["#", "number"], ["rater"], ["evidence"], ["flagged by"], ["trials", "number"], ["state"], ["seen"], [""]]) {
    const th = element("th", kind || "", head, words);
    th.scope = "col";
    if (!words) th.append(Object.assign(document.createElement("span"), { className: "unseen", textContent: "action" }));
  }
  return (data) => {
    hint.textContent = data.raters.length ? ["Evidence in powers of ten, summed over the rules: a ranking, not a test.", ...data.notes].join(" ") : "No raters yet.";
    const most = Math.max(4, ...data.raters.map((r) => r.score || 0));
    const held = document.activeElement?.dataset?.rater, kind = document.activeElement?.className;
    const top = host.scrollTop;
    body.replaceChildren();
    for (const one of data.raters) {
      const line = element("tr", one.excluded ? "out" : "", body);
      cell(line, one.rank ?? "–", "number");
      const name = element("th", "", line);
      name.scope = "row";
      const open = button(short(one.rater), name, () => trials(one, reload, image), "link");
      open.title = one.rater;
      open.dataset.rater = one.rater;
      open.setAttribute("aria-label", `Every trial of ${one.rater}`);
      const evidence = cell(line, null, "tight");
      const bar = element("span", "evidence", evidence);
      bar.setAttribute("aria-hidden", "true");
      element("i", "", bar).style.width = `${(100 * (one.score || 0)) / most}%`;
      evidence.append(one.score === null ? "–" : number(one.score, 1));
      const why = cell(line, null, "plain chips");
      if (one.excluded && one.reason) element("span", "chip", why, `excluded: ${one.reason.length > 40 ? `${one.reason.slice(0, 38)}…` : one.reason}`).title = one.reason;
      else chips(why, one);
      cell(line, whole(one.trials), "number");
      cell(line, one.state, "tight");
      cell(line, ago(one.seen), "tight");
      const act = button(one.excluded ? "Restore" : "Exclude", cell(line, null, "number"), () => judge(one, reload));
      act.dataset.rater = one.rater;
      act.setAttribute("aria-label", `${one.excluded ? "Restore" : "Exclude"} ${one.rater}`);
    }
    host.scrollTop = top;
    if (held) [...body.querySelectorAll("button")].find((b) => b.dataset.rater === held && b.className === kind)?.focus();
  };
};
