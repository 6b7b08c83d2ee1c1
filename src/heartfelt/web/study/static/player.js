// One player for the whole page.
import { base } from "./net.js";

const box = document.getElementById("player"), audio = document.getElementById("player-audio"), image = document.getElementById("player-image");
const stop = () => { audio.pause(); box.hidden = true; };
document.getElementById("player-close").addEventListener("click", stop);
addEventListener("keydown", (event) => { if (event.key === "Escape" && !document.querySelector("dialog[open]")) stop(); });

export const play = (media, words, seen) => {
  document.getElementById("player-title").textContent = words;
  audio.hidden = seen;
  image.hidden = !seen;
  box.hidden = false;
  // A dialog covers everything outside it, so the player moves into the one that is open.
  (document.querySelector("dialog[open]") || document.body).append(box);
  const source = `${base}/media/${media}`;
  if (seen) { audio.pause(); image.src = source; image.alt = words; }
  else { audio.src = source; audio.play().catch(() => {}); }
};
export const home = () => { if (box.parentElement !== document.body) { stop(); document.body.append(box); } };
