/**
 * `requestApproval`, `requestForm`, `requestPayment` and `changeInteraction` decode interactions for all dialects that
 * carry them.
 * Invariant: after a disconnect between two frames of one event, the same frames arrive twice and must count once. A
 * known request writes nothing, and the fold ignores a change whose version is known. Fields that the original formats
 * lack get defaults.
 */
import type {
  ApprovalAction,
  Block,
  EventOf,
  FormSchema,
  Json,
  Question,
  QuestionAnswer,
} from "@turnstream/protocol";
import { interactionId, QUESTION_TOOL, unansweredCalls } from "@turnstream/protocol/writer";
import { named, type EventWriter } from "./event-writer.ts";

interface ActionRequest {
  readonly name: string;
  readonly args: Json;
  readonly label?: string;
  readonly server?: string;
  readonly title?: string;
  readonly fields?: NonNullable<ApprovalAction["fields"]>;
}

/** The turn and run that a request belongs to. */
interface Where {
  readonly turn: string;
  readonly run: string;
}

function findInteraction(writer: EventWriter, turn: string, id: string): Block | undefined {
  return writer.find(turn, (block) => "version" in block && interactionId(block) === id);
}

/**
 * The fields of an approval or question as servers send them. Servers of the original format omit Turnstream's
 * additions.
 */
export interface ApprovalRequest {
  readonly action_requests: readonly ActionRequest[];
  readonly review_configs?: readonly { readonly allow_edit?: boolean; readonly allow_always?: boolean }[];
  readonly timeout_seconds?: number | null;
  readonly deadline?: number | null;
  readonly tool_use_id?: string;
  readonly digest?: string;
}

export function requestApproval(
  writer: EventWriter,
  { turn, run }: Where,
  key: string,
  request: ApprovalRequest,
): void {
  if (findInteraction(writer, turn, key) !== undefined) return;
  const { action_requests, timeout_seconds, deadline } = request;
  const due = {
    ...(typeof timeout_seconds === "number" ? { timeout_seconds } : {}),
    ...(typeof deadline === "number" ? { deadline } : {}),
  };
  const [first] = action_requests;
  const call = request.tool_use_id ?? waitingCall(writer, turn, first?.name) ?? key;
  supersedeResult(writer, turn, call);
  const on = { ...writer.next(turn), run, key, call, ...due };
  if (first?.name === QUESTION_TOOL) {
    const { questions = [] } = first.args as { readonly questions?: readonly Question[] };
    writer.write({ type: "question.request", ...on, questions });
  } else {
    const editable = request.review_configs?.some((config) => config.allow_edit !== false) ?? true;
    const offered = request.review_configs?.some((config) => config.allow_always === true) ?? false;
    writer.write({
      type: "approval.request",
      ...on,
      actions: action_requests.map(actionFrom),
      editable,
      ...(offered ? { always: true } : {}),
      ...(request.digest === undefined ? {} : { digest: request.digest }),
    });
  }
}

/**
 * Only a takeover lets a call that has a result wait for the user again. A dialect without takeovers doesn't name the
 * content that it superseded, but the result of this call is part of it.
 */
function supersedeResult(writer: EventWriter, turn: string, call: string): void {
  const result = writer.find(turn, (block) => block.kind === "tool_result" && block.call === call);
  if (result !== undefined)
    writer.write({ type: "turn.takeover", turn, blocks: [result.id], groups: [], runs: [] });
}

function actionFrom({ name, args, label, server, title, fields }: ActionRequest): ApprovalAction {
  return {
    name,
    input: args,
    ...(label === undefined ? {} : { label }),
    ...(server === undefined ? {} : { server }),
    ...(title === undefined ? {} : { title }),
    ...(fields === undefined ? {} : { fields }),
  };
}

/** For servers that don't name the pending call: returns the newest call of that tool without a result. */
function waitingCall(writer: EventWriter, turnId: string, name: string | undefined): string | undefined {
  const turn = writer.turn(turnId);
  return turn === undefined ? undefined : unansweredCalls(turn).findLast((call) => call.name === name)?.call;
}

