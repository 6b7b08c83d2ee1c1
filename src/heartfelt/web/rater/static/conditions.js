// Which questions are shown after the answers so far: the page's side of show_if. The server decides the same way.
export const NONE = "(none)";

const trimmed = (value) => (typeof value === "string" ? value.trim() : value);
const isGiven = (value) => value !== undefined && value !== null && trimmed(value) !== "" && !(Array.isArray(value) && !value.length);
const number = (value) => (typeof value === "number" ? value : Number(String(value).trim().replace(",", ".")));
const tagsOf = (value, separator) => (Array.isArray(value) ? value : String(value).split(separator)).map((tag) => tag.trim()).filter(Boolean);
const same = (some, others) => some.every((tag) => others.includes(tag)) && others.every((tag) => some.includes(tag));

function passes(test, value) {
  const answered = isGiven(value);
  const plain = answered && value !== NONE;
  if (test.answered !== undefined && test.answered !== answered) return false;
  if (test.none !== undefined && (!answered || test.none === plain)) return false;
  if (test.is && !(plain && test.is.includes(String(value).trim()))) return false;
  if (test.numbers && !(plain && test.numbers.includes(number(value)))) return false;
  if (test.tags && !(plain && test.tags.some((tags) => same(tags, tagsOf(value, test.separator))))) return false;
  if (test.includes && !(plain && tagsOf(value, test.separator).some((tag) => test.includes.includes(tag)))) return false;
  if (test.above !== undefined && !(plain && number(value) > test.above)) return false;
  return test.below === undefined || (plain && number(value) < test.below);
}

export const holds = (test, value) => passes(test, value) !== Boolean(test.not);

// The questions to show, in their order: what a question that is not shown was answered with does not count.
export function visible(questions, conditions, valueOf) {
  const shown = new Set();
  for (const question of questions) {
    const tests = conditions[question] ?? [];
    if (tests.every((test) => holds(test, shown.has(test.of) ? valueOf(test.of) : undefined))) shown.add(question);
  }
  return shown;
}
