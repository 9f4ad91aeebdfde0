/**
 * `findRequests` finds the requests of a call, and `resultJson` renders the outcome of one for the model. Pure.
 */
import { findRun, type Json, listBlocks, mainRun, type RequestBlock, type Turn } from "@turnstream/protocol";
import { findSubAgentRun, interactionId } from "@turnstream/protocol/writer";
import { listRequests } from "../../engine/interactions/commit-requests.ts";
import type { RequestKind, RequestOutcome } from "../../engine/attempt/request-kind.ts";

export type RequestKinds = ReadonlyMap<string, RequestKind>;

/** Returns the requests that a call made, directly or through its sub-agent. */
export function findRequests(turn: Turn, call: string): RequestBlock[] {
  const sub = findSubAgentRun(turn, call)?.id;
  return listRequests(turn).filter(
    (block) => block.call === call || (sub !== undefined && isBelow(turn, block.run, sub)),
  );
}

function isBelow(turn: Turn, run: string, above: string): boolean {
  for (let id: string | null = run; id !== null; id = findRun(turn, id)?.parent ?? null)
    if (id === above) return true;
  return false;
}

/** Returns true if the messages of the turn contain the outcome: as the result of a call of the main run. */
export function hasResult(turn: Turn, id: string): boolean {
  const main = mainRun(turn)?.id;
  const blocks = listBlocks(turn);
  // Most turns of a long conversation have no such request, and the search below is slow.
  if (!blocks.some((block) => "version" in block && interactionId(block) === id)) return false;
  return blocks.some(
    (block) =>
      block.kind === "tool_call" &&
      block.run === main &&
      findRequests(turn, block.call).some((request) => interactionId(request) === id),
  );
}

/** A worker without the feature of a request knows its status only. */
export function resultJson(kinds: RequestKinds, outcome: RequestOutcome): Json {
  const { kind, status } = outcome;
  return kinds.get(kind)?.resultJson(outcome) ?? { [kind]: status };
}
