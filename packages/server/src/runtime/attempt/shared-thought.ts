/**
 * `writeThought` writes a shared thought as a text of its own, outside of groups.
 *
 * Invariant: the text carries the call, and a call has at most one, so a later attempt doesn't repeat it.
 */
import { listBlocks, type TextBlock, type Turn } from "@turnstream/protocol";
import type { Agent } from "../define/agent.ts";
import { markersIn } from "../events/citation-markers.ts";
import type { TurnAttempt } from "./attempt.ts";
import { closeOpenGroup } from "./close-open-group.ts";
import type { ReferencePool } from "./reference-pool.ts";

interface ThoughtScope {
  readonly attempt: TurnAttempt;
  readonly agent: Agent;
  readonly run: string;
  readonly path: string;
  readonly pool: ReferencePool;
}

/** Returns the text of a shared thought that is in the log. */
export function findThought(turn: Turn, call: string): TextBlock | undefined {
  return listBlocks(turn).find((block): block is TextBlock => block.kind === "text" && block.call === call);
}

/** Returns the block of the thought, and writes it if it doesn't exist. */
export async function writeThought(scope: ThoughtScope, call: string, thought: string): Promise<string> {
  const { attempt, run, pool } = scope;
  const { writer } = attempt;
  const known = findThought(writer.turn, call);
  if (known !== undefined) return known.id;
  await closeOpenGroup(scope);
  const annotations = markersIn(thought, pool.has);
  // Without awaiting in between, because another branch of a sub-agent may write a text too.
  const { place, written } = writer.startSync({ type: "text.start", run, part: true, call });
  const cited = annotations.length === 0 ? {} : { annotations };
  await Promise.all([
    written,
    writer.write({ type: "text.delta", ...place, text: thought, ...cited }),
    writer.write({ type: "text.end", ...place, final: false }),
  ]);
  return place.block;
}
