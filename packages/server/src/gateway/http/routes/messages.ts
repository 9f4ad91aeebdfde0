/**
 * `POST /sessions/{session}/messages` as in 002: sends a message, and answers with the turn that answers it, as a stream or
 * whole. Leaving doesn't stop the turn. Sending again under the same id attaches to the same turn.
 */
import { type PostMessage, postMessage } from "@turnstream/protocol/schema";
import type { SessionRef } from "../../../store/refs.ts";
import { executeCommand } from "../../execute-command.ts";
import { collectResponse } from "../../sse/collect-response.ts";
import { sessionStream, type ResolveStart } from "../../sse/session-stream.ts";
import { parseIdempotencyKey, requestDigest, runIdempotent } from "../idempotency.ts";
import type { RouteResult, GatewayContext } from "../../context.ts";
import { type RouteContext, defineRoute } from "../route.ts";

const PATH = "/sessions/{session}/messages";

export const messageRoutes = defineRoute({
  method: "POST",
  path: PATH,
  summary: "Send a message; the answer comes as an event stream, or whole once it is there.",
  scope: "write",
  idempotent: "itself",
  body: postMessage,
  handle: async (call: RouteContext<PostMessage, unknown>): Promise<RouteResult> => {
    const { parts, ref, body, signal } = call;
    const { message, headers = {} } = await sendOnce(call);
    const wanted = answerTo(parts, ref, message);
    const choice = { dialect: "responses", wire: "sse", includeToolTags: body.include_tool_tags } as const;
    if (body.stream) return { status: 200, headers, stream: sessionStream(parts, ref, choice, wanted) };
    try {
      return { ...(await collectResponse(parts, ref, choice, await wanted(signal), signal)), headers };
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
async function sendOnce(call: RouteContext<PostMessage, unknown>): Promise<Sent> {
  const { parts, caller, ref, body, headers } = call;
  const key = headers.get("idempotency-key");
  if (key === undefined) return { message: await send(call, `post:${parts.env.id()}`) };
  // How the answer is told is no part of what is sent.
  const { stream: _, include_tool_tags: __, ...sent } = body;
  const { session } = ref;
  const asked = {
    route: `POST ${PATH}`,
    key: parseIdempotencyKey(key),
    digest: requestDigest(session, sent),
    session,
  };
  const answer = await runIdempotent(parts, caller, asked, async () => ({
    status: 200,
    json: { message: await send(call, `key:${key}`) },
  }));
  const { json, headers: told = {} } = answer as RouteResult & {
    readonly json: { readonly message: string };
  };
  return { message: json.message, headers: told };
}

/** @returns the message's id */
async function send(
  { parts, caller, ref, body }: RouteContext<PostMessage, unknown>,
  id: string,
): Promise<string> {
  const { message: text, content_urls, agent_id, resume_form_request_id, form_values } = body;
  const client_message_id = body.client_message_id ?? id;
  const { user_message_id = "" } = await executeCommand(parts, caller, ref, {
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

function answerTo({ feeds }: GatewayContext, ref: SessionRef, message: string): ResolveStart {
  return async (signal) => {
    const { turn, before } = await feeds.waitForTurnStart(ref, message, signal);
    return { after: before, untilTurnEnd: turn };
  };
}
