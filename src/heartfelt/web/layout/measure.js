// Looks at the page as it is drawn and names every text that cannot be read: texts over one another, cut off, outside their
// box or outside the window, or broken over many lines in the middle of a word. One expression: a function without arguments.
() => {
  const SLACK = 1.5; // pixels, for rounding
  const UNREAD = ".skip, dialog:not([open]), script, style, template, option, .name, #announcement";
  const BOXES = "button, .option, .chip, .question, .matrix, .gridded, .card, .aside, .player, .setplayer, .trace-strip, .trace-plane, .tile, .row, .fact, dialog";
  const problems = [];
  const clean = (text) => text.replace(/\s+/g, " ").trim();
  const report = (text, problem) => problems.push([clean(text), problem]);

  const shown = (element) => element.checkVisibility({ checkOpacity: false, checkVisibilityCSS: true });
  // Texts for screen readers only are clipped to nothing.
  const hidden = (element) => {
    for (let outer = element; outer; outer = outer.parentElement) if (getComputedStyle(outer).clipPath !== "none") return true;
    return element.closest(UNREAD) !== null;
  };

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !shown(element) || hidden(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0 && box.height > 0);
    if (boxes.length) texts.push({ node, element, boxes, text: node.data });
  }

  // What clips a text on its way up to the page; areas that scroll show it all.
  const clipped = ({ element, boxes }) => {
    for (let outer = element; outer && outer !== document.body; outer = outer.parentElement) {
      const style = getComputedStyle(outer);
      const [x, y] = [style.overflowX, style.overflowY].map((value) => value === "hidden" || value === "clip");
      const ellipsis = style.textOverflow === "ellipsis" && outer.scrollWidth > outer.clientWidth + SLACK;
      if (!x && !y && !ellipsis) continue;
      const box = outer.getBoundingClientRect();
      const out = boxes.some((line) => (x && (line.left < box.left - SLACK || line.right > box.right + SLACK))
        || (y && (line.top + line.height * 0.25 < box.top - SLACK || line.bottom - line.height * 0.25 > box.bottom + SLACK)));
      if (out || ellipsis) return true;
    }
    return false;
  };

  // A word that is broken over three or more lines; where words are not set apart by spaces there is none.
  const broken = ({ node, text }) => [...text.matchAll(/[^\s\u3000-\u9fff\uac00-\ud7af\uff00-\uffef/–-]{4,}/gu)].some((word) => {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 2;
  });

  for (const drawn of texts) {
    const { element, boxes, text } = drawn;
    if (clipped(drawn)) report(text, "is cut off");
    else if (boxes.some((line) => line.left < -SLACK || line.right > innerWidth + SLACK)) report(text, "runs out of the window");
    else {
      const outer = element.closest(BOXES);
      const box = outer?.getBoundingClientRect();
      if (box && boxes.some((line) => line.left < box.left - SLACK || line.right > box.right + SLACK)) report(text, "runs out of its box");
    }
    if (broken(drawn)) report(text, "is broken in the middle of a word, over more than two lines");
  }

  // Lines are a little higher than their letters: those that touch are not over one another.
  const core = (box) => ({ left: box.left + SLACK, right: box.right - SLACK, top: box.top + box.height * 0.22, bottom: box.bottom - box.height * 0.22 });
  // What has been scrolled away lies under nothing.
  const view = ({ element }) => {
    const seen = { top: -Infinity, bottom: Infinity };
    for (let outer = element; outer && outer !== document.body; outer = outer.parentElement) {
      if (getComputedStyle(outer).overflowY === "visible") continue;
      const box = outer.getBoundingClientRect();
      Object.assign(seen, { top: Math.max(seen.top, box.top), bottom: Math.min(seen.bottom, box.bottom) });
    }
    return seen;
  };
  const within = (box, seen) => ({ ...box, top: Math.max(box.top, seen.top), bottom: Math.min(box.bottom, seen.bottom) });
  const cores = texts.flatMap((drawn) => drawn.boxes.map((box) => ({ ...drawn, box: within(core(box), view(drawn)) })))
    .filter(({ box }) => box.bottom > box.top).sort((upper, lower) => upper.box.top - lower.box.top);
  const seen = new Set();
  cores.forEach((upper, index) => {
    for (let next = index + 1; next < cores.length && cores[next].box.top < upper.box.bottom; next += 1) {
      const lower = cores[next];
      if (lower.node === upper.node || lower.box.left >= upper.box.right || upper.box.left >= lower.box.right) continue;
      const pair = [clean(upper.text), clean(lower.text)];
      const key = pair.join("\0");
      if (seen.has(key)) continue;
      seen.add(key);
      report(upper.text, `overlaps “${pair[1].slice(0, 60)}”`);
    }
  });

  const page = document.documentElement;
  if (page.scrollWidth > innerWidth + 1) report(document.title, "stands on a page that is wider than the window");
  return problems;
}
