// How raters come: the open link, personal links, Prolific and MTurk, the codes, the cap, closed or open.
import { button, element, whole } from "./draw.js";
import { copyable, dialog, field, status } from "./dialog.js";
import { base, complain, get, say, send } from "./net.js";

const links = (box, study) => {
  element("h3", "", box, "Links");
  for (const [name, words] of [["open", "For anybody"], ["prolific", "For Prolific"], ["mturk", "For Mechanical Turk"]]) {
    element("p", "note", box, words);
    copyable(box, study.links[name]);
  }
};

const settings = (box, now, study, changed) => {
  const wanted_now = study.ratings_per_item;
  element("h3", "", box, "Admission");
  const form = element("form", "", box), row = element("div", "row", form), codes = element("div", "row", form);
  const open = field(row, "Open to raters", "checkbox", now.open);
  open.id = "is-open";
  const cap = field(row, "Maximum number of raters (empty: no limit)", "number", now.cap);
  cap.min = 1;
  const quota = field(row, "Ratings per item (can be raised)", "number", wanted_now);
  quota.min = wanted_now;
  const back = field(row, "Send raters back to ({code} is the code)", "text", now.return_url, "field wide");
  back.placeholder = "https://app.prolific.com/submissions/complete?cc={code}";
  const code = ["complete", "screened_out", "no_consent", "full", "partial", "review"].map((name) => field(codes, `Code: ${name.replaceAll("_", " ")}`, "text", now[`code_${name}`]));
  const screeners = Object.entries(now.code_screeners).map(([name, value]) => [name, field(codes, `Code: screened out by ${name}`, "text", value)]);
  if (study.session_codes.length) element("p", "note", form, `Codes after each session but the last: ${study.session_codes.join(", ")}`);
  const save = element("button", "main", element("div", "row", form), "Save");
  save.type = "submit";
  const feedback = status(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = { open: open.checked, cap: cap.value ? Number(cap.value) : null, return_url: back.value || null, code_complete: code[0].value, code_screened_out: code[1].value, code_no_consent: code[2].value, code_full: code[3].value, code_partial: code[4].value, code_review: code[5].value };
    if (screeners.length) wanted.code_screeners = Object.fromEntries(screeners.map(([name, input]) => [name, input.value]));
    if (Number(quota.value) > wanted_now) wanted.ratings_per_item = Number(quota.value);
    try { await send("PATCH", "settings", wanted); say("Saved.", feedback); changed(); } catch (problem) { complain(problem, feedback); }
  });
};

const people = (box) => {
  element("h3", "", box, "Participants");
  element("p", "note", box, "Recruiters' ids with their raters: to pay, reject or match people. Never part of a snapshot or an export.");
  const link = element("a", "button", element("div", "row", box), "Download CSV");
  link.href = `${base}/api/v1/participants?as=csv`;
  link.setAttribute("download", "");
};

const invite = (box) => {
  element("h3", "", box, "Personal links");
  element("p", "note", box, "Each admits one person, who can return to it on any device.");
  const form = element("form", "", box), row = element("div", "row", form);
  const count = field(row, "How many", "number", 10), note = field(row, "Note (only for you)", "text", "", "field wide");
  count.min = 1;
  count.max = 1000;
  count.required = true;
  element("button", "", row, "Make links").type = "submit";
  const feedback = status(form), out = element("div", "", box);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const made = await send("POST", "invitations", { count: Number(count.value), note: note.value || null });
      const text = made.invitations.map((invitation) => invitation.link).join("\n");
      out.replaceChildren();
      const area = element("pre", "code", out, text);
      area.tabIndex = 0;
      area.setAttribute("aria-label", "Personal links");
      button("Copy all", out, async (event) => { try { await navigator.clipboard.writeText(text); event.target.textContent = "Copied"; } catch { say("Select and copy them."); } });
      say(`${whole(made.invitations.length)} links made.`, feedback);
    } catch (problem) { complain(problem, feedback); }
  });
};

export const recruit = async (changed) => {
  const box = dialog("Recruit raters");
  box.id = "recruiting";
  try {
    const [study, now] = await Promise.all([get("study"), get("settings")]);
    settings(box, now, study, changed);
    links(box, study);
    people(box);
    invite(box);
  } catch (problem) { complain(problem, status(box)); }
};
