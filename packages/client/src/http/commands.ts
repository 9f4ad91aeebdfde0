/**
 * `sendCommand` sends a command as an HTTP request, for channels without commands, and returns its acknowledgment.
 * Invariant: it resolves once the server has accepted the command. The answer arrives only through the subscription, so
 * the response stream of a message is closed at once.
 */
import type { RestReply } from "@turnstream/protocol/schema";
import type { Transport, TransportCommand } from "../transport/transport.ts";
import { type Api, jsonInit } from "./api.ts";
import { errorFromResponse } from "./error-response.ts";

type Ack = Awaited<ReturnType<Transport["command"]>>;

export async function sendCommand(api: Api, command: TransportCommand): Promise<Ack> {
  const session = `/sessions/${encodeURIComponent(command.session_id)}`;
  switch (command.type) {
    case "send": {
      const { type: _, session_id: __, ...message } = command;
      return sendMessage(api, `${session}/messages`, { ...message, stream: true });
    }
    case "stop": {
      const { turn_id: turn } = command;
      const path =
        turn === undefined ? `${session}/stop` : `${session}/turns/${encodeURIComponent(turn)}/stop`;
      const { turn_id, receipt } = (await api.json(path, { method: "POST" })) as RestReply<"stop">;
      return { receipt, ...(turn_id === null ? {} : { turn_id }) };
    }
    case "cancel_payment":
    case "refresh_payment": {
      const action = command.type === "cancel_payment" ? "cancel" : "refresh";
      const path = `${session}/payments/${encodeURIComponent(command.payment_request_id)}/${action}`;
      const { payment } = (await api.json(path, jsonInit("POST", {}))) as RestReply<"payment">;
      return { payment_status: payment.status };
    }
    default: {
      const { type, body, name } = interactionCommand(command);
      await api.json(`${session}/interactions/${encodeURIComponent(name)}/${type}`, jsonInit("POST", body));
      return {};
    }
  }
}

/**
 * Only the acknowledgment matters: the answer arrives through the subscription, so the response stream is closed at
 * once.
 */
async function sendMessage(api: Api, path: string, body: object): Promise<Ack> {
  const leave = new AbortController();
  const response = await api.request(path, { ...jsonInit("POST", body), signal: leave.signal });
  if (!response.ok) throw await errorFromResponse(response);
  leave.abort();
  return {};
}

type InteractionCommand = Extract<
  TransportCommand,
  { readonly type: "decide" | "answer" | "dismiss" | "submit" | "decline" }
>;

function interactionCommand(command: InteractionCommand): {
  readonly type: string;
  readonly name: string;
  readonly body: object;
} {
  const { type, session_id: _, ...rest } = command;
  if ("approval_key" in rest) {
    const { approval_key: name, ...body } = rest;
    return { type, name, body };
  }
  const { form_request_id: name, ...body } = rest;
  return { type, name, body };
}
