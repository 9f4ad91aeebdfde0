/** Routes that act on turns and on messages that wait for one: stop, try again, take back. */
import { restReplies } from "@turnstream/protocol/schema";
import { retryTurn } from "../../../session/messages/retry-turn.ts";
import { withdrawMessage } from "../../../session/messages/send.ts";
import { stopTurn, type StopTurnOptions } from "../../../session/messages/stop-turn.ts";
import type { SessionRef } from "../../../store/refs.ts";
import type { Caller } from "../../caller.ts";
import { RequestError } from "../../errors.ts";
import type { RouteResult, GatewayContext } from "../../context.ts";
import { type Route, defineRoute } from "../route.ts";

const stop = defineRoute({
  method: "POST",
  path: "/sessions/{session}/stop",
  summary: "Stops the turn that runs. The receipt says whether there was one.",
  scope: "write",
  responseSchema: restReplies.stop,
  handle: ({ parts, caller, ref }) => stopped(parts, caller, ref),
});

const stopOne = defineRoute({
  method: "POST",
  path: "/sessions/{session}/turns/{turn}/stop",
  summary: "Stops this turn, if it is the one that runs.",
  scope: "write",
  responseSchema: restReplies.stop,
  handle: ({ parts, caller, ref, params }) => stopped(parts, caller, ref, { turn: params["turn"] ?? "" }),
});

async function stopped(
  parts: GatewayContext,
  caller: Caller,
  ref: SessionRef,
  wish: StopTurnOptions = {},
): Promise<RouteResult> {
  const { receipt, turn } = await stopTurn(parts, ref, { userId: caller.user, ...wish });
  return { status: receipt === "over" ? 200 : 202, json: { receipt, turn_id: turn } };
}

const retry = defineRoute({
  method: "POST",
  path: "/sessions/{session}/turns/{turn}/retry",
  summary: "Tries the last turn again, if it failed in a way that allows it or was stopped.",
  scope: "write",
  idempotent: true,
  responseSchema: restReplies.retry,
  async handle({ parts, ref, params, newId }) {
    const { receipt, turn } = await retryTurn(parts, ref, params["turn"] ?? "", { id: newId });
    return { status: receipt === "busy" ? 200 : 202, json: { receipt, turn_id: turn } };
  },
});

const withdraw = defineRoute({
  method: "DELETE",
  path: "/sessions/{session}/messages/{message}",
  summary: "Takes back a message that waits, by its `user_message_id`.",
  scope: "write",
  async handle({ parts, ref, params }) {
    if (!(await withdrawMessage(parts, ref, params["message"] ?? "")))
      throw new RequestError(
        "NOT_FOUND",
        "No such message waits: a turn has it, or it was taken back before.",
      );
    return { status: 204 };
  },
});

export const turnRoutes: readonly Route[] = [stop, stopOne, retry, withdraw];
