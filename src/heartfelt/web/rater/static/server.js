// Requests to the study's server. Away: try again, nothing was decided. Refused: it was, and trying again is no use.
import { away, pause, reached } from "./connection.js";
import { words } from "./words.js";

let base = "";

export function setBase(given) {
  base = given;
}

export const address = (path) => base + path;

export class Away extends Error {}

export class Refused extends Error {
  constructor(status, problem, fix) {
    super(problem);
    Object.assign(this, { status, problem, fix });
  }
}

const PATIENCE = 20_000;
const passing = (status) => status === 408 || status === 425 || status === 429 || status >= 500;

// A request that may outlive its page; browsers allow that for small ones only.
const LASTING = 30_000;

async function once(path, body, options) {
  let response;
  const text = body === undefined ? undefined : JSON.stringify(body);
  try {
    response = await fetch(address(path), {
      method: body === undefined ? "GET" : "POST",
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: text,
      keepalive: Boolean(options.keepalive) && text.length < LASTING,
      credentials: "same-origin",
      cache: body === undefined && !options.cached ? "no-store" : "default",
      signal: AbortSignal.timeout(options.patience ?? PATIENCE),
    });
  } catch (error) {
    throw new Away(String(error));
  }
  if (passing(response.status)) throw new Away(`status ${response.status}`);
  if (!response.ok) {
    const reply = await response.json().catch(() => ({}));
    throw new Refused(response.status, reply.problem ?? words("fault"), reply.fix ?? "");
  }
  try {
    return options.cached ? await response.blob() : await response.json();
  } catch (error) {
    throw new Away(String(error));
  }
}

// One try.
export async function ask(path, body, options = {}) {
  const result = await once(path, body, options);
  reached();
  return result;
}

// As many tries as it takes; only a refusal ends them.
export async function askUntilAnswered(path, body, options = {}) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask(path, body, options);
    } catch (error) {
      if (!(error instanceof Away)) throw error;
      if (!options.quiet) away();
      await pause(tries);
    }
  }
}
