/**
 * `turnFiles` returns the files that a turn must read, with the records that earlier turns already have. It does not
 * fetch anything.
 *
 * Invariant: a retry reads the files of the message of the turn that it retries, through a chain of retries. `known`
 * has the same indexes as `files`, so no file is read twice.
 */
import { type FileRef, restoreTurn } from "@turnstream/protocol";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { type FileRecord, fileKey } from "../attempt/journal-entries.ts";
import { defined } from "../../util/defined.ts";

interface FilesToRead {
  readonly files: readonly FileRef[];
  readonly known: ReadonlyMap<number, FileRecord>;
}

/** Only the last turn can be retried, so the turns of a chain of retries are consecutive. */
const PAGE = 20;

export async function turnFiles({ context, ref, row }: TurnAttempt): Promise<FilesToRead> {
  const { store } = context;
  const chain: string[] = [];
  let tried = row.retries;
  let files = row.message?.files ?? [];
  let before: number | undefined;
  while (tried !== null) {
    const page = await store.turns.list(ref, { limit: PAGE, ...defined({ before }) });
    for (const { id, snapshot } of page) {
      if (id !== tried) continue;
      const { message, retries } = restoreTurn(snapshot);
      chain.push(id);
      files = message?.files ?? [];
      tried = retries;
    }
    before = page.at(-1)?.start;
    if (page.length < PAGE) break;
  }
  const entries = files.length === 0 || chain.length === 0 ? [] : await store.journal.retained(ref, chain);
  const records = new Map(entries.map(({ key, value }) => [key, value as unknown as FileRecord]));
  const known = files.flatMap((_, n) => {
    const record = records.get(fileKey(n));
    return record === undefined ? [] : [[n, record] as const];
  });
  return { files, known: new Map(known) };
}
