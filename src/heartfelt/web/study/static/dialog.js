// Dialogs: one at a time, closed by Escape, by its button, or by a click outside it.
import { button, element } from "./draw.js";

export const dialog = (title, className = "") => {
  const box = element("dialog", className, document.body);
  const head = element("h2", "", box, title);
  head.id = "dialog-title";
  box.setAttribute("aria-labelledby", head.id);
  const close = button("×", box, () => box.close(), "close");
  close.setAttribute("aria-label", "Close");
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  box.showModal();
  return box;
};
export const field = (parent, words, type, value, className = "field") => {
  const label = element("label", className, parent, words);
  const input = element("input", "", label);
  input.type = type;
  if (type === "checkbox") input.checked = value;
  else input.value = value ?? "";
  return input;
};
export const status = (parent) => {
  const made = element("p", "feedback", parent);
  made.setAttribute("role", "status");
  return made;
};
export const copyable = (parent, text) => {
  const row = element("div", "copy", parent);
  element("code", "", row, text);
  const made = button("Copy", row, async () => {
    try { await navigator.clipboard.writeText(text); made.textContent = "Copied"; } catch { made.textContent = "Select and copy it"; }
  });
  return row;
};
