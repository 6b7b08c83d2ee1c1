"use strict";
// Set before anything is painted, so that a dark page never flashes white.
(() => {
  let kept = null;
  try { kept = localStorage.getItem("heartfelt-theme"); } catch { /* a browser may keep nothing */ }
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
