/** `suggestName` finds the name that was probably meant by a misspelled one. Pure. */

/**
 * Returns the option that was probably meant: within an edit distance of two, or a name that contains the written one
 * or is part of it.
 */
export function suggestName(written: string, known: readonly string[]): string | null {
  const name = written.toLowerCase();
  const part = known.find(
    (option) => name.includes(option.toLowerCase()) || option.toLowerCase().includes(name),
  );
  const [nearest] = known
    .map((option) => ({ option, distance: editDistance(name, option.toLowerCase()) }))
    .filter(({ option, distance }) => distance <= 2 && distance < option.length / 2)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.option ?? part ?? null;
}

function editDistance(from: string, to: string): number {
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
