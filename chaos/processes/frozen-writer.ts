/**
 * This program appends to several sessions continuously, each under an epoch that it claims on request, until it is
 * fenced. `../frozen-writer.ts` starts and freezes it. It reports the error that refused it, and does not claim again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog, type SessionRef } from "@turnstream/server";
import { Writer } from "@turnstream/server/internal";
import { isLogError, type Log } from "@turnstream/server/ports";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { createTitle } from "../ledger.ts";

export interface FrozenWriterSettings {
  readonly redisUrl: string;
}

/** Claims each session under its epoch, then writes. */
export interface WriteRequest {
  readonly claims: readonly SessionClaim[];
}

export interface SessionClaim {
  readonly ref: SessionRef;
  readonly epoch: number;
  readonly writer: string;
  /** True to write through a `Writer`, false to call `append` directly. */
  readonly usesWriter: boolean;
}

export interface Refusal {
  readonly refused: string;
  readonly code: string;
  readonly epoch: number | null;
  /** How many events were acknowledged before the refusal. */
  readonly acknowledged: number;
}

export type FrozenWriterMessage = { readonly ready: true } | { readonly claimed: true } | Refusal;

const RETRY_MS = 5;
const parent = connectParent<WriteRequest, FrozenWriterMessage>();

async function claim(log: Log, { ref, epoch, writer }: SessionClaim): Promise<void> {
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  for (let isRetry = false; ; isRetry = true) {
    try {
      await log.claim(ref, { epoch, writer, event, archivedUpTo: "0-0", isRetry });
      return;
    } catch (error) {
      if (!isLogError(error) || error.code !== "UNAVAILABLE") throw error;
    }
  }
}

async function appendAll(
  log: Log,
  { ref, epoch, writer }: SessionClaim,
  onAcknowledged: () => void,
): Promise<never> {
  for (let counter = 1; ; counter++) {
    for (let repeat = false; ; repeat = true) {
      try {
        await log.append(ref, {
          epoch,
          writer,
          counter,
          events: [createTitle(`${counter}`)],
          isRetry: repeat,
        });
        onAcknowledged();
        break;
      } catch (error) {
        if (!isLogError(error, "UNAVAILABLE")) throw error;
        await sleep(RETRY_MS);
      }
    }
  }
}

async function writeAll(
  log: Log,
  { ref, epoch, writer }: SessionClaim,
  onAcknowledged: () => void,
): Promise<never> {
  const blobs = { put: () => Promise.reject(new Error("nothing here is large")) };
  const sessionWriter = new Writer({
    log,
    ref,
    epoch,
    writer,
    blobs,
    newBlobId: () => "none",
    retryMs: RETRY_MS,
  });
  for (let counter = 1; ; counter++) {
    await sessionWriter.write(createTitle(`${counter}`));
    await sessionWriter.flush();
    onAcknowledged();
  }
}

async function writeUntilRefused(log: Log, claimed: SessionClaim): Promise<void> {
  let acknowledged = 0;
  try {
    await (claimed.usesWriter ? writeAll : appendAll)(log, claimed, () => acknowledged++);
  } catch (error) {
    const [code, epoch] = isLogError(error) ? [error.code, error.epoch] : [String(error), null];
    parent.send({ refused: claimed.ref.session, code, epoch, acknowledged });
  }
}

// The timeouts are shorter than the longest freeze, so some writers close their connection when they wake up.
const { redisUrl } = readSettings() as FrozenWriterSettings;
const log = await createRedisLog({ url: redisUrl, healthCheckMs: 50, responseTimeoutMs: 250 });
async function write({ claims }: WriteRequest): Promise<void> {
  await Promise.all(claims.map((each) => claim(log, each)));
  parent.send({ claimed: true });
  await Promise.all(claims.map((each) => writeUntilRefused(log, each)));
}

parent.onMessage((request) => void write(request));
parent.send({ ready: true });
