/**
 * `retryTurn` answers the message of a failed or stopped turn again, with a new turn. It does not run the turn.
 *
 * Invariant: only the last turn can be retried, and only if `canRetry` allows it and no turn runs. The new turn keeps
 * the agent and mode. The store lets one of several concurrent retries win. Users see the end of a turn before
 * the worker commits it, so a retry waits for that commit.
 */
import { listBlocks, type Turn } from "@turnstream/protocol";
import { type Env, systemEnv } from "../../util/env.ts";
import { StoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import { poll } from "../../util/retry.ts";
import { readHistory } from "../history/read-history.ts";
import type { CommandBackend } from "../backend.ts";
import { type OwnerLimits, requireTurnLimits, toTurnCaller } from "../limit-exceeded.ts";
import { hintTurn } from "../signal-channels.ts";

/**
 * - "retrying": a new turn starts, with this id.
 * - "busy": a turn already runs, possibly the same retry from another click.
 */
export type RetryReceipt =
  | { readonly receipt: "retrying"; readonly turn: string }
  | { readonly receipt: "busy"; readonly turn: string | null };

export interface RetryTurnOptions {
  /** Creates the id of the new turn. @default random ids */
  readonly env?: Pick<Env, "id">;
  /** Refuses the retry beyond these limits, and ends it at those of tokens and cost. @default no limits */
  readonly limits?: OwnerLimits;
}

/** How long a retry waits for the commit of a turn whose end is visible. It takes longer only if its worker died. */
const COMMIT = { initialDelayMs: 20, maxDelayMs: 200, timeoutMs: 5_000 };

/** @throws StoreError CONFLICT if the turn is not the last one, or can't be retried. LimitExceededError beyond `limits` */
export async function retryTurn(
  { store, log, signals }: CommandBackend,
  ref: SessionRef,
  turn: string,
  { env = systemEnv, limits }: RetryTurnOptions = {},
): Promise<RetryReceipt> {
  const readLast = async () => (await readHistory({ store, log }, ref, { turns: 1 })).state.turns.last();
  let running = await store.running.get(ref);
  if (running?.turn === turn && isEnding(await readLast()))
    running = await poll(() => store.running.get(ref), { ...COMMIT, isDone: (row) => row?.turn !== turn });
  if (running !== null) return { receipt: "busy", turn: running.turn };
  const last = await readLast();
  if (last?.id !== turn || !canRetry(last)) throw new StoreError("CONFLICT", `turn ${turn}`);
  const { agent, mode } = last;
  const next = { turn: env.id(), retries: turn, options: { agent, mode }, ...toTurnCaller(limits) };
  const started = await store.transaction(async (tx) => {
    const added = await tx.queue.retry(ref, next);
    if (added !== null && limits !== undefined) await requireTurnLimits(tx, limits);
    return added;
  });
  if (started === null) return { receipt: "busy", turn: null };
  hintTurn({ signals }, { agent });
  return { receipt: "retrying", turn: started.turn };
}

/** Returns true if the turn failed with a retryable error or the user stopped it. */
function canRetry(turn: Turn): boolean {
  return turn.status === "user_stopped" || (turn.status === "error" && hasRetryableError(turn));
}

/** Clients offer a retry as soon as the notice is visible, which is before the end of the turn. */
function isEnding(turn: Turn | undefined): boolean {
  return turn !== undefined && (turn.status !== "running" || hasRetryableError(turn));
}

function hasRetryableError(turn: Turn): boolean {
  const notice = listBlocks(turn).at(-1);
  return notice?.kind === "notice" && notice.error?.can_retry === true;
}
