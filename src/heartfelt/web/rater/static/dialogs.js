// Dialogs: native ones, which keep the focus inside and close with Escape.

// Shows a dialog; ends with what was entered, or null when it was cancelled.
export function openDialog(name, filled = {}, prepare = () => {}) {
  const dialog = document.getElementById(`dialog-${name}`);
  const form = dialog.querySelector("form");
  form.reset();
  for (const [field, value] of Object.entries(filled)) {
    const input = form.elements[field];
    if (!input) continue;
    if (input.type === "checkbox") input.checked = value;
    else input.value = value;
  }
  prepare(dialog);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = { how: dialog.returnValue };
      for (const input of form.elements) {
        if (!input.name) continue;
        if (input.type === "checkbox") given[input.name] = input.checked;
        else if (input.type !== "radio" || input.checked) given[input.name] = input.value;
      }
      resolve(["ok", "leave"].includes(dialog.returnValue) ? given : null);
    }, { once: true });
  });
}

export const dialogOpen = () => document.querySelector("dialog[open]") !== null;
