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
  const told = status(form), made = element("div", "", box);
  element("h3", "", box, "Tokens");
  const list = element("ul", "", box);
  const refresh = async () => {
    const found = (await get("tokens")).tokens;
    list.replaceChildren();
    if (!found.length) element("li", "note", list, "None yet.");
    for (const one of found) {
      const item = element("li", "", list, `${one.name}, until ${moment(one.expires)} `);
      button("Revoke", item, async () => { try { await send("DELETE", `tokens/${one.id}`); await refresh(); } catch (problem) { complain(problem, told); } }).setAttribute("aria-label", `Revoke ${one.name}`);
    }
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const done = await send("POST", "tokens", { name: name.value });
      made.replaceChildren();
      element("p", "", made, "Copy it now: it is not shown again.");
      copyable(made, done.token);
      say("Made.", told);
      name.value = "";
      await refresh();
    } catch (problem) { complain(problem, told); }
  });
  try { await refresh(); } catch (problem) { complain(problem, told); }
};
