/**
 * `answerElicitation` answers an elicitation of a server: the user fills in a form inside the turn.
 * Invariant: a request is declined if its call is not certain, because a form must not reach another user. It is also
 * declined if a form can't express it, or after 10 forms in one call. Forms of one call are shown one after the other,
 * and none after the call has ended. The server gets only values that match its schema.
 */
import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import type { Json } from "@turnstream/protocol";
import { hostOf, awaitFormInTool } from "@turnstream/server/internal";
import { formFrom } from "./elicit-form.ts";
import type { RunningCall } from "./running-call.ts";

/** Maximum forms per call. Further ones are declined. */
const MAX_FORMS = 10;

export interface ElicitOptions {
  /** Title of the form: the name of the server. */
  readonly title: string;
  readonly timeoutSeconds: number;
  /** Reports to the operator why a request was declined. */
  onDeclined(why: string): void;
}

export async function answerElicitation(
  params: ElicitRequest["params"],
  call: RunningCall | null,
  options: ElicitOptions,
): Promise<ElicitResult> {
  const decline = (why: string): ElicitResult => {
    options.onDeclined(why);
    return { action: "decline" };
  };
  if (call === null) return decline("the server requested input, but it is not certain for which call");
  if (!("requestedSchema" in params))
    return decline("the server asked to open a URL, which is not supported");
  if (++call.asked > MAX_FORMS)
    return decline(`the server requested more than ${MAX_FORMS} forms in one call`);
  const form = formFrom(
    { message: params.message, requestedSchema: params.requestedSchema as unknown as Json },
    options.title,
  );
  if (form === null) return decline("the server requested input that a form can't express");
  const { scope, call: step } = hostOf(call.context);
  const ask = async (): Promise<ElicitResult> => {
    if (call.isOver) return { action: "cancel" };
    const answer = await awaitFormInTool(scope, step, form.schema, {
      timeoutSeconds: options.timeoutSeconds,
    });
    if (answer.status === "declined") return { action: "decline" };
    if (answer.status !== "submitted") return { action: "cancel" };
    const read = form.read(answer.values);
    if ("problem" in read) {
      options.onDeclined(`the submitted values do not match the requested schema: ${read.problem}`);
      return { action: "cancel" };
    }
    return { action: "accept", content: read.content as NonNullable<ElicitResult["content"]> };
  };
  const answered = call.turn.then(ask, ask);
  call.turn = answered.catch(() => {});
  return answered;
}
