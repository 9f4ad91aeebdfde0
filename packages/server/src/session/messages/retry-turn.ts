/**
 * `retryTurn` answers the message of a failed or stopped turn again, with a new turn. It does not run the turn.
 *
 * Invariant: only the last turn can be retried, and only if `canRetry` allows it and no turn runs. The new turn keeps
 * the agent and mode. The store's `begin` lets one of several concurrent retries win.
 */
import { listBlocks, type Turn } from "@turnstream/protocol";
import { type Env, systemEnv } from "../../util/env.ts";
import { StoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../store/refs.ts";
import { readHistory } from "../history/read-history.ts";
import type { CommandBackend } from "../backend.ts";
import { encodeSessionRef, TURNS_CHANNEL } from "../signal-channels.ts";

/**
 * - "retrying": a new turn starts, with this id.
 * - "busy": a turn already runs, possibly the same retry from another click.
 */
export type RetryReceipt =
  | { readonly receipt: "retrying"; readonly turn: string }
  | { readonly receipt: "busy"; readonly turn: string | null };

/** @throws StoreError CONFLICT if the turn is not the last one, or can't be retried */
export async function retryTurn(
  { store, log, signals }: CommandBackend,
  ref: SessionRef,
  turn: string,
  env: Pick<Env, "id"> = systemEnv,
): Promise<RetryReceipt> {
  const running = await store.running.get(ref);
  if (running !== null) return { receipt: "busy", turn: running.turn };
  const { state } = await readHistory({ store, log }, ref, { turns: 1 });
  const last = state.turns.last();
  if (last?.id !== turn || !canRetry(last)) throw new StoreError("CONFLICT", `turn ${turn}`);
  const { agent, mode } = last;
  const started = await store.running.begin(ref, {
    turn: env.id(),
    retries: turn,
    options: { agent, mode },
  });
  if (started === null) return { receipt: "busy", turn: null };
  signals.send(TURNS_CHANNEL, encodeSessionRef(ref));
  return { receipt: "retrying", turn: started.turn };
}

/** Returns true if the turn failed with a retryable error or the user stopped it. */
export function canRetry(turn: Turn): boolean {
  if (turn.status === "user_stopped") return true;
  const notice = listBlocks(turn).at(-1);
  return turn.status === "error" && notice?.kind === "notice" && notice.error?.can_retry === true;
}
