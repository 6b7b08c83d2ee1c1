"use strict";
// What every figure and table uses: data, nodes, the tooltip, the player, and marks that show their numbers and play.
window.heartfelt = (() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  const node = (name, attributes, parent, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  };
  const element = (name, className, parent, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  };
  const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "\u2212"));

  const tip = element("div", "tip", document.body);
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - box.width - 6))}px`;
    tip.style.top = `${y + box.height + 24 > innerHeight ? Math.max(4, y - box.height - 12) : y + 16}px`;
  };
  const hideTip = () => { tip.hidden = true; };
  addEventListener("scroll", hideTip, { passive: true });

  const player = document.getElementById("player");
  const audio = document.getElementById("player-audio");
  const image = document.getElementById("player-image");
  const playable = (id) => Boolean(id) && Object.hasOwn(data.media || {}, id);
  let playing = null, heard = null;
  const stop = () => {
    audio.pause();
    player.hidden = true;
    if (playing) playing.classList.remove("playing");
    playing = heard = null;
    track();
  };
  // Plays a stimulus; ``at`` so many seconds, or on where it is.
  const play = (id, words, mark, at) => {
    if (!playable(id)) return;
    const source = data.media[id];
    if (playing) playing.classList.remove("playing");
    playing = mark;
    if (mark) mark.classList.add("playing");
    const seen = source.startsWith("data:image/") || /\.(png|jpe?g|webp|gif)$/i.test(source);
    audio.hidden = seen;
    image.hidden = !seen;
    player.hidden = false;
    const [first, ...rest] = words.split("\n");
    document.getElementById("player-title").textContent = first;
    document.getElementById("player-words").textContent = rest.filter(Boolean).join(" · ");
    if (seen) { heard = null; image.src = source; image.alt = words; audio.pause(); return; }
    if (heard !== id || at === undefined) audio.src = source;
    heard = id;
    if (at !== undefined) audio.currentTime = at;
    audio.play().catch(() => {});
    track();
  };

  // Charts over time move a cursor with the clip: ``seen`` gets seconds, or null while another one plays.
  let followers = [], tracking = 0;
  const follow = (svg, id, seen) => followers.push({ svg, id, seen });
  const track = () => {
    cancelAnimationFrame(tracking);
    followers = followers.filter(({ svg }) => svg.isConnected);
    for (const { id, seen } of followers) seen(id === heard && !player.hidden ? audio.currentTime : null);
    if (!player.hidden && !audio.paused) tracking = requestAnimationFrame(track);
  };
  for (const moved of ["play", "pause", "ended", "seeked", "timeupdate"]) audio.addEventListener(moved, track);
  document.getElementById("player-close").addEventListener("click", stop);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") { stop(); hideTip(); } });

  // A mark shows its words on hover and focus, and plays on click, Enter or Space where it is a stimulus that can be played.
  // Where marks are close (``own`` false) the picture finds the one nearest to the pointer, see nearest.
  const describe = (mark, words, stimulus, own = true) => {
    const sounds = playable(stimulus);
    mark.classList.add("mark");
    if (sounds) mark.classList.add("plays");
    mark.setAttribute("tabindex", "-1");
    mark.setAttribute("role", sounds ? "button" : "img");
    mark.setAttribute("aria-label", (sounds ? "Play " : "") + words.replaceAll("\n", ", "));
    const act = (event) => { if (sounds) play(stimulus, words, mark); else showTip(words, event.clientX, event.clientY); };
    if (own) {
      mark.addEventListener("pointermove", (event) => showTip(words, event.clientX, event.clientY));
      mark.addEventListener("pointerleave", hideTip);
      mark.addEventListener("click", act);
    }
    mark.addEventListener("activate", act);
    mark.addEventListener("focus", () => { const box = mark.getBoundingClientRect(); showTip(words, box.right, box.bottom); });
    mark.addEventListener("blur", hideTip);
    return words;
  };

  // One pointer for many close marks: ``marks`` are {x, y, mark, words, reach} in the picture's own units.
  const nearest = (svg, marks) => {
    let near = null;
    const find = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let best = null, least = Infinity;
      for (const entry of marks) {
        if (entry.mark.classList.contains("away")) continue;
        const far = Math.hypot(entry.x - point.x, entry.y - point.y);
        if (far < (entry.reach || 14) && far < least) { best = entry; least = far; }
      }
      return best;
    };
    const light = (entry) => {
      if (near && near !== entry) near.mark.classList.remove("near");
      near = entry;
      if (entry) entry.mark.classList.add("near");
    };
    svg.addEventListener("pointermove", (event) => { const entry = find(event); light(entry); if (entry) showTip(entry.words, event.clientX, event.clientY); else hideTip(); });
    svg.addEventListener("pointerleave", () => { light(null); hideTip(); });
    svg.addEventListener("click", (event) => {
      const entry = find(event);
      if (entry) entry.mark.dispatchEvent(new MouseEvent("activate", { clientX: event.clientX, clientY: event.clientY }));
    });
  };

  // One tab stop per picture; arrow keys go from mark to mark.
  const rove = (svg) => {
    const marks = [...svg.querySelectorAll(".mark")];
    if (!marks.length) return;
    marks[0].setAttribute("tabindex", "0");
    svg.addEventListener("keydown", (event) => {
      const here = marks.indexOf(document.activeElement);
      if (here < 0) return;
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const there = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : step ? (here + step + marks.length) % marks.length : null;
      if (there !== null) {
        event.preventDefault();
        marks[here].setAttribute("tabindex", "-1");
        marks[there].setAttribute("tabindex", "0");
        marks[there].focus();
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        const box = marks[here].getBoundingClientRect();
        marks[here].dispatchEvent(new MouseEvent("activate", { clientX: box.right, clientY: box.bottom }));
      }
    });
  };

  const figures = {};
  return { data, node, element, number, showTip, hideTip, play, playable, follow, describe, nearest, rove, figures };
})();
