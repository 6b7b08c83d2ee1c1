// Talking to the server: everything goes through the same API that programs use.
const meta = (name) => document.querySelector(`meta[name="${name}"]`).content;
export const base = meta("heartfelt-base");
const token = meta("heartfelt-token");

export class Problem extends Error {
  constructor(status, problem, fix) { super(problem); this.status = status; this.fix = fix; }
}

const asked = async (method, path, body) => {
  const headers = { accept: "application/json", "x-heartfelt-token": token };
  if (body !== undefined) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(`${base}/api/v1/${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch {
    throw new Problem(0, "The server cannot be reached.", "It will be retried automatically.");
  }
  if (answer.status === 401) { location.assign(`${base}/study/login`); }
  const reply = answer.status === 204 ? null : await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, reply?.problem || `The server answered ${answer.status}.`, reply?.fix || "");
  return reply;
};

export const get = (path) => asked("GET", path);
export const send = (method, path, body) => asked(method, path, body ?? {});

const feedback = document.getElementById("feedback");
let fading = 0;
export const say = (words, where = feedback) => {
  where.textContent = words;
  clearTimeout(fading);
  if (where === feedback && words) fading = setTimeout(() => { feedback.textContent = ""; }, 6000);
};
export const complain = (problem, where) => say(`${problem.message} ${problem.fix || ""}`.trim(), where);
