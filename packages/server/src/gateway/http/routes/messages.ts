/**
 * `POST /sessions/{session}/messages` as in 002: sends a message, and answers with the turn that answers it, as a stream or
 * whole. Leaving doesn't stop the turn. Sending again under the same id attaches to the same turn.
 */
import { type PostMessage, postMessage } from "@turnstream/protocol/schema";
import type { Ref } from "../../../store/refs.ts";
import { carryOut } from "../../commands.ts";
import { collectTurn } from "../../sse/collect-turn.ts";
import { sessionStream, type Wanted } from "../../sse/session-stream.ts";
import { type Answer, type Call, type GatewayParts, route } from "../route.ts";

export const messages = route({
  method: "POST",
  path: "/sessions/{session}/messages",
  does: "Send a message; the answer comes as an event stream, or whole once it is there.",
  action: "write",
  creates: "itself",
  body: postMessage,
  handle: async (call: Call<PostMessage, unknown>): Promise<Answer> => {
    const { parts, ref, body, signal } = call;
    const wanted = answerTo(parts, ref, await send(call));
    const choice = { dialect: "responses", wire: "sse", includeToolTags: body.include_tool_tags } as const;
    if (body.stream) return { status: 200, stream: sessionStream(parts, ref, choice, wanted) };
    try {
      return await collectTurn(parts, ref, choice, await wanted(signal), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      // They have left: nobody gets it.
      return { status: 204 };
    }
  },
});

/** @returns the message's id */
async function send({ parts, caller, ref, body, headers }: Call<PostMessage, unknown>): Promise<string> {
  const { message: text, content_urls, agent_id, resume_form_request_id, form_values } = body;
  const key = headers.get("idempotency-key");
  const client_message_id =
    body.client_message_id ?? (key === undefined ? `post:${parts.env.id()}` : `key:${key}`);
  const { user_message_id = "" } = await carryOut(parts, caller, ref, {
    type: "send",
    session_id: ref.session,
    client_message_id,
    text,
    ...(content_urls === undefined ? {} : { content_urls }),
    ...(agent_id === undefined ? {} : { agent_id }),
    ...(resume_form_request_id === undefined ? {} : { resume_form_request_id }),
    ...(form_values === undefined ? {} : { form_values }),
  });
  return user_message_id;
}

function answerTo({ feeds }: GatewayParts, ref: Ref, message: string): Wanted {
  return async (signal) => {
    const { turn, before } = await feeds.turnOf(ref, message, signal);
    return { after: before, until: turn };
  };
}
