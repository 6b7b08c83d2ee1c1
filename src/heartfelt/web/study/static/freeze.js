// Freezing to a snapshot, and taking the data away in any format.
import { element, moment, whole } from "./draw.js";
import { dialog, status } from "./dialog.js";
import { base, complain, get, say, send } from "./net.js";

const listed = (list, snapshots) => {
  list.replaceChildren();
  if (!snapshots.length) element("li", "note", list, "None yet.");
  for (const snapshot of snapshots) {
    const item = element("li", "", list, `${moment(snapshot.made)}, ${whole(snapshot.ratings)} ratings by ${whole(snapshot.raters)} raters, ${snapshot.hash.slice(0, 12)} `);
    const link = element("a", "", item, "download");
    link.href = `${base}/api/v1/snapshots/${encodeURIComponent(snapshot.name)}/download`;
    link.setAttribute("aria-label", `Download the snapshot of ${moment(snapshot.made)}`);
  }
};

// A format that cannot hold this study says so here rather than on a page of its own.
const take = async (href, feedback) => {
  say("Writing…", feedback);
  const answer = await fetch(`${base}/api/v1/${href}`, { credentials: "same-origin" });
  if (!answer.ok) { const why = await answer.json().catch(() => ({})); say(`${why.problem || "The snapshot could not be written."} ${why.fix || ""}`, feedback); return; }
  const link = element("a", "");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") || "")?.[1] || "export.zip";
  link.click();
  URL.revokeObjectURL(link.href);
  say("Written.", feedback);
};

export const freeze = async () => {
  const box = dialog("Freeze and export");
  box.id = "freezing";
  element("p", "", box, "A snapshot is the study at this moment: complete, hashed, and stored in the study folder. Raters can continue meanwhile.");
  const now = element("button", "main", element("div", "row", box), "Freeze now");
  now.type = "button";
  const feedback = status(box);
  element("h3", "", box, "Snapshots");
  const list = element("ul", "", box);
  element("h3", "", box, "Export the current ratings");
  const row = element("p", "row", box);
  const refresh = async () => listed(list, (await get("snapshots")).snapshots);
  now.addEventListener("click", async () => {
    now.disabled = true;
    say("Freezing…", feedback);
    try { const made = await send("POST", "snapshots"); say(`Frozen: ${made.name}.`, feedback); await refresh(); } catch (problem) { complain(problem, feedback); }
    now.disabled = false;
  });
  try {
    await refresh();
    const formats = (await get("formats")).formats;
    for (const [href, words, about] of [...formats.map((f) => [`export/${f.name}`, f.name, f.about]), ["ratings?as=csv", "ratings.csv", "every rating with all that was logged"], ["ratings?as=parquet", "ratings.parquet", "the same as Parquet"]]) {
      const link = element("a", "", row, words);
      link.href = `${base}/api/v1/${href}`;
      link.title = about;
      if (href.startsWith("export/")) link.addEventListener("click", (event) => { event.preventDefault(); take(href, feedback); });
    }
  } catch (problem) { complain(problem, feedback); }
};
