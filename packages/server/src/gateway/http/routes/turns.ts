/**
 * `turnRoutes` stop and retry turns, and withdraw queued messages.
 * Invariant: all act only on the session in the path. Stopping is safe to repeat. Status 202 means that the command
 * was accepted, 200 that there was nothing to do; the receipt has the details. A repeated retry with the same
 * idempotency key starts no second turn.
 */
import { restReplies } from "@turnstream/protocol/schema";
import { retryTurn } from "../../../session/messages/retry-turn.ts";
import { withdrawMessage } from "../../../session/messages/send.ts";
import { stopTurn, type StopTurnOptions } from "../../../session/messages/stop-turn.ts";
import type { SessionRef } from "../../../util/refs.ts";
import type { Caller } from "../../caller.ts";
import { RequestError } from "../../errors.ts";
import type { RouteResult, GatewayContext } from "../../context.ts";
import { type Route, defineRoute } from "../route.ts";

const stop = defineRoute({
  method: "POST",
  path: "/sessions/{session}/stop",
  summary: "Stops the running turn. The receipt reports whether there was one.",
  scope: "write",
  isUrgent: true,
  responseSchema: restReplies.stop,
  handle: ({ context, caller, ref }) => handleStop(context, caller, ref),
});

const stopById = defineRoute({
  method: "POST",
  path: "/sessions/{session}/turns/{turn}/stop",
  summary: "Stops this turn, if it is running.",
  scope: "write",
  isUrgent: true,
  responseSchema: restReplies.stop,
  handle: ({ context, caller, ref, params }) =>
    handleStop(context, caller, ref, { turn: params["turn"] ?? "" }),
});

async function handleStop(
  context: GatewayContext,
  caller: Caller,
  ref: SessionRef,
  options: StopTurnOptions = {},
): Promise<RouteResult> {
  const { receipt, turn } = await stopTurn(context, ref, { userId: caller.user, ...options });
  return { status: receipt === "over" ? 200 : 202, json: { receipt, turn_id: turn } };
}

const retry = defineRoute({
  method: "POST",
  path: "/sessions/{session}/turns/{turn}/retry",
  summary: "Retries the last turn, if it was stopped or failed with a retryable error.",
  scope: "write",
  idempotent: true,
  responseSchema: restReplies.retry,
  async handle({ context, caller, ref, params, newId }) {
    const limits = await context.limiter.ownerLimits(caller);
    const options = { env: { id: newId }, limits };
    const { receipt, turn } = await retryTurn(context, ref, params["turn"] ?? "", options);
    return { status: receipt === "busy" ? 200 : 202, json: { receipt, turn_id: turn } };
  },
});

const withdraw = defineRoute({
  method: "DELETE",
  path: "/sessions/{session}/messages/{message}",
  summary: "Withdraws a queued message, by its `user_message_id`.",
  scope: "write",
  async handle({ context, ref, params }) {
    if (!(await withdrawMessage(context, ref, params["message"] ?? "")))
      throw new RequestError(
        "NOT_FOUND",
        "The message is not queued: a turn has taken it, or it was withdrawn.",
      );
    return { status: 204 };
  },
});

export const turnRoutes: readonly Route[] = [stop, stopById, retry, withdraw];
