/**
 * This program writes to sessions that were claimed for it, until it is fenced. `../frozen-writer.ts` starts and freezes
 * it. It reports the error that refused it, and does not claim again.
 */
import { createRedisLog, type SessionRef } from "@turnstream/server";
import { type Claimed, isLogError } from "@turnstream/server/internal";
import { HistoryFolder, recordLog } from "@turnstream/testkit/history/record-history.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { createTitle, createWriter } from "../session-load.ts";

export interface FrozenWriterSettings {
  readonly redisUrl: string;
  /** The folder of the history. */
  readonly history: string;
}

export interface WriteRequest extends Pick<Claimed, "writer" | "epoch"> {
  readonly ref: SessionRef;
}

export type FrozenWriterMessage =
  | { readonly ready: true }
  | { readonly refused: string; readonly code: string };

const { redisUrl, history } = readSettings() as FrozenWriterSettings;
const parent = connectParent<WriteRequest, FrozenWriterMessage>();
// The timeouts are shorter than the longest freeze, so some writers close their connection when they wake up.
const plain = await createRedisLog({ url: redisUrl, healthCheckMs: 50, responseTimeoutMs: 250 });
const log = recordLog(plain, "frozen", new HistoryFolder(history).open("frozen"));

async function writeUntilRefused({ ref, ...claimed }: WriteRequest): Promise<void> {
  const writer = createWriter(log, ref, claimed);
  try {
    for (let n = 1; ; n++) {
      await writer.write(createTitle(`${n}`));
      await writer.flush();
    }
  } catch (error) {
    parent.send({ refused: ref.session, code: isLogError(error) ? error.code : String(error) });
  }
}

parent.onMessage((request) => void writeUntilRefused(request));
parent.send({ ready: true });
