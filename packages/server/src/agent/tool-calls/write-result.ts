/**
 * `writeToolResult` writes the events of a call's result that are not in the log yet: start, parts and end.
 * `startToolResult` writes only the start.
 *
 * Invariant: it reads the folded turn to see what exists, so that a later attempt can repeat it without duplicates. A
 * sub-agent's run ends before the result that contains it.
 */
import {
  findToolCall,
  type EventOf,
  findToolResult,
  type FullContent,
  type Artifact,
} from "@turnstream/protocol";
import { findSubAgentRun } from "@turnstream/protocol/writer";
import type { ToolCallRecord, StepCall } from "../run/journal-entries.ts";
import type { BlockRef } from "../../engine/events/turn-writer.ts";
import { writeThought } from "./share-thought.ts";
import type { RunContext } from "../run/run-context.ts";
import { defined } from "../../util/defined.ts";

/** Returns the place of the call's result, and starts the result if it doesn't exist. */
export async function startToolResult(scope: RunContext, call: StepCall): Promise<BlockRef> {
  const { attempt, run } = scope;
  const { writer } = attempt;
  const { call: id, name } = call;
  const known = findToolResult(writer.turn, id);
  if (known !== undefined) return { run: known.run, block: known.id, index: known.index };
  // Copy visibility and label from the call in the log, because a deploy may have changed the tool since.
  const { label = "", hidden: isHidden } = findToolCall(writer.turn, id) ?? {};
  const hidden = isHidden === true ? { hidden: true } : {};
  return writer.start({ type: "tool_result.start", run, call: id, name, label, ...hidden });
}

export async function writeToolResult(
  scope: RunContext,
  call: StepCall,
  whole: ToolCallRecord,
): Promise<void> {
  const { attempt } = scope;
  const { writer } = attempt;
  const record = showsResult(scope, call) ? whole : hideContent(whole);
  if (record.thought !== null) await writeThought(scope, call.call, record.thought);
  const known = findToolResult(writer.turn, call.call);
  if (known !== undefined && known.end !== null) return;
  const place = await startToolResult(scope, call);
  await writeBlocks(scope, call, place, record);
  const run = findSubAgentRun(writer.turn, call.call);
  if (run?.status === "running") {
    const status = record.status === "success" ? "completed" : "failed";
    const used = record.usage === null ? {} : { usage: record.usage };
    await writer.write({ type: "run.end", run: run.id, status, ...used });
  }
  await writer.write(endOf(place, record));
}

/** What is left for users of a result whose content they don't see: its end and its status. */
function hideContent({ structured: _, ...record }: ToolCallRecord): ToolCallRecord {
  return { ...record, preview: "", blocks: [], artifact: null, results: null, whole: null };
}

/** Returns false if users see only whether the call succeeded. A tool that hides its calls now has hidden results. */
export function showsResult({ agent }: RunContext, { name }: StepCall): boolean {
  const display = agent.tools[name]?.display;
  return display === undefined || !display.call || display.result;
}

function endOf(place: BlockRef, record: ToolCallRecord) {
  const { status, preview, artifact, structured, results, whole, usage } = record;
  return {
    type: "tool_result.end",
    ...place,
    status,
    preview,
    artifact: artifact as Artifact | null,
    ...defined({ structured }),
    ...(results === null ? {} : { results }),
    ...(whole === null ? {} : { whole: whole as unknown as FullContent }),
    ...(usage === null ? {} : { usage }),
  } as const satisfies Omit<EventOf<"tool_result.end">, "v" | "id" | "at" | "turn">;
}

async function writeBlocks(
  { attempt }: RunContext,
  { call }: StepCall,
  place: BlockRef,
  record: ToolCallRecord,
): Promise<void> {
  const { writer } = attempt;
  const written = findToolResult(writer.turn, call)?.parts ?? [];
  const last = written.at(-1);
  if (last !== undefined && !last.done) {
    const { media } = last;
    const data = media === "text" ? "" : last.data;
    const part = written.length - 1;
    await writer.write({ type: "tool_result.delta", ...place, part, media, data, done: true });
  }
  // Earlier parts may be lost with the log. The remaining parts then take the next free numbers.
  for (const block of record.blocks.slice(Math.max(0, written.length - record.parts))) {
    const part = findToolResult(writer.turn, call)?.parts.length ?? 0;
    const [media, data] =
      block.type === "text" ? (["text", block.text] as const) : (["image", block.url] as const);
    const { reference } = block;
    const cited = reference === undefined ? {} : { reference };
    await writer.write({ type: "tool_result.delta", ...place, part, media, data, ...cited, done: true });
  }
}
