// Items that senior raters decide: how many wait, who decides, and their personal links.
import { button, element, whole } from "./draw.js";
import { copyable, dialog, field, status } from "./dialog.js";
import { complain, say, send } from "./net.js";

const counted = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;

const links = (shown) => {
  const box = dialog("Links for senior raters");
  element("p", "note", box, "Whoever has a link decides under its name. Revoking it ends it at once; decisions stay.");
  const form = element("form", "", box), row = element("div", "row", form);
  const note = field(row, "Note (only for you)", "text", "", "field wide");
  element("button", "main", row, "Make a link").type = "submit";
  const feedback = status(form), out = element("div", "", box);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const made = await send("POST", "adjudicators", { note: note.value || null });
      copyable(out, made.link);
      say("The link was made.", feedback);
    } catch (problem) { complain(problem, feedback); }
  });
  for (const person of shown.filter((each) => each.active)) {
    const line = element("div", "row", box);
    element("span", "", line, `${person.note || person.adjudicator}: ${counted(person.decisions, "decision")}`);
    button("Show the link", line, async () => {
      try { copyable(line, (await send("POST", `adjudicators/${person.adjudicator}/link`)).link); } catch (problem) { complain(problem, feedback); }
    });
    button("Revoke", line, async () => {
      try { await send("POST", `adjudicators/${person.adjudicator}/revoke`); line.remove(); say("Revoked.", feedback); } catch (problem) { complain(problem, feedback); }
    });
  }
};

export const adjudication = (section) => {
  const host = section.querySelector(".body");
  return (data) => {
    section.hidden = !data.used;
    host.replaceChildren();
    if (section.hidden) return;
    const line = element("p", "", host);
    element("b", "", line, whole(data.waiting));
    line.append(" waiting, ");
    element("b", "", line, whole(data.decided));
    line.append(` decided by ${counted(data.adjudicators.filter((each) => each.decisions).length, "senior rater")}`);
    button("Links for senior raters", element("div", "row", host), () => links(data.adjudicators));
  };
};
