"use strict";
// Set before anything is painted, so that a dark page never flashes white.
(() => {
  let stored = null;
  try { stored = localStorage.getItem("heartfelt-theme"); } catch { /* a browser may keep nothing */ }
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();
