/**
 * `checkRequest` and `checkUpdate` check the rules for interactions: when a request may be made, and which status
 * change may follow which.
 * Invariant: allowed status changes come only from `TRANSITIONS` of the fold. An interaction id is unique in its
 * session. An update needs a higher version. An edit changes arguments, never which tools are called.
 */
import type { EventOf } from "../events/index.ts";
import { blockAt } from "../fold/edit.ts";
import { interactionId, TRANSITIONS } from "../fold/interaction.ts";
import { listBlocks, type SessionState, type Turn } from "../state.ts";
import { type Violation, violation } from "./rules.ts";
import { findToolCall, isMain, findPendingApproval, findToolResult } from "../turn-queries.ts";

type RequestEvent = EventOf<"approval.request" | "question.request" | "form.request" | "payment.request">;
type UpdateEvent = EventOf<"approval.update" | "question.update" | "form.update" | "payment.update">;

export function checkRequest(state: SessionState, turn: Turn, event: RequestEvent): Violation | null {
  const name = interactionId(event);
  const taken = state.turns
    .toArray()
    .some((t) => listBlocks(t).some((b) => "version" in b && interactionId(b) === name));
  if (taken) return violation("L04", `interaction ${name} already exists`);
  if (event.type === "form.request" && event.waits === true) return checkWaitingForm(turn, event);
  if (event.type !== "approval.request") {
    if (turn.group !== null && isMain(turn, event.run)) {
      return violation("L13", `${event.type} while group ${turn.group} is open`);
    }
    return null;
  }
  const call = findToolCall(turn, event.call);
  if (call === undefined || call.end === null)
    return violation("L19", `call ${event.call} does not exist or is not complete`);
  if (call.run !== event.run) return violation("L19", `call ${event.call} belongs to another run`);
  if (findToolResult(turn, event.call) !== undefined)
    return violation("L19", `call ${event.call} has already started`);
  if (findPendingApproval(turn, event.call) !== undefined)
    return violation("L19", `call ${event.call} already has a pending approval`);
  return null;
}

/** A blocking form may be requested where an approval may be, and also while the tool is running. */
function checkWaitingForm(turn: Turn, { call: id, run }: EventOf<"form.request">): Violation | null {
  if (id === undefined) return null;
  const call = findToolCall(turn, id);
  if (call === undefined || call.end === null)
    return violation("L19", `call ${id} does not exist or is not complete`);
  if (call.run !== run) return violation("L19", `call ${id} belongs to another run`);
  const result = findToolResult(turn, id);
  return result === undefined || result.end === null
    ? null
    : violation("L19", `call ${id} has already ended`);
}

export function checkUpdate(turn: Turn, event: UpdateEvent): Violation | null {
  const block = blockAt(turn, event.index, event.block);
  const [kind] = event.type.split(".");
  if (block === undefined || !("version" in block) || block.kind !== kind) {
    return violation("L10", `there is no ${kind} ${event.block} at index ${event.index}`);
  }
  if (event.version <= block.version) {
    return violation("L20", `version ${event.version} must be greater than ${block.version}`);
  }
  if (!(TRANSITIONS[block.kind][block.status] ?? []).includes(event.status)) {
    return violation("L20", `a ${kind} can't change from ${block.status} to ${event.status}`);
  }
  const brings = "answers" in event || "values" in event;
  const isAnswer = event.status === "answered" || event.status === "submitted";
  if (brings !== isAnswer)
    return violation(
      "L20",
      "answers require the status answered and values the status submitted, and the reverse",
    );
  if (block.kind === "approval" && event.type === "approval.update") {
    const edits = event.actions !== undefined;
    if (edits !== (event.status === "edited"))
      return violation("L20", "actions require the status edited, and the reverse");
    const isSame = event.actions?.every((action, n) => action.name === block.actions[n]?.name) ?? true;
    if (edits && (!isSame || event.actions.length !== block.actions.length)) {
      return violation("L20", "an edit can change arguments, but not which tools are called");
    }
    if (edits && !block.editable) return violation("L20", `approval ${block.key} can't be edited`);
    if (event.always === true && (event.status !== "approved" || !block.offers_always))
      return violation("L20", "always requires the status approved and an approval that offers it");
  }
  return null;
}
