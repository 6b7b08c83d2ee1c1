"use strict";
// The sample that is open: media, what was sent, what came back, what it was read as, and the label. All of it is put in as text.
(({ data, element, number }) => {
  const host = document.querySelector("[data-list=samples]"), pane = document.getElementById("detail");
  const shards = new Map(), waiting = new Map(), rows = data.samples.rows;
  let shown = null;

  // Details are in files of a few samples each, loaded when one of them is opened.
  window.heartfeltShard = (place, content) => { shards.set(place, content); for (const go of waiting.get(place) || []) go(content); waiting.delete(place); };
  const shard = (place) => new Promise((go) => {
    if (shards.has(place)) { go(shards.get(place)); return; }
    if (waiting.has(place)) { waiting.get(place).push(go); return; }
    waiting.set(place, [go]);
    const script = document.createElement("script");
    script.src = `data/${place}.js`;
    script.addEventListener("error", () => { waiting.delete(place); go(null); });
    document.head.append(script);
  });

  // Characters that turn the direction of text are shown by their number.
  const visible = (text) => String(text).replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `⟨U+${mark.codePointAt(0).toString(16).toUpperCase()}⟩`);
  const fact = (list, name, value) => {
    if (value === null || value === undefined || value === "") return;
    const entry = element("div", String(value).length > 60 ? "whole" : "", list);
    element("dt", "", entry, name);
    element("dd", "", entry, visible(value));
  };
  const block = (parent, title, text, none, place = "") => {
    if (!text && !none) return;
    element("h4", "", parent, title);
    if (!text) { element("p", "absent", parent, none); return; }
    const raw = element("pre", "raw", parent, visible(text));
    raw.tabIndex = 0;
    raw.setAttribute("role", "region");
    raw.setAttribute("aria-label", title + place);
  };
  const medium = (parent, name) => {
    const source = (data.media || {})[name];
    if (!source) return;
    if (/\.(png|jpe?g|webp|gif|avif|bmp|svg)$/i.test(source)) {
      const image = element("img", "stimulus", parent);
      image.src = source;
      image.alt = `The image ${name}`;
    } else {
      const player = element(/\.(mp4|webm|mov|mkv)$/i.test(source) ? "video" : "audio", "stimulus", parent);
      player.controls = true;
      player.preload = "metadata";
      player.src = source;
      player.setAttribute("aria-label", name);
    }
  };
  const pretty = (text) => { try { return JSON.stringify(JSON.parse(text), null, 1); } catch { return text; } };
  const percent = (text) => { try { return Object.entries(JSON.parse(text)).map(([name, share]) => `${name} ${number(100 * share, 0)}%`).join(", "); } catch { return text; } };

  const exchange = (parent, call, place, many, repeated) => {
    const part = element("section", "exchange", parent);
    const when = `${call.at.replace("T", " ").slice(0, 19)} UTC`;
    element("h3", "", part, many > 1 ? `Request ${place + 1} of ${many}${call.repeat || repeated ? `, repeat ${call.repeat + 1}` : place ? ", earlier" : ", the answer was read from it"}` : "Request");
    const facts = element("dl", "facts", part);
    fact(facts, "sent", call.cached ? `${when}, answered from the cache` : when);
    fact(facts, "status", call.status);
    fact(facts, "form", call.form);
    fact(facts, "stopped because", call.finish_reason);
    fact(facts, "not usable because", call.lost);
    fact(facts, "tokens", call.input_tokens === null ? null : `${call.input_tokens} in, ${call.output_tokens ?? "–"} out`);
    fact(facts, "cost", call.cost === null ? null : `${Number(call.cost.toPrecision(4))}${call.questions > 1 ? `, for ${call.questions} questions` : ""}`);
    fact(facts, "seconds", call.seconds === null ? null : number(call.seconds, 2));
    const where = many > 1 ? `, request ${place + 1}` : "";
    block(part, "What was sent", call.prompt, "This run did not record what was sent.", where);
    block(part, "Reasoning", call.reasoning, "", where);
    block(part, "What came back", call.completion && pretty(call.completion), "Nothing came back.", where);
  };

  const open = async (index, moved) => {
    shown = index;
    for (const line of host.querySelectorAll("tr.playing")) line.classList.remove("playing");
    host.querySelector(`[data-row="${index}"]`)?.closest("tr").classList.add("playing");
    const content = await shard(Math.floor(index / data.shard));
    if (shown !== index) return;
    pane.replaceChildren();
    const sample = content && content.samples[index % data.shard];
    if (!sample) { element("p", "absent", pane, "The details of this sample are missing: the folder data is incomplete."); return; }
    history.replaceState(null, "", `#sample-${index}`);
    element("h3", "", pane, visible(sample.stimulus));
    const parts = data.media?.[sample.stimulus] ? [sample.stimulus] : sample.stimulus.split("|");
    for (const part of parts) medium(pane, part);
    const links = parts.filter((part) => data.links[part]);
    if (links.length) {
      const line = element("p", "", pane);
      links.forEach((part) => { element("a", "button", line, links.length > 1 ? `Page of ${part}` : "Page of the stimulus").href = data.links[part]; });
    }
    const outcome = element("dl", "facts side", pane);
    fact(outcome, "label", rows[index][3]);
    fact(outcome, sample.model, sample.problem ? `failed: ${sample.problem}` : sample.answer ?? number(sample.value ?? sample.score, 2));
    fact(outcome, sample.value === null && ["numbers", "ordinal", "strengths"].includes(sample.kind) ? "ranks off" : "off by", sample.off === null ? null : number(sample.off, 2));
    const facts = element("dl", "facts", pane);
    fact(facts, "question", data.questions[sample.question] ? `${sample.question}: ${data.questions[sample.question]}` : sample.question);
    for (const part of parts) fact(facts, parts.length > 1 ? `prompt of ${part}` : "prompt", data.prompts[part]);
    for (const name of ["system", "intent", "note", "flag"]) fact(facts, name, sample[name]);
    fact(facts, "value", sample.answer && sample.value !== null ? number(sample.value, 2) : null);
    fact(facts, "score", sample.score === null ? null : number(sample.score, 3));
    fact(facts, "its own interval", sample.low === null ? null : `${number(sample.low, 2)} to ${number(sample.high, 2)}`);
    fact(facts, "probabilities", sample.shares && percent(sample.shares));
    fact(facts, "members", sample.members);
    fact(facts, "in both orders", sample.orders);
    fact(facts, "repeats", sample.repeats.join(", "));
    fact(facts, "SD of the repeats", sample.spread === null ? null : number(sample.spread, 2));
    fact(facts, "agreement of the repeats", sample.agreement === null ? null : `${number(100 * sample.agreement, 0)}%`);
    fact(facts, "tokens", sample.input_tokens === null ? null : `${sample.input_tokens.toLocaleString("en")} in, ${sample.output_tokens?.toLocaleString("en") ?? "–"} out`);
    fact(facts, "cost", sample.cost === null ? null : Number(sample.cost.toPrecision(4)));
    fact(facts, "attempts", sample.attempts);
    fact(facts, "seconds", sample.seconds === null ? null : number(sample.seconds, 2));
    fact(facts, "reason", sample.reason);
    if (sample.errors.length) {
      element("h4", "", pane, "Earlier attempts");
      const list = element("ol", "", pane);
      for (const error of sample.errors) element("li", "", list, visible(error));
    }
    const others = rows.map((row, place) => [row, place]).filter(([row, place]) => place !== index && row[0] === rows[index][0] && row[2] === rows[index][2]);
    if (others.length) {
      element("h4", "", pane, "Other models on the same question");
      const list = element("ul", "others", pane);
      for (const [row, place] of others) {
        const entry = element("li", "", list);
        element("span", "swatch", entry).style.background = data.samples.colours[row[1]];
        const button = element("button", "choose", entry, row[1]);
        button.type = "button";
        button.addEventListener("click", () => open(place, true));
        entry.append(`: ${visible(row[4])}${row[5] === null ? "" : ` (error ${number(row[5], 0)}%)`}`);
      }
    }
    sample.exchanges.forEach((id, place) => exchange(pane, content.exchanges[id], place, sample.exchanges.length, sample.repeats.length > 0));
    if (!sample.exchanges.length) element("p", "absent", pane, "No request is recorded: this model runs without a server, or the run is from an earlier version.");
    pane.scrollTop = 0;
    if (moved) { pane.focus({ preventScroll: true }); if (innerWidth <= 960) pane.scrollIntoView({ block: "start" }); }
  };

  host.addEventListener("chosen", (event) => open(event.detail, document.activeElement?.closest("[data-list]") !== host || innerWidth <= 960));
  const wanted = /^#sample-(\d+)$/.exec(location.hash), search = /^#find=(.+)$/.exec(location.hash);
  if (wanted && rows[Number(wanted[1])]) open(Number(wanted[1]), false);
  if (search) { const input = host.querySelector("input[type=search]"); input.value = decodeURIComponent(search[1]); input.dispatchEvent(new Event("input")); }
})(window.heartfelt);
