/**
 * A process that appends to several sessions all the time, each under an epoch that it claims when told to, until
 * it is fenced; started and frozen by `../frozen-writer.ts`. Tells what refused it, and never tries to get back in.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisLog, isLogError, type Log, Writer } from "@turnstream/server";
import { title } from "../ledger.ts";

/** Begin a reign: claim each session under its epoch, then write. */
export interface Order {
  readonly reigns: readonly Reign[];
}

export interface Reign {
  readonly session: string;
  readonly epoch: number;
  readonly writer: string;
  /** Through a `Writer`, or append by append. */
  readonly pen: boolean;
}

export type Report =
  | { readonly type: "ready" | "reigning" }
  | {
      readonly type: "refused";
      readonly session: string;
      readonly code: string;
      readonly epoch: number | null;
      /** How many events were acknowledged before. */
      readonly acknowledged: number;
    };

const RETRY_MS = 5;
const [url = ""] = process.argv.slice(2);

function tell(report: Report): void {
  process.send?.(report);
}

async function claim(log: Log, { session, epoch, writer }: Reign): Promise<void> {
  const event = { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] } as const;
  await log.claim(session, { epoch, writer, event, archivedUpTo: "0-0" });
}

async function appendAll(
  log: Log,
  { session, epoch, writer }: Reign,
  acknowledged: () => void,
): Promise<never> {
  for (let counter = 1; ; counter++) {
    for (let repeat = false; ; repeat = true) {
      try {
        await log.append(session, { epoch, writer, counter, events: [title(`${counter}`)], isRetry: repeat });
        acknowledged();
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
  { session, epoch, writer }: Reign,
  acknowledged: () => void,
): Promise<never> {
  const blobs = { put: () => Promise.reject(new Error("nothing here is large")) };
  const pen = new Writer({ log, session, epoch, writer, blobs, newBlobId: () => "none", retryMs: RETRY_MS });
  for (let counter = 1; ; counter++) {
    await pen.write(title(`${counter}`));
    await pen.flush();
    acknowledged();
  }
}

async function reign(log: Log, each: Reign): Promise<void> {
  let acknowledged = 0;
  try {
    await (each.pen ? writeAll : appendAll)(log, each, () => acknowledged++);
  } catch (error) {
    const [code, epoch] = isLogError(error) ? [error.code, error.epoch] : [String(error), null];
    tell({ type: "refused", session: each.session, code, epoch, acknowledged });
  }
}

// Less patient than the longest freeze: some wake up to a connection that they give up.
const log = await createRedisLog({ url, healthCheckMs: 50, responseTimeoutMs: 250 });
async function obey({ reigns }: Order): Promise<void> {
  await Promise.all(reigns.map((each) => claim(log, each)));
  tell({ type: "reigning" });
  await Promise.all(reigns.map((each) => reign(log, each)));
}

process.on("message", (order: Order) => void obey(order));
process.on("disconnect", () => process.exit());
tell({ type: "ready" });
