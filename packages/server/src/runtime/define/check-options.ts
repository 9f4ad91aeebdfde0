/**
 * Whether options have the names that there are, for programs whose types nobody checks: a misspelt option would
 * otherwise do nothing, without a word. Pure; never looks at what an option holds.
 */
import { RuntimeError } from "../errors.ts";

/** Every option of a type, and whether it has to be given. The compiler holds it against the type. */
export type OptionKeys<Options> = {
  readonly [K in keyof Options]-?: object extends Pick<Options, K> ? false : true;
};

/** Throws BAD_AGENT. @param of what the options are of, for the words */
export function assertKnownOptions(
  options: unknown,
  names: Readonly<Record<string, boolean>>,
  of: string,
): void {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  const known = Object.keys(names);
  for (const [name] of given) {
    if (known.includes(name)) continue;
    const near = suggestName(name, known);
    const hint = near === null ? `there are ${known.join(", ")}` : `did you mean \`${near}\`?`;
    throw new RuntimeError("BAD_AGENT", `\`${name}\` of ${of} is not known here (${hint})`);
  }
  const missing = known.find((name) => names[name] === true && !given.some(([key]) => key === name));
  if (missing !== undefined) throw new RuntimeError("BAD_AGENT", `\`${missing}\` of ${of} is missing`);
}

/** The one that was probably meant: it is part of what was written, or the other way round, or two letters away. */
export function suggestName(written: string, known: readonly string[]): string | null {
  const name = written.toLowerCase();
  const part = known.find((one) => name.includes(one.toLowerCase()) || one.toLowerCase().includes(name));
  const [near] = known
    .map((one) => ({ one, away: lettersAway(name, one.toLowerCase()) }))
    .filter(({ one, away }) => away <= 2 && away < one.length / 2)
    .toSorted((a, b) => a.away - b.away);
  return near?.one ?? part ?? null;
}

/** How many letters have to be put in, taken out or changed. */
function lettersAway(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, n) => n);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 1; j <= to.length; j++) {
      const changed = (row[j - 1] ?? 0) + (to[j - 1] === from[i] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
