/**
 * Rules for blocks and group markers: where they may start, what may follow, when they end.
 */
import type { Event, EventOf } from "../events/index.ts";
import { blockAt, findRun } from "../fold/edit.ts";
import { isPending, outlivesTurn } from "../fold/interaction.ts";
import { blocksOf, type Turn } from "../state.ts";
import { type Illegal, illegal } from "./rules.ts";
import {
  callOf,
  isMain,
  pendingApprovalOf,
  refusalOf,
  resultOf,
  runOfCall,
  unansweredCalls,
  waitingFormOf,
} from "../turn-queries.ts";

export type BlockEvent = Extract<Event, { readonly block: string }>;
type PlacedEvent = BlockEvent | EventOf<"group.start" | "group.end">;

/** Rules for whatever takes a new index: any block's start, a request, a notice, a group marker. */
export function checkPlace(turn: Turn, event: PlacedEvent): Illegal | null {
  if (event.index !== turn.items.length) {
    return illegal("L09", `index ${event.index} is not the next one, ${turn.items.length}`);
  }
  const run = findRun(turn, event.run);
  if (run?.status !== "running") {
    return illegal("L07", `run ${event.run} ${run === undefined ? "has not started" : `is ${run.status}`}`);
  }
  const last = blocksOf(turn).at(-1);
  if (last?.kind === "notice") return illegal("L22", `${event.type} after the notice ${last.id}`);
  if ("block" in event && turn.items.toArray().some((item) => item !== null && item.id === event.block)) {
    return illegal("L04", `block ${event.block} was there before`);
  }
  return null;
}

export function checkGroup(turn: Turn, event: EventOf<"group.start" | "group.end">): Illegal | null {
  if (!isMain(turn, event.run))
    return illegal("L12", `run ${event.run} is a sub-agent's and opens no groups`);
  if (turn.open > 0) return illegal("L12", `${event.type} while ${turn.open} block(s) are open`);
  const waiting = unansweredCalls(turn).find((call) => !call.hidden);
  if (waiting !== undefined) return illegal("L12", `${event.type} while call ${waiting.call} has no result`);
  if (event.type === "group.end") {
    return turn.group === event.group
      ? null
      : illegal("L12", `group ${event.group} is not the open one, ${turn.group}`);
  }
  if (turn.group !== null) return illegal("L12", `group ${turn.group} is still open`);
  const known = turn.items.toArray().some((item) => item !== null && item.id === event.group);
  return known ? illegal("L04", `group ${event.group} was there before`) : null;
}

export function checkStart(turn: Turn, event: BlockEvent): Illegal | null {
  const ofRun = blocksOf(turn).filter((block) => block.run === event.run);
  const main = isMain(turn, event.run);
  switch (event.type) {
    case "thinking.start":
    case "text.start": {
      const kind = event.type === "text.start" ? "text" : "thinking";
      const open = ofRun.find((block) => block.kind === kind && block.end === null);
      if (open !== undefined) return illegal("L11", `run ${event.run} has the ${kind} block ${open.id} open`);
      if (event.type !== "text.start" || event.part) return null;
      if (!main) return illegal("L14", `text of the sub-agent run ${event.run} is not marked as a part`);
      return turn.group === null
        ? null
        : illegal("L13", `text that is not a part while group ${turn.group} is open`);
    }
    case "tool_call.start": {
      const final = ofRun.find((block) => block.kind === "text" && block.final);
      if (final !== undefined) return illegal("L14", `a tool call after the final text ${final.id}`);
      return callOf(turn, event.call) === undefined
        ? null
        : illegal("L04", `call ${event.call} was there before`);
    }
    case "tool_result.start":
      return checkResult(turn, event);
    case "files.start": {
      const first = turn.items.toArray().find((item) => item !== null && item.kind !== "superseded");
      return first === undefined || first === null
        ? null
        : illegal("L15", `files after ${first.kind} ${first.id}`);
    }
    case "notice.stopped":
    case "notice.error": {
      if (turn.open > 0 || turn.group !== null)
        return illegal("L22", "a notice while a block or group is open");
      const [waiting] = unansweredCalls(turn);
      if (waiting !== undefined) return illegal("L22", `a notice while call ${waiting.call} has no result`);
      const asked = blocksOf(turn).find((b) => "version" in b && isPending(b) && !outlivesTurn(b));
      return asked === undefined
        ? null
        : illegal("L22", `a notice while ${asked.kind} ${asked.id} waits for a person`);
    }
    default:
      return null;
  }
}

