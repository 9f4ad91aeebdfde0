/**
 * `watchFiles` reports changes of files until it is aborted.
 * Invariant: it reports a change once the files have stayed the same for one interval, so that a half-written file is
 * not read. It compares times and sizes instead of watching folders: that also works in containers, and for editors
 * that replace a file. A missing file counts as changed when it appears.
 */
import { stat } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

export interface WatchOptions {
  /** Read before each look, because a load may add files. */
  readonly files: () => Iterable<string>;
  readonly signal: AbortSignal;
  readonly onChange: (changed: ReadonlySet<string>) => Promise<void>;
}

const INTERVAL_MS = 200;

/** Resolves when the signal is aborted. */
export async function watchFiles({ files, signal, onChange }: WatchOptions): Promise<void> {
  const known = new Map<string, string>();
  const changed = new Set<string>();
  while (!signal.aborted) {
    const before = changed.size;
    let isUnchanged = true;
    for (const [file, stamp] of await readStamps(files())) {
      const last = known.get(file);
      known.set(file, stamp);
      if (last === undefined || last === stamp) continue;
      changed.add(file);
      isUnchanged = false;
    }
    if (isUnchanged && before > 0) {
      await onChange(new Set(changed));
      changed.clear();
      continue;
    }
    await setTimeout(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function readStamps(files: Iterable<string>): Promise<[file: string, stamp: string][]> {
  return Promise.all(
    [...files].map(async (file) => {
      const found = await stat(file).catch(() => null);
      return [file, found === null ? "" : `${found.mtimeMs}/${found.size}/${found.ino}`] as [string, string];
    }),
  );
}
