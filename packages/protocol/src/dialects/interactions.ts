/**
 * `approvalRequest`, `formRequest` and `paymentFrame` encode interactions for all dialects that carry them.
 * Invariant: `shapes.ts` declares the same fields, and the decoders of `@turnstream/dialects` read them. Clients recognize a question
 * by `QUESTION_TOOL`. The call of a form that ends its turn is never sent, because it is hidden.
 */
import type {
  ApprovalAction,
  ApprovalBlock,
  FormBlock,
  PaymentBlock,
  Question,
  QuestionBlock,
} from "../state.ts";

/** Returns the request that asks the user to approve a call or to answer questions. */
export function approvalRequest(block: ApprovalBlock | QuestionBlock) {
  const { timeout_seconds, deadline } = block;
  const due = { timeout_seconds, deadline, tool_use_id: block.call ?? "" };
  if (block.kind === "question") {
    return {
      action_requests: [questionRequest(block.questions)],
      review_configs: [{ require_approval: false }],
      ...due,
    };
  }
  const review = {
    require_approval: true,
    allow_edit: block.editable,
    ...(block.offers_always ? { allow_always: true } : {}),
  };
  const review_configs = block.actions.map(() => review);
  const digest = block.digest === null ? {} : { digest: block.digest };
  return { action_requests: block.actions.map(actionRequest), review_configs, ...due, ...digest };
}

/** The tool name by which `blocks` clients distinguish a question from an approval. */
export const QUESTION_TOOL = "ask_user_question";

export function actionRequest({ name, input, ...shown }: ApprovalAction) {
  return { name, args: input, ...shown };
}

function questionRequest(questions: readonly Question[]) {
  return { name: QUESTION_TOOL, args: { questions } };
}

export function formRequest(block: FormBlock) {
  const { form, schema, timeout_seconds, deadline, call } = block;
  return {
    form_request_id: form,
    form_schema: schema,
    ...(block.waits ? { waits: true as const } : {}),
    ...(timeout_seconds === null ? {} : { timeout_seconds }),
    ...(deadline === null ? {} : { deadline }),
    // The call of a form that ends its turn is hidden, so clients don't know it.
    ...(block.waits && call !== null ? { tool_use_id: call } : {}),
  };
}

export function paymentFrame(block: PaymentBlock) {
  return {
    payment_request_id: block.payment,
    checkout_url: block.checkout_url,
    merchant_order_no: block.order_no,
    amount_twd: block.currency === "TWD" ? block.amount : null,
    amount: block.amount,
    currency: block.currency,
    status: block.status,
    item_desc: block.description,
    ...(block.deadline === null ? {} : { deadline: block.deadline }),
  };
}
