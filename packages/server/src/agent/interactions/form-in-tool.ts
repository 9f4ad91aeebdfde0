/**
 * `awaitFormInTool` requests a form while a tool runs, as MCP elicitation does, and waits for it like for an approval.
 *
 * Invariant: the form is written inside the open result of the call. During the wait, the timeouts of the turn and the
 * tool are paused, and the tool's slot is free. A tool that runs again gets its earlier forms and decisions, if it
 * requests the same forms in the same order.
 */
import { listBlocks, type FormBlock, type FormSchema, type Json } from "@turnstream/protocol";
import type { InteractionChange } from "../../store/interactions.ts";
import { canonicalJson } from "../../store/rules/canonical-json.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import { startKey } from "../../engine/attempt/journal-keys.ts";
import { type StepCall } from "../run/journal-entries.ts";
import type { RunContext } from "../run/run-context.ts";
import { awaitDecision, writePending } from "../../engine/interactions/await-decision.ts";
import { formIdFor } from "./form-request.ts";

export type FormAnswer =
  | { readonly status: "submitted"; readonly values: Readonly<Record<string, Json>> }
  | { readonly status: "declined" | "expired" | "cancelled" };

/** Forms requested per call. A tool that runs again must request the same forms in the same order. */
const requestCounts = new WeakMap<TurnAttempt, Map<string, number>>();

/** Throws the attempt's abort reason if the turn is stopped or handed over during the wait. */
export async function awaitFormInTool(
  scope: RunContext,
  call: StepCall,
  schema: FormSchema,
  options: { readonly timeoutSeconds: number },
): Promise<FormAnswer> {
  const { attempt, toolClock, toolSlot } = scope;
  const block = await writeFormInTool(scope, call, schema, options.timeoutSeconds);
  toolClock?.pause();
  try {
    // A tool that can't run again must not leave the process.
    const canPark = attempt.fromJournal(startKey(call.call)) === undefined;
    const request = { schema: block.schema, waits: true };
    const decide = () =>
      attempt.drainGate.waitInside(() => awaitDecision(attempt, block, request, { canPark }));
    return answerOf(await (toolSlot?.releaseWhile(attempt.signal, decide) ?? decide()));
  } finally {
    toolClock?.resume();
  }
}

async function writeFormInTool(
  { attempt, run }: RunContext,
  { call }: StepCall,
  schema: FormSchema,
  timeoutSeconds: number,
): Promise<FormBlock> {
  const { context, row } = attempt;
  const forms = formsOf(attempt, call);
  const known = forms[nextOf(attempt, call)];
  if (known !== undefined && canonicalJson(known.schema) === canonicalJson(schema)) return known;
  const form = formIdFor(row.turn, call, forms.length + 1);
  return writePending(attempt, "form", {
    type: "form.request",
    run,
    form,
    call,
    schema,
    waits: true,
    timeout_seconds: timeoutSeconds,
    deadline: context.env.now() + timeoutSeconds * 1_000,
  });
}

function nextOf(attempt: TurnAttempt, call: string): number {
  const counts = requestCounts.get(attempt) ?? new Map<string, number>();
  requestCounts.set(attempt, counts);
  const n = counts.get(call) ?? 0;
  counts.set(call, n + 1);
  return n;
}

function formsOf({ turn }: TurnAttempt, call: string): FormBlock[] {
  return listBlocks(turn).filter(
    (block): block is FormBlock => block.kind === "form" && block.waits && block.call === call,
  );
}

function answerOf({ status, body }: InteractionChange): FormAnswer {
  if (status === "submitted") {
    const { values } = body as unknown as { readonly values: Readonly<Record<string, Json>> };
    return { status, values };
  }
  return { status: status === "declined" || status === "expired" ? status : "cancelled" };
}
