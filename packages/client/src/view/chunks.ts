/**
 * A long list in portions that stay as they are when something is put in front of it or behind it. Pure.
 */
export interface Portion {
  readonly key: number;
  readonly ids: readonly string[];
}

export const PORTION = 16;

/** @param numberOf rises through the list; where it doesn't, what comes stays with what is before it */
export function portionsOf(ids: readonly string[], numberOf: (id: string) => number): Portion[] {
  const portions: { key: number; ids: string[] }[] = [];
  for (const id of ids) {
    const key = Math.floor(numberOf(id) / PORTION);
    const last = portions.at(-1);
    if (last !== undefined && key <= last.key) last.ids.push(id);
    else portions.push({ key, ids: [id] });
  }
  return portions;
}

export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, n) => id === other[n]);
}
