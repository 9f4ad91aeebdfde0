/**
 * `closeAll` ends everything that is open in a turn, in the order that a stop or an error requires (W02): blocks,
 * results and sub-runs from the inside out, then the group.
 */
import { type Block, listBlocks, findTurn, isPending, type Turn } from "@turnstream/protocol";
import { outlivesTurn } from "@turnstream/protocol/writer";
import type { LogWriter } from "../support/log-writer.ts";

export function running(w: LogWriter): Turn | undefined {
  const turn = w.state.turns.last();
  return turn?.status === "running" ? turn : undefined;
}

export function on(turn: Turn, block: Block): { turn: string; run: string; block: string; index: number } {
  return { turn: turn.id, run: block.run, block: block.id, index: block.index };
}

/** Closes everything except the main run. */
export function closeAll(w: LogWriter, id: string): void {
  const turn = (): Turn => findTurn(w.state, id) as Turn;
  for (const block of listBlocks(turn())) {
    if ("version" in block && isPending(block) && !outlivesTurn(block)) cancel(w, turn(), block);
  }
  closeRuns(w, turn, null);
  const { group } = turn();
  if (group !== null) {
    const { run, index } = w.place();
    w.add({ type: "group.end", turn: id, run, group, index, summary: "cut short" });
  }
}

function cancel(w: LogWriter, turn: Turn, block: Extract<Block, { version: number }>): void {
  const version = block.version + 1;
  if (block.kind === "approval")
    w.add({ type: "approval.update", ...on(turn, block), version, status: "cancelled" });
  if (block.kind === "question")
    w.add({ type: "question.update", ...on(turn, block), version, status: "cancelled" });
  if (block.kind === "form") w.add({ type: "form.update", ...on(turn, block), version, status: "cancelled" });
}

/** Closes the runs below `parent`, each with its blocks, before the results that contain them. */
function closeRuns(w: LogWriter, turn: () => Turn, parent: string | null): void {
  for (const run of turn().runs.filter((r) => r.parent === parent && r.status === "running")) {
    closeRuns(w, turn, run.id);
    for (const block of listBlocks(turn()).filter((b) => b.run === run.id && b.end === null))
      endBlock(w, turn(), block);
    const calls = listBlocks(turn()).filter((b) => b.kind === "tool_call" && b.run === run.id);
    for (const call of calls) {
      if (call.kind !== "tool_call" || hasResult(turn(), call.call)) continue;
      const place = w.place(run.id);
      const hidden = call.hidden ? { hidden: true } : {};
      w.add({
        type: "tool_result.start",
        ...place,
        call: call.call,
        name: call.name,
        label: call.label,
        ...hidden,
      });
      w.add({ type: "tool_result.end", ...place, status: "cancelled", preview: "", artifact: null });
    }
    if (parent !== null) w.add({ type: "run.end", turn: turn().id, run: run.id, status: "cancelled" });
  }
}

function hasResult(turn: Turn, call: string): boolean {
  return listBlocks(turn).some((b) => b.kind === "tool_result" && b.call === call);
}

export function endBlock(w: LogWriter, turn: Turn, block: Block): void {
  const at = on(turn, block);
  if (block.kind === "thinking") w.add({ type: "thinking.end", ...at });
  if (block.kind === "text") w.add({ type: "text.end", ...at, final: false });
  if (block.kind === "tool_call") w.add({ type: "tool_call.end", ...at, aborted: true });
  if (block.kind === "files") w.add({ type: "files.end", ...at, status: "failed", message: "not read" });
  if (block.kind === "tool_result") {
    w.add({ type: "tool_result.end", ...at, status: "cancelled", preview: "", artifact: null });
  }
}
