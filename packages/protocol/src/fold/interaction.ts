/**
 * `requestInteraction` and `updateInteraction` fold requests for interactions and their versioned updates.
 * Invariant: an update counts only if its version is higher. A final status never changes. After the end of its turn,
 * only a payment or a form that does not wait can change. `TRANSITIONS` is the only list of allowed status changes.
 */
import type { EventOf } from "../events/index.ts";
import type { InteractionBlock, RequestBlock, Turn } from "../state.ts";
import { blockBase } from "./new-block.ts";
import { blockAt, findRun, isFree, placeItem, showItem, withItem } from "./edit.ts";

type RequestEvent = EventOf<"approval.request" | "question.request" | "form.request" | "payment.request">;
type UpdateEvent = EventOf<"approval.update" | "question.update" | "form.update" | "payment.update">;

/** Returns true while the user (or, for a payment, its provider) can still change it. */
export function isPending(block: InteractionBlock): boolean {
  return block.status in TRANSITIONS[block.kind];
}

/** Returns true for the kinds of which one can outlive its turn. */
export function isRequest(block: InteractionBlock): block is RequestBlock {
  return block.kind === "payment" || block.kind === "form";
}

/** Returns true for payments and non-blocking forms. Approvals, questions and blocking forms end with their turn. */
export function outlivesTurn(block: InteractionBlock): boolean {
  return block.kind === "payment" || (block.kind === "form" && !block.waits);
}

/** The allowed next states of each state of an interaction. A state that is not listed is final. */
export const TRANSITIONS: Readonly<
  Record<InteractionBlock["kind"], Readonly<Record<string, readonly string[]>>>
> = {
  approval: { pending: ["approved", "edited", "rejected", "timed_out", "cancelled"] },
  question: { pending: ["answered", "dismissed", "timed_out", "cancelled"] },
  form: { pending: ["submitted", "declined", "cancelled", "expired"] },
  payment: {
    pending: ["processing", "cancelled", "expired"],
    processing: ["succeeded", "failed", "expired"],
  },
};

type Named = { readonly key: string } | { readonly form: string } | { readonly payment: string };

/** Returns the id by which commands name an interaction. */
export function interactionId(of: Named): string {
  return "key" in of ? of.key : "form" in of ? of.form : of.payment;
}

export function requestInteraction(turn: Turn, event: RequestEvent, seq: number): Turn {
  if (turn.status !== "running" || findRun(turn, event.run)?.status !== "running") return turn;
  if (!isFree(turn, event.index)) return turn;
  const block = newInteraction(event, seq);
  return showItem(placeItem(turn, block), block);
}

function newInteraction(event: RequestEvent, seq: number): InteractionBlock {
  const base = {
    ...blockBase(event, seq, true),
    call: event.call ?? null,
    version: 0,
    changed: seq,
    by: null,
    reason: null,
    decided_at: null,
    status: "pending" as const,
  };
  switch (event.type) {
    case "approval.request":
      return {
        ...base,
        kind: "approval",
        key: event.key,
        actions: event.actions,
        editable: event.editable,
        timeout_seconds: event.timeout_seconds ?? null,
        deadline: event.deadline ?? null,
        digest: event.digest ?? null,
        offers_always: event.always ?? false,
        edited: null,
        always: false,
      };
    case "question.request":
      return {
        ...base,
        kind: "question",
        key: event.key,
        questions: event.questions,
        timeout_seconds: event.timeout_seconds ?? null,
        deadline: event.deadline ?? null,
        answers: null,
        message: null,
      };
    case "form.request":
      return {
        ...base,
        kind: "form",
        form: event.form,
        schema: event.schema,
        waits: event.waits ?? false,
        timeout_seconds: event.timeout_seconds ?? null,
        deadline: event.deadline ?? null,
        values: null,
      };
    case "payment.request": {
      const { payment, order_no, amount, currency, description, checkout_url, deadline = null } = event;
      const order = { payment, order_no, amount, currency, description, checkout_url, deadline };
      return { ...base, kind: "payment", ...order };
    }
  }
}

export function updateInteraction(turn: Turn, event: UpdateEvent, seq: number): Turn {
  const block = blockAt(turn, event.index, event.block);
  if (block === undefined || !("version" in block) || event.version <= block.version) return turn;
  // A final status stays: a later version can only come from a writer that did not check the status.
  if (!isPending(block)) return turn;
  if (turn.status !== "running" && !outlivesTurn(block)) return turn;
  const updated = updateOf(block, event);
  if (updated === block) return turn;
  const { version, at: decided_at } = event;
  return withItem(turn, {
    ...updated,
    version,
    changed: seq,
    decided_at,
    by: event.by ?? null,
    reason: event.reason ?? null,
  });
}

function updateOf(block: InteractionBlock, event: UpdateEvent): InteractionBlock {
  switch (event.type) {
    case "approval.update":
      if (block.kind !== "approval") return block;
      return {
        ...block,
        status: event.status,
        edited: event.actions ?? null,
        always: event.always ?? false,
      };
    case "question.update":
      return block.kind === "question"
        ? { ...block, status: event.status, answers: event.answers ?? null, message: event.message ?? null }
        : block;
    case "form.update":
      return block.kind === "form" ? { ...block, status: event.status, values: event.values ?? null } : block;
    case "payment.update":
      return block.kind === "payment" ? { ...block, status: event.status } : block;
  }
}

/** Cancels an interaction that was pending inside a turn that ended. */
export function withdraw(block: InteractionBlock, seq: number, at: number): InteractionBlock {
  if (outlivesTurn(block) || block.status !== "pending") return block;
  return { ...block, status: "cancelled", version: block.version + 1, changed: seq, decided_at: at };
}
