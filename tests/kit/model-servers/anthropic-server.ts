/**
 * `startAnthropicServer` starts a local server with Anthropic's streaming Messages API. model-server.ts defines its
 * replies and faults.
 */
import {
  cutText,
  type ModelServer,
  type CreateReply,
  type Reply,
  startModelServer,
  type TlsIdentity,
  type Wire,
} from "./model-server.ts";

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

const STOPS = { end: "end_turn", length: "max_tokens", refusal: "refusal" } as const;

/** @param tls serves HTTPS instead of HTTP */
export async function startAnthropicServer(replying: CreateReply, tls?: TlsIdentity): Promise<ModelServer> {
  return startModelServer(wire, replying, tls);
}

const wire: Wire = {
  basePath: "/v1",
  frames: ({ path, body }, reply) =>
    path === "/v1/messages" ? eventsOf(String(body["model"]), reply).map(frameOf) : null,
  errorFrame: (_, error) => frameOf({ type: "error", error }),
  errorBody: (error) => ({ type: "error", error, request_id: "req_1" }),
};

function frameOf(event: Event): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function eventsOf(model: string, { parts = [], stop, usage, chunk }: Reply): Event[] {
  const { input, output } = usage ?? { input: 10, output: 20 };
  const hasCalls = parts.some((part) => part.type === "call");
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: 1 },
  };
  const events: Event[] = [{ type: "message_start", message }, { type: "ping" }];
  for (const [index, part] of parts.entries()) {
    const block = (content_block: unknown) =>
      events.push({ type: "content_block_start", index, content_block });
    const delta = (value: unknown) => events.push({ type: "content_block_delta", index, delta: value });
    if (part.type === "text") {
      block({ type: "text", text: "" });
      for (const text of cutText(part.text, chunk)) delta({ type: "text_delta", text });
    } else if (part.type === "thinking") {
      block({ type: "thinking", thinking: "", signature: "" });
      for (const thinking of cutText(part.text, chunk)) delta({ type: "thinking_delta", thinking });
      delta({ type: "signature_delta", signature: part.signature ?? "signature" });
    } else {
      block({ type: "tool_use", id: part.id, name: part.name, input: {} });
      delta({ type: "input_json_delta", partial_json: "" });
      for (const partial_json of cutText(part.input, chunk))
        delta({ type: "input_json_delta", partial_json });
    }
    events.push({ type: "content_block_stop", index });
  }
  const stop_reason = stop === undefined && hasCalls ? "tool_use" : STOPS[stop ?? "end"];
  events.push({
    type: "message_delta",
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: output },
  });
  events.push({ type: "message_stop" });
  return events;
}
