// "None" as an answer: a box next to a control. Ticked, it is the answer; answering otherwise clears it.
import { NONE } from "./conditions.js";
import { make } from "./dom.js";
import { words } from "./words.js";

export const noneText = (form) => (form.none === true ? words("none") : form.none);

export function offerNone(field) {
  const box = make("input", { type: "checkbox", autocomplete: "off" });
  const label = make("label", { class: "none" }, box, make("span", { text: noneText(field.form) }));
  const { changed } = field;
  const own = (name) => Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), name).get.bind(field);
  const [value, problem] = [own("value"), own("problem")];
  const set = field.set.bind(field);
  const turn = (none) => {
    box.checked = none;
    for (const part of field.body) part?.classList.toggle("unused", none && part !== label);
  };
  box.addEventListener("change", () => {
    turn(box.checked);
    // A radio button that stays chosen could not be chosen again.
    if (box.checked) for (const input of field.inputs ?? []) input.checked = false;
    changed(field, box.checked ? NONE : value());
  });
  field.changed = (same, given, ...details) => {
    const was = box.checked;
    turn(false);
    changed(same, was ? value() : given, ...details);
  };
  Object.defineProperties(field, {
    value: { get: () => (box.checked ? NONE : value()) },
    problem: { get: () => (box.checked ? null : problem()) },
    set: {
      value: (given) => {
        turn(given === NONE);
        if (given !== NONE) set(given);
      },
    },
  });
  field.body.push(label);
}
