// What a rater likes to have: kept in the browser, on unless turned off.
const name = (what) => `heartfelt:wish:${what}`;
const here = {};

export function wish(what) {
  try {
    return (localStorage.getItem(name(what)) ?? "on") === "on";
  } catch {
    return here[what] ?? true;
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