interface FormRequest {
  readonly form_request_id: string;
  readonly form_schema: FormSchema;
  readonly waits?: true;
  readonly timeout_seconds?: number;
  readonly deadline?: number;
  readonly tool_use_id?: string;
}

/**
 * Accepts forms of the original `responses` format: their schema can lack an id, and their fields can lack `required`.
 */
export function requestForm(writer: EventWriter, { turn, run }: Where, request: FormRequest): void {
  const {
    form_request_id: form,
    form_schema: given,
    waits,
    timeout_seconds,
    deadline,
    tool_use_id,
  } = request;
  if (findInteraction(writer, turn, form) !== undefined) return;
  const fields = given.fields.map((field) => ({ ...field, required: field.required ?? false }));
  const schema = { ...given, id: given.id ?? form, fields };
  // A dialect without takeovers still shows the ended result of a call that runs again. A form can't belong to it.
  const result = writer.find(turn, (block) => block.kind === "tool_result" && block.call === tool_use_id);
  const hasCall = tool_use_id !== undefined && (result === undefined || result.end === null);
  writer.write({
    type: "form.request",
    ...writer.next(turn),
    run,
    form,
    schema,
    ...(hasCall ? { call: tool_use_id } : {}),
    ...(waits === true ? { waits } : {}),
    ...(timeout_seconds === undefined ? {} : { timeout_seconds }),
    ...(deadline === undefined ? {} : { deadline }),
  });
}

interface PaymentRequest {
  readonly payment_request_id: string;
  readonly checkout_url: string;
  readonly merchant_order_no: string;
  readonly amount_twd?: number | null;
  readonly amount?: number;
  readonly currency: string;
  readonly item_desc: string;
  readonly deadline?: number;
}

export function requestPayment(writer: EventWriter, { turn, run }: Where, request: PaymentRequest): void {
  if (findInteraction(writer, turn, request.payment_request_id) !== undefined) return;
  writer.write({
    type: "payment.request",
    ...writer.next(turn),
    run,
    payment: request.payment_request_id,
    order_no: request.merchant_order_no,
    amount: request.amount ?? request.amount_twd ?? 0,
    currency: request.currency,
    description: request.item_desc,
    checkout_url: request.checkout_url,
    ...(request.deadline === undefined ? {} : { deadline: request.deadline }),
  });
}

export interface InteractionChange {
  readonly status: string;
  readonly version?: number;
  readonly reason?: string;
  readonly action_requests?: readonly ActionRequest[];
  readonly always?: boolean;
  readonly answers?: readonly QuestionAnswer[];
  readonly values?: Readonly<Record<string, Json>>;
}

/** Writes the status as received. The fold decides which changes count. */
export function changeInteraction(
  writer: EventWriter,
  turn: string,
  id: string,
  change: InteractionChange,
): void {
  const block = findInteraction(writer, turn, id);
  if (block === undefined || !("version" in block)) return;
  const { status, version = block.version + 1, reason, action_requests, answers, values } = change;
  const always = change.always === true ? { always: true as const } : {};
  const on = { ...named(turn, block), version, ...(reason === undefined ? {} : { reason }) };
  switch (block.kind) {
    case "approval": {
      const actions = action_requests === undefined ? {} : { actions: action_requests.map(actionFrom) };
      writer.write({
        type: "approval.update",
        ...on,
        status: status as EventOf<"approval.update">["status"],
        ...actions,
        ...always,
      });
      return;
    }
    case "question": {
      const given = answers === undefined ? {} : { answers };
      writer.write({
        type: "question.update",
        ...on,
        status: status as EventOf<"question.update">["status"],
        ...given,
      });
      return;
    }
    case "form": {
      const given = values === undefined ? {} : { values };
      writer.write({
        type: "form.update",
        ...on,
        status: status as EventOf<"form.update">["status"],
        ...given,
      });
      return;
    }
    case "payment":
      writer.write({ type: "payment.update", ...on, status: status as EventOf<"payment.update">["status"] });
  }
}
