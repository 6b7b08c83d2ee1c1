// The pages' own texts in the rater's language.
let texts = {};

export function setWords(given) {
  texts = given;
}

// Letters that are written from right to left.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const rtl = () => document.documentElement.dir === "rtl";

// What is put into a sentence keeps its own direction there, whatever stands around it.
function isolated(value) {
  return rtl() || RIGHT_TO_LEFT.test(value) ? `\u2068${value}\u2069` : value;
}

export function words(key, values = {}) {
  return (texts[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => (values[name] === undefined ? all : isolated(values[name])));
}

// The shorter words where there are no keys to name, or no room to name them: on phones and in narrow windows.
export function wordsHere(key, values = {}) {
  const touch = `${key}_touch`;
  return words(texts[touch] !== undefined && matchMedia("(pointer: coarse), (max-width: 699px)").matches ? touch : key, values);
}
