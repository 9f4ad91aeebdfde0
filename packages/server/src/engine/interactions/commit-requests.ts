/** `commitRequests` commits the requests of a turn that outlive it, such as forms. Repeating it changes nothing. */
import { type Block, listBlocks, type RequestBlock, type Turn } from "@turnstream/protocol";
import { outlivesTurn } from "@turnstream/protocol/writer";
import { defined } from "../../util/defined.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { commitRequest } from "./await-decision.ts";

export async function commitRequests(attempt: TurnAttempt): Promise<void> {
  const { requestKinds, onError } = attempt.context;
  for (const block of listRequests(attempt.turn)) {
    const stored = requestKinds.get(block.kind)?.stored(attempt, block);
    if (stored !== undefined)
      await commitRequest(attempt, block, stored.request, defined({ alsoCommit: stored.alsoCommit }));
    // A worker with the feature has started the turn. The turn goes on without the request.
    else onError(new Error(describeMissing(block.kind)), { during: `turn ${attempt.row.turn}` });
  }
}

/** Returns the requests that outlive their turn, those that were decided before it ended included. */
export function listRequests(turn: Turn): RequestBlock[] {
  return listBlocks(turn).filter(
    (block: Block): block is RequestBlock => "version" in block && outlivesTurn(block),
  );
}

export function describeMissing(kind: string): string {
  return `The worker doesn't have the feature of ${kind} requests.`;
}
