/**
 * `checkPlace`, `checkStart`, `checkContinue` and `checkGroup` check the rules for blocks and group markers: where they
 * start, what may follow, and when they end.
 * Invariant: each returns the first broken rule, or null, and never changes the turn. `checkPlace` runs before
 * `checkStart` and `checkGroup`, which rely on it for index, run and id.
 */
import type { SessionEvent, EventOf } from "../events/index.ts";
import { blockAt, findRun } from "../fold/edit.ts";
import { isPending, outlivesTurn } from "../fold/interaction.ts";
import { listBlocks, type Turn } from "../state.ts";
import { type Violation, violation } from "./rules.ts";
import {
  findToolCall,
  isMain,
  findPendingApproval,
  findRefusal,
  findToolResult,
  findSubAgentRun,
  unansweredCalls,
  findWaitingForm,
} from "../turn-queries.ts";

export type BlockEvent = Extract<SessionEvent, { readonly block: string }>;
type PlacedEvent = BlockEvent | EventOf<"group.start" | "group.end">;

/** Checks the rules for every event that takes a new index: block starts, requests, notices and group markers. */
export function checkPlace(turn: Turn, event: PlacedEvent): Violation | null {
  if (event.index !== turn.items.length) {
    return violation("L09", `index ${event.index} is not the next index ${turn.items.length}`);
  }
  const run = findRun(turn, event.run);
  if (run?.status !== "running") {
    return violation("L07", `run ${event.run} ${run === undefined ? "has not started" : `is ${run.status}`}`);
  }
  const last = listBlocks(turn).at(-1);
  if (last?.kind === "notice") return violation("L22", `${event.type} after the notice ${last.id}`);
  if ("block" in event && turn.items.toArray().some((item) => item !== null && item.id === event.block)) {
    return violation("L04", `block ${event.block} already exists`);
  }
  return null;
}

export function checkGroup(turn: Turn, event: EventOf<"group.start" | "group.end">): Violation | null {
  if (!isMain(turn, event.run))
    return violation("L12", `run ${event.run} belongs to a sub-agent, which can't open groups`);
  if (turn.open > 0) return violation("L12", `${event.type} while ${turn.open} block(s) are open`);
  const waiting = unansweredCalls(turn).find((call) => !call.hidden);
  if (waiting !== undefined)
    return violation("L12", `${event.type} while call ${waiting.call} has no result`);
  if (event.type === "group.end") {
    return turn.group === event.group
      ? null
      : violation("L12", `group ${event.group} is not the open group ${turn.group}`);
  }
  if (turn.group !== null) return violation("L12", `group ${turn.group} is still open`);
  const known = turn.items.toArray().some((item) => item !== null && item.id === event.group);
  return known ? violation("L04", `group ${event.group} already exists`) : null;
}

export function checkStart(turn: Turn, event: BlockEvent): Violation | null {
  const ofRun = listBlocks(turn).filter((block) => block.run === event.run);
  const main = isMain(turn, event.run);
  switch (event.type) {
    case "thinking.start":
    case "text.start": {
      const kind = event.type === "text.start" ? "text" : "thinking";
      const open = ofRun.find((block) => block.kind === kind && block.end === null);
      if (open !== undefined)
        return violation("L11", `run ${event.run} has the ${kind} block ${open.id} open`);
      if (event.type !== "text.start" || event.part) return null;
      if (!main) return violation("L14", `text of the sub-agent run ${event.run} is not marked as a part`);
      return turn.group === null
        ? null
        : violation("L13", `text that is not a part while group ${turn.group} is open`);
    }
    case "tool_call.start": {
      const final = ofRun.find((block) => block.kind === "text" && block.final);
      if (final !== undefined) return violation("L14", `a tool call after the final text ${final.id}`);
      return findToolCall(turn, event.call) === undefined
        ? null
        : violation("L04", `call ${event.call} already exists`);
    }
    case "tool_result.start":
      return checkResult(turn, event);
    case "files.start": {
      const first = turn.items.toArray().find((item) => item !== null && item.kind !== "superseded");
      return first === undefined || first === null
        ? null
        : violation("L15", `files after ${first.kind} ${first.id}`);
    }
    case "notice.stopped":
    case "notice.error": {
      if (turn.open > 0 || turn.group !== null)
        return violation("L22", "a notice while a block or group is open");
      const [waiting] = unansweredCalls(turn);
      if (waiting !== undefined) return violation("L22", `a notice while call ${waiting.call} has no result`);
      const asked = listBlocks(turn).find((b) => "version" in b && isPending(b) && !outlivesTurn(b));
      return asked === undefined
        ? null
        : violation("L22", `a notice while ${asked.kind} ${asked.id} is pending`);
    }
    default:
      return null;
  }
}

