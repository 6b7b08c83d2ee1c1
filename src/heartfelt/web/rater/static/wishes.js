// What a rater likes to have: kept in the browser; until they say, as it is at first.
const name = (what) => `heartfelt:wish:${what}`;
const here = {};

export function wish(what, atFirst = true) {
  try {
    return (localStorage.getItem(name(what)) ?? (atFirst ? "on" : "off")) === "on";
  } catch {
    return here[what] ?? atFirst;
  }
}

export function setWish(what, on) {
  here[what] = on;
  try {
    localStorage.setItem(name(what), on ? "on" : "off");
  } catch {
    // Without a store the wish lasts as long as the page.
  }
}
