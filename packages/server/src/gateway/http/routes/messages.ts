/**
 * `POST /sessions/{session}/messages` as in 002: sends a message, and answers with the turn that answers it, as a stream or
 * whole. Leaving doesn't stop the turn. Sending again under the same id attaches to the same turn.
 */
import { type PostMessage, postMessage } from "@turnstream/protocol/schema";
import type { Ref } from "../../../store/refs.ts";
import { carryOut } from "../../execute-command.ts";
import { collectTurn } from "../../sse/collect-response.ts";
import { sessionStream, type Wanted } from "../../sse/session-stream.ts";
import { checkKey, digestOf, once } from "../idempotency.ts";
import { type Answer, type Call, type GatewayParts, route } from "../route.ts";

const PATH = "/sessions/{session}/messages";

export const messages = route({
  method: "POST",
  path: PATH,
  does: "Send a message; the answer comes as an event stream, or whole once it is there.",
  action: "write",
  creates: "itself",
  body: postMessage,
  handle: async (call: Call<PostMessage, unknown>): Promise<Answer> => {
    const { parts, ref, body, signal } = call;
    const { message, headers = {} } = await sendOnce(call);
    const wanted = answerTo(parts, ref, message);
    const choice = { dialect: "responses", wire: "sse", includeToolTags: body.include_tool_tags } as const;
    if (body.stream) return { status: 200, headers, stream: sessionStream(parts, ref, choice, wanted) };
    try {
      return { ...(await collectTurn(parts, ref, choice, await wanted(signal), signal)), headers };
    } catch (error) {
      if (!signal.aborted) throw error;
      // They have left: nobody gets it.
      return { status: 204 };
    }
  },
});

interface Sent {
  /** Its id. */
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What is kept under the key is which message it was: the answer is told anew, and may be a stream. */
async function sendOnce(call: Call<PostMessage, unknown>): Promise<Sent> {
  const { parts, caller, ref, body, headers } = call;
  const key = headers.get("idempotency-key");
  if (key === undefined) return { message: await send(call, `post:${parts.env.id()}`) };
  // How the answer is told is no part of what is sent.
  const { stream: _, include_tool_tags: __, ...sent } = body;
  const { session } = ref;
  const asked = { route: `POST ${PATH}`, key: checkKey(key), digest: digestOf(session, sent), session };
  const answer = await once(parts, caller, asked, async () => ({
    status: 200,
    json: { message: await send(call, `key:${key}`) },
  }));
  const { json, headers: told = {} } = answer as Answer & { readonly json: { readonly message: string } };
  return { message: json.message, headers: told };
}

/** @returns the message's id */
async function send({ parts, caller, ref, body }: Call<PostMessage, unknown>, id: string): Promise<string> {
  const { message: text, content_urls, agent_id, resume_form_request_id, form_values } = body;
  const client_message_id = body.client_message_id ?? id;
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
