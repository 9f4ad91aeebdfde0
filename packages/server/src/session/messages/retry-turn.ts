/** A person tries a turn again that failed: its message is answered once more, by a new turn. Never runs one. */
import { listBlocks, type Turn } from "@turnstream/protocol";
import { type Env, systemEnv } from "../../util/env.ts";
import { StoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../store/refs.ts";
import { readHistory } from "../history/read-history.ts";
import type { CommandBackend } from "../backend.ts";
import { encodeSessionRef, TURNS_CHANNEL } from "../signal-channels.ts";

/**
 * - "retrying": a new turn begins; its id is given.
 * - "busy": a turn runs already, maybe this very retry from another click.
 */
export type RetryReceipt =
  | { readonly receipt: "retrying"; readonly turn: string }
  | { readonly receipt: "busy"; readonly turn: string | null };

/** Throws CONFLICT when the turn is not the last one, or did not fail in a way that can be tried again. */
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
  const { agent, mode, from_share: fromShare } = last;
  const options = { agent, mode, fromShare };
  const started = await store.running.begin(ref, { turn: env.id(), retries: turn, options });
  if (started === null) return { receipt: "busy", turn: null };
  signals.send(TURNS_CHANNEL, encodeSessionRef(ref));
  return { receipt: "retrying", turn: started.turn };
}

/** Whether trying it again makes sense: it failed and says so, or a person stopped it. */
export function canRetry(turn: Turn): boolean {
  if (turn.status === "user_stopped") return true;
  const notice = listBlocks(turn).at(-1);
  return turn.status === "error" && notice?.kind === "notice" && notice.error?.can_retry === true;
}
