// Tokens for programs, and where the API is described.
import { button, element, moment } from "./draw.js";
import { copyable, dialog, field, status } from "./dialog.js";
import { base, complain, get, say, send } from "./net.js";

export const tokens = async () => {
  const box = dialog("API for programs");
  box.id = "tokens-dialog";
  const about = element("p", "", box, "Programs can read and do everything on this page: ");
  const link = element("a", "", about, "the API\u2019s description");
  link.href = `${base}/api/v1/docs`;
  const form = element("form", "", box), row = element("div", "row", form);
  const name = field(row, "A token for", "text", "", "field wide");
  name.required = true;
  name.maxLength = 100;
  name.placeholder = "nightly backup";
  element("button", "main", row, "Make a token").type = "submit";
  const feedback = status(form), made = element("div", "", box);
  element("h3", "", box, "Tokens");
  const list = element("ul", "", box);
  const refresh = async () => {
    const valid = (await get("tokens")).tokens;
    list.replaceChildren();
    if (!valid.length) element("li", "note", list, "None yet.");
    for (const token of valid) {
      const item = element("li", "", list, `${token.name}, until ${moment(token.expires)} `);
      button("Revoke", item, async () => { try { await send("DELETE", `tokens/${token.id}`); await refresh(); } catch (problem) { complain(problem, feedback); } }).setAttribute("aria-label", `Revoke ${token.name}`);
    }
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const done = await send("POST", "tokens", { name: name.value });
      made.replaceChildren();
      element("p", "", made, "Copy it now: it is not shown again.");
      copyable(made, done.token);
      say("Made.", feedback);
      name.value = "";
      await refresh();
    } catch (problem) { complain(problem, feedback); }
  });
  try { await refresh(); } catch (problem) { complain(problem, feedback); }
};
