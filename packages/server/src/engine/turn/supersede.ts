/**
 * `findSuperseded` returns the blocks, groups and runs that a takeover supersedes: all that are not journaled, and
 * their dependents. Pure.
 *
 * Invariant: interactions always stay. A superseded call also supersedes its result, its runs and their blocks. A group
 * is superseded only if none of its blocks stays.
 */
import { type Block, listBlocks, type EventOf, type Turn } from "@turnstream/protocol";

export type SupersededItems = Pick<EventOf<"turn.takeover">, "blocks" | "groups" | "runs">;

/**
 * @param journaledBlocks ids of the blocks that journaled steps wrote
 * @param journaledCalls calls whose results stay, open or not, because no attempt writes their content again
 * @param requestedCalls calls of journaled steps: the model does not request them again
 */
export function findSuperseded(
  turn: Turn,
  journaledBlocks: ReadonlySet<string>,
  journaledCalls: ReadonlySet<string>,
  requestedCalls: ReadonlySet<string>,
): SupersededItems {
  const all = listBlocks(turn);
  // No attempt continues a run that has ended, so all its blocks stay.
  const open = ["running", "superseded"];
  const over = new Set(turn.runs.flatMap(({ id, status }) => (open.includes(status) ? [] : [id])));
  const stays = (block: Block): boolean => {
    if ("version" in block || over.has(block.run)) return true;
    if (block.kind === "tool_result") return journaledCalls.has(block.call);
    if (block.end === null) return false;
    if (journaledBlocks.has(block.id)) return true;
    if (block.kind === "tool_call") return requestedCalls.has(block.call);
    return block.kind === "text" && block.call !== null && journaledCalls.has(block.call);
  };
  const blocks = new Set(all.filter((block) => !stays(block)).map((block) => block.id));
  const runs = new Set<string>();
  // Superseding spreads from calls to results, to runs, to their blocks. The loop runs at most once per nesting level.
  for (let size = -1; size !== blocks.size + runs.size;) {
    size = blocks.size + runs.size;
    const supersededCalls = callsOf(all, "tool_call", blocks);
    for (const block of all) {
      const isDependent =
        block.kind !== "tool_call" &&
        "call" in block &&
        block.call !== null &&
        supersededCalls.has(block.call);
      if (!("version" in block) && (isDependent || runs.has(block.run))) blocks.add(block.id);
    }
    const supersededResults = callsOf(all, "tool_result", blocks);
    for (const run of turn.runs) {
      const isOrphan =
        (run.call !== null && (supersededCalls.has(run.call) || supersededResults.has(run.call))) ||
        (run.parent !== null && runs.has(run.parent));
      if (isOrphan && run.status !== "superseded") runs.add(run.id);
    }
  }
  return { blocks: [...blocks], groups: supersededGroups(turn, blocks), runs: [...runs] };
}

function callsOf(all: readonly Block[], kind: "tool_call" | "tool_result", blocks: ReadonlySet<string>) {
  return new Set(all.flatMap((block) => (block.kind === kind && blocks.has(block.id) ? [block.call] : [])));
}

/** Returns the groups without remaining blocks. */
function supersededGroups(turn: Turn, blocks: ReadonlySet<string>): string[] {
  const groups: string[] = [];
  let group: { readonly id: string; left: number } | null = null;
  const close = (): void => {
    if (group?.left === 0) groups.push(group.id);
    group = null;
  };
  for (const item of turn.items) {
    if (item === null || item.kind === "superseded") continue;
    if (item.kind === "group_start") group = { id: item.id, left: 0 };
    else if (item.kind === "group_end") close();
    else if (group !== null && !blocks.has(item.id)) group.left++;
  }
  close();
  return groups;
}
