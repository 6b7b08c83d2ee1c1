// The pages' own texts in the rater's language.
let texts = {};

export function setWords(given) {
  texts = given;
}

export function words(key, values = {}) {
  return (texts[key] ?? key).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}
