/** What the model calls the tools of a source: the same every time, within the rule for names, none twice. Pure. */
import { createHash } from "node:crypto";

const MAX_NAME = 64;
const DIGITS = 8;

/**
 * @param tools by the names that the source has for them
 * @param taken names that others have already
 * @returns the name of each, in the order of `tools`
 */
export function nameTools(source: string, tools: readonly string[], taken: ReadonlySet<string>): string[] {
  const plain = tools.map((tool) => `${source}_${tool.replaceAll(/[^\w-]/g, "_")}`);
  const wishes = new Map<string, number>();
  for (const name of plain) wishes.set(name, (wishes.get(name) ?? 0) + 1);
  return plain.map((name, n) => {
    const tool = tools[n] ?? "";
    // Of several that would look alike, one whose name needed no change keeps it, wherever in the list it stands.
    const isAlone = wishes.get(name) === 1 || name === `${source}_${tool}`;
    if (isAlone && name.length <= MAX_NAME && !taken.has(name)) return name;
    const digest = createHash("sha256").update(`${source}\n${tool}`).digest("hex").slice(0, DIGITS);
    return `${name.slice(0, MAX_NAME - DIGITS - 1)}_${digest}`;
  });
}
