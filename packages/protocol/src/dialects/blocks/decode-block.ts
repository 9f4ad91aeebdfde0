/**
 * The part of the `blocks` decoder that reads one content block's start, or an interaction's change.
 */
import { ERRORS, type ErrorWord } from "../../errors.ts";
import type { EventOf } from "../../events/index.ts";
import type { Action } from "../../state.ts";
import { named, type Scribe } from "../scribe.ts";
import type { BlocksFrameOf, ContentBlock, ContentBlockOf } from "./frames.ts";

export function errorWord(code: string): ErrorWord {
  return code in ERRORS ? (code as ErrorWord) : "SERVER_ERROR";
}

interface Author {
  readonly subagent?: string | null;
  readonly parent_tool_use_id?: string | null;
}

/** The run that a block belongs to: the main one, or a sub-agent's, begun when it is first seen. */
export function runFor(scribe: Scribe, turn: string, author: Author): string {
  const { subagent = null, parent_tool_use_id: call = null } = author;
  return call === null ? turn : scribe.subRun(turn, call, subagent ?? call);
}

/** Writes what a start tells; the canonical index of the block when more of it will follow. */
export function decodeStart(scribe: Scribe, turn: string, block: ContentBlock): number | null {
  switch (block.type) {
    case "thinking":
    case "text": {
      const run = runFor(scribe, turn, block);
      const on = { ...scribe.next(turn), run };
      if (block.type === "thinking") scribe.write({ type: "thinking.start", ...on });
      else scribe.write({ type: "text.start", ...on, part: block.is_part ?? false });
      return on.index;
    }
    case "file_processing": {
      const on = { ...scribe.next(turn), run: turn };
      scribe.write({ type: "files.start", ...on, files: block.files });
      return on.index;
    }
    case "tool_use":
      toolUse(scribe, turn, block);
      return null;
    case "tool_result":
      toolResult(scribe, turn, block);
      return null;
    case "form_request": {
      if (scribe.find(turn, (b) => b.kind === "form" && b.form === block.form_request_id)) return null;
      const run = runFor(scribe, turn, block);
      const on = { ...scribe.next(turn), run };
      scribe.write({ type: "form.request", ...on, form: block.form_request_id, schema: block.form_schema });
      return null;
    }
    case "payment_request":
      payment(scribe, turn, block);
      return null;
    default:
      return null;
  }
}

/** A repeat of the call or result after a cut between its frames says nothing new. */
function toolUse(scribe: Scribe, turn: string, block: ContentBlockOf<"tool_use">): void {
  const call = block.tool_use_id ?? block.id;
  if (scribe.find(turn, (b) => b.kind === "tool_call" && b.call === call) !== undefined) return;
  const run = runFor(scribe, turn, block);
  const on = { ...scribe.next(turn), run };
  scribe.write({
    type: "tool_call.start",
    ...on,
    call,
    name: block.name,
    label: block.tool_content_message ?? "",
  });
  scribe.write({ type: "tool_call.end", ...on, input: block.input });
}

function toolResult(scribe: Scribe, turn: string, block: ContentBlockOf<"tool_result">): void {
  const call = block.tool_use_id;
  const run = runFor(scribe, turn, block);
  const { name = block.tool_name, tool_content_message: label = "" } = block;
  scribe.openResult(turn, call, { run, name, label });
  const result = scribe.find(turn, (b) => b.kind === "tool_result" && b.call === call && b.end === null);
  if (result === undefined) return;
  const { status, content: preview, artifact = null, results, whole } = block;
  const runStatus = { success: "completed", error: "failed", cancelled: "cancelled" } as const;
  scribe.endRunOf(turn, call, runStatus[status] ?? "completed");
  scribe.write({
    type: "tool_result.end",
    ...named(turn, result),
    status,
    preview,
    artifact,
    ...(results === undefined ? {} : { results }),
    ...(whole === undefined ? {} : { whole }),
  });
}

function payment(scribe: Scribe, turn: string, block: ContentBlockOf<"payment_request">): void {
  const { payment: p } = block;
  if (scribe.find(turn, (b) => b.kind === "payment" && b.payment === p.payment_request_id)) return;
  const run = runFor(scribe, turn, block);
  scribe.write({
    type: "payment.request",
    ...scribe.next(turn),
    run,
    payment: p.payment_request_id,
    order_no: p.merchant_order_no,
    amount: p.amount ?? p.amount_twd ?? 0,
    currency: p.currency,
    description: p.item_desc,
    checkout_url: p.checkout_url,
  });
}

type UpdateFrame = BlocksFrameOf<"approval_result" | "interaction_update">;

export function decodeUpdate(scribe: Scribe, turn: string, frame: UpdateFrame): void {
  const block = scribe.find(turn, (b) => {
    if (frame.type === "approval_result") return "key" in b && b.key === frame.approval_key;
    return (
      (b.kind === "form" && b.form === frame.interaction_id) ||
      (b.kind === "payment" && b.payment === frame.interaction_id)
    );
  });
  if (block === undefined || !("version" in block)) return;
  const version = frame.version ?? block.version + 1;
  const on = {
    ...named(turn, block),
    version,
    ...(frame.reason === undefined ? {} : { reason: frame.reason }),
  };
  if (frame.type === "approval_result" && block.kind === "approval") {
    const actions = frame.action_requests?.map(({ name, args, label }): Action => ({
      name,
      input: args,
      ...(label === undefined ? {} : { label }),
    }));
    const status = frame.status as EventOf<"approval.update">["status"];
    scribe.write({ type: "approval.update", ...on, status, ...(actions === undefined ? {} : { actions }) });
  }
  if (frame.type === "approval_result" && block.kind === "question") {
    const answers = frame.answers === undefined ? {} : { answers: frame.answers };
    scribe.write({
      type: "question.update",
      ...on,
      status: frame.status as EventOf<"question.update">["status"],
      ...answers,
    });
  }
  if (frame.type === "interaction_update" && block.kind === "form") {
    const values = frame.values === undefined ? {} : { values: frame.values };
    scribe.write({
      type: "form.update",
      ...on,
      status: frame.status as EventOf<"form.update">["status"],
      ...values,
    });
  }
  if (frame.type === "interaction_update" && block.kind === "payment") {
    scribe.write({
      type: "payment.update",
      ...on,
      status: frame.status as EventOf<"payment.update">["status"],
    });
  }
}