function checkResult(turn: Turn, event: EventOf<"tool_result.start">): Violation | null {
  const call = findToolCall(turn, event.call);
  if (call === undefined) return violation("L16", `there is no call ${event.call}`);
  if (call.end === null) return violation("L16", `call ${event.call} has not ended`);
  if (call.run !== event.run || call.name !== event.name) {
    return violation("L16", `the result of call ${event.call} has another run or tool than the call`);
  }
  if (call.hidden && event.hidden !== true)
    return violation("L16", `the result of the hidden call ${event.call} is shown`);
  if (findToolResult(turn, event.call) !== undefined)
    return violation("L16", `call ${event.call} already has a result`);
  const approval = findPendingApproval(turn, event.call);
  return approval === undefined
    ? null
    : violation("L16", `approval ${approval.key} of call ${event.call} is not decided`);
}

export function checkContinue(turn: Turn, event: BlockEvent): Violation | null {
  const block = blockAt(turn, event.index, event.block);
  if (block === undefined)
    return violation("L10", `there is no block ${event.block} at index ${event.index}`);
  const [kind] = event.type.split(".");
  if (block.kind !== kind) return violation("L10", `${event.type} for a ${block.kind} block`);
  if (block.end !== null) return violation("L10", `block ${event.block} has ended`);
  if (block.run !== event.run) return violation("L10", `block ${event.block} belongs to run ${block.run}`);
  if (event.type === "tool_result.delta" && block.kind === "tool_result") {
    const part = block.parts[event.part];
    const inOrder =
      part === undefined ? event.part === block.parts.length : event.part === block.parts.length - 1;
    if (!inOrder) return violation("L17", `part ${event.part} is not the current or the next one`);
    if (part === undefined && block.parts.at(-1)?.done === false)
      return violation("L17", "the previous part is not done");
    if (part?.done === true || (part !== undefined && part.media !== event.media)) {
      return violation("L17", `part ${event.part} is done or has another media type`);
    }
  }
  if (event.type === "text.delta" && block.kind === "text") {
    const length = block.text.length + event.text.length;
    const bad = event.annotations?.find((note) => note.start >= note.end || note.end > length);
    if (bad !== undefined)
      return violation("L18", `annotation ${bad.start}-${bad.end} in a text of ${length}`);
  }
  if (event.type === "text.end" && event.final) {
    if (!isMain(turn, event.run)) return violation("L14", `final text from the sub-agent run ${event.run}`);
    const final = listBlocks(turn).find((b) => b.kind === "text" && b.final);
    if (final !== undefined) return violation("L14", `a second final text after ${final.id}`);
  }
  if (event.type === "tool_result.end" && block.kind === "tool_result") {
    const refused = findRefusal(turn, block.call);
    if (refused !== undefined && event.status === "success") {
      return violation("L16", `call ${block.call} succeeds although its approval was ${refused.status}`);
    }
    const form = findWaitingForm(turn, block.call);
    if (form !== undefined)
      return violation("L16", `form ${form.form} of call ${block.call} is still pending`);
    const run = findSubAgentRun(turn, block.call);
    if (run?.status === "running")
      return violation("L08", `run ${run.id} is still running under the result ${block.id}`);
  }
  return null;
}