function checkResult(turn: Turn, event: EventOf<"tool_result.start">): Illegal | null {
  const call = callOf(turn, event.call);
  if (call === undefined) return illegal("L16", `there is no call ${event.call}`);
  if (call.end === null) return illegal("L16", `call ${event.call} has not ended`);
  if (call.run !== event.run || call.name !== event.name) {
    return illegal("L16", `the result of call ${event.call} is of another run or tool`);
  }
  if (call.hidden && event.hidden !== true)
    return illegal("L16", `the result of the hidden call ${event.call} is shown`);
  if (resultOf(turn, event.call) !== undefined)
    return illegal("L16", `call ${event.call} has a result already`);
  const approval = pendingApprovalOf(turn, event.call);
  return approval === undefined
    ? null
    : illegal("L16", `approval ${approval.key} of call ${event.call} is not decided`);
}

export function checkContinue(turn: Turn, event: BlockEvent): Illegal | null {
  const block = blockAt(turn, event.index, event.block);
  if (block === undefined) return illegal("L10", `there is no block ${event.block} at index ${event.index}`);
  const [kind] = event.type.split(".");
  if (block.kind !== kind) return illegal("L10", `${event.type} for a ${block.kind} block`);
  if (block.end !== null) return illegal("L10", `block ${event.block} has ended`);
  if (block.run !== event.run) return illegal("L10", `block ${event.block} is run ${block.run}'s`);
  if (event.type === "tool_result.delta" && block.kind === "tool_result") {
    const part = block.parts[event.part];
    const inOrder =
      part === undefined ? event.part === block.parts.length : event.part === block.parts.length - 1;
    if (!inOrder) return illegal("L17", `part ${event.part} is not the current or the next one`);
    if (part === undefined && block.parts.at(-1)?.done === false)
      return illegal("L17", "the part before is not done");
    if (part?.done === true || (part !== undefined && part.media !== event.media)) {
      return illegal("L17", `part ${event.part} is done or of another kind`);
    }
  }
  if (event.type === "text.delta" && block.kind === "text") {
    const length = block.text.length + event.text.length;
    const bad = event.annotations?.find((note) => note.start >= note.end || note.end > length);
    if (bad !== undefined) return illegal("L18", `annotation ${bad.start}-${bad.end} in a text of ${length}`);
  }
  if (event.type === "text.end" && event.final) {
    if (!isMain(turn, event.run)) return illegal("L14", `final text from the sub-agent run ${event.run}`);
    const final = blocksOf(turn).find((b) => b.kind === "text" && b.final);
    if (final !== undefined) return illegal("L14", `a second final text after ${final.id}`);
  }
  if (event.type === "tool_result.end" && block.kind === "tool_result") {
    const refused = refusalOf(turn, block.call);
    if (refused !== undefined && event.status === "success") {
      return illegal("L16", `call ${block.call} succeeds although its approval was ${refused.status}`);
    }
    const form = waitingFormOf(turn, block.call);
    if (form !== undefined) return illegal("L16", `form ${form.form} of call ${block.call} still waits`);
    const run = runOfCall(turn, block.call);
    if (run?.status === "running")
      return illegal("L08", `run ${run.id} goes on under the result ${block.id}`);
  }
  return null;
}
