// Whether the server can be reached, told calmly in one line.
import { find } from "./dom.js";
import { words } from "./words.js";

let state = "ok";
let hiding = 0;

function show(text, kind) {
  const banner = find("#banner");
  clearTimeout(hiding);
  banner.textContent = text;
  banner.dataset.kind = kind;
  banner.hidden = false;
}

export function hideBanner() {
  find("#banner").hidden = true;
}

export function away() {
  state = navigator.onLine ? "away" : "offline";
  show(words(state), state);
}

export function reached() {
  if (state === "ok") return;
  state = "ok";
  show(words("back"), "ok");
  hiding = setTimeout(hideBanner, 4000);
}

export function notice(text, kind = "ok", seconds = 6) {
  show(text, kind);
  hiding = setTimeout(() => (state === "ok" ? hideBanner() : away()), seconds * 1000);
}

// Waits before trying again, less when the browser says that it is back.
export function pause(tries) {
  const seconds = Math.min(15, 0.5 * 2 ** tries) * (0.75 + Math.random() / 2);
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    addEventListener("online", done);
  });
}

export function watch() {
  addEventListener("offline", away);
  addEventListener("online", () => {
    if (state === "offline") reached();
  });
}
