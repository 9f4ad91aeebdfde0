/** `trimLog` removes the archived events of a session from its log, as a worker does some time after a turn. */
import { parseCursor } from "@turnstream/protocol";
import type { Backend, SessionRef } from "@turnstream/server/internal";

/** Leaves a log with at most `keep` events as it is. @returns true if it trimmed the log */
export async function trimLog(
  { store, log }: Backend,
  ref: SessionRef,
  { keep = 0 }: { readonly keep?: number } = {},
): Promise<boolean> {
  const head = await log.head(ref);
  const [last, base] = [parseCursor(head?.last), parseCursor(head?.base)];
  if (last === null || base === null || last.seq - base.seq <= keep) return false;
  return log.trim(ref, (await store.archive.header(ref)).archived);
}
