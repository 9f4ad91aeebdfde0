/**
 * `messageRoutes` serve `POST /sessions/{session}/messages`: sends a message and returns the answering turn in the
 * `responses` dialect, as a stream or as one object. `POST /chats/{chat}/messages` is the same route with the field
 * names of that dialect.
 * Invariant: the turn continues if the client disconnects. Without `stream`, no response waits for a user: a message
 * that is queued behind a turn that waits for one gets 202 with the status `queued`. A repeated request with the same idempotency key or
 * `client_message_id` attaches to the same turn and sends no second message. The stored response is only the message's
 * id. The requested format of the answer is not part of the digest. `include_tool_tags` is accepted in the body and in
 * the query.
 */
import { z } from "zod";
import { postMessage, type PostMessageReply, restBodies } from "@turnstream/protocol/schema";
import type { SessionRef } from "../../../util/refs.ts";
import { executeCommand } from "../../execute-command.ts";
import type { StreamFormat } from "../../encoding/stream-format.ts";
import { collectResponse } from "../../sse/collect-response.ts";
import { sessionStream, type ResolveSubscribeOptions } from "../../sse/session-stream.ts";
import { parseIdempotencyKey, requestDigest, runIdempotent } from "../idempotency.ts";
import type { RouteResult, GatewayContext } from "../../context.ts";
import { type Route, type RouteContext, defineRoute } from "../route.ts";

const PATH = "/sessions/{session}/messages";

const query = z.strictObject({ include_tool_tags: z.enum(["true", "false"]).exactOptional() });
type MessageQuery = z.infer<typeof query>;
type MessageContext = RouteContext<z.infer<typeof restBodies.send>, MessageQuery>;

const shared = {
  method: "POST",
  scope: "write",
  idempotent: "itself",
  opensStream: true,
  hasLargeBody: true,
  query,
} as const;

const send = defineRoute({
  ...shared,
  path: PATH,
  summary: "Sends a message. Returns the answer as an event stream, or as a whole when it is complete.",
  body: restBodies.send,
  handle: sendAndAnswer,
});

const sendToChat = defineRoute({
  ...shared,
  path: "/chats/{session}/messages",
  summary:
    "The same for clients of the `responses` dialect, whose messages have `message` in place of `text`.",
  body: postMessage.transform(({ message: text, ...rest }) => ({ text, ...rest })),
  handle: sendAndAnswer,
});

export const messageRoutes: readonly Route[] = [send, sendToChat];

async function sendAndAnswer(routeContext: MessageContext): Promise<RouteResult> {
  const { context, ref, body, query: inQuery, signal } = routeContext;
  const includeToolTags = body.include_tool_tags || inQuery.include_tool_tags === "true";
  const { message, headers } = await sendOnce(routeContext);
  const resolveOptions = resolveAnsweringTurn(context, ref, message);
  const format = { dialect: "responses", wire: "sse", includeToolTags, includeHidden: false } as const;
  if (body.stream)
    return { status: 200, headers, stream: sessionStream(context, ref, format, resolveOptions) };
  try {
    return { ...(await answerOrQueue(context, { ref, message, format, resolveOptions }, signal)), headers };
  } catch (error) {
    if (!signal.aborted) throw error;
    // The client has disconnected.
    return { status: 204 };
  }
}

interface AwaitedAnswer {
  readonly ref: SessionRef;
  readonly message: string;
  readonly format: StreamFormat;
  readonly resolveOptions: ResolveSubscribeOptions;
}

/** Returns the answer when it is complete or waits for a user, or 202 if an earlier turn waits for one. */
async function answerOrQueue(
  context: GatewayContext,
  answer: AwaitedAnswer,
  signal: AbortSignal,
): Promise<RouteResult> {
  const decided = new AbortController();
  const both = AbortSignal.any([signal, decided.signal]);
  const started = answer.resolveOptions(both);
  const queued = waitUntilBlocked(context, answer, both);
  // The one that comes later fails when it is aborted.
  for (const promise of [started, queued]) promise.catch(() => undefined);
  try {
    const first = (await Promise.race([started, queued])) ?? (await started);
    if ("status" in first) return first;
    return await collectResponse(context, answer.ref, answer.format, first, signal);
  } finally {
    decided.abort();
  }
}

/** Resolves when a turn before the message waits for a user. @returns null if the message is no longer queued */
async function waitUntilBlocked(
  context: GatewayContext,
  { ref, message, format }: AwaitedAnswer,
  signal: AbortSignal,
): Promise<(RouteResult & { readonly status: number }) | null> {
  while (true) {
    const { turn, before } = await context.feeds.waitForBlockedTurn(ref, signal);
    const options = { after: before, untilTurnEnd: turn };
    const { json } = await collectResponse(context, ref, format, options, signal);
    const reply = json as PostMessageReply;
    // Otherwise the turn has ended in the meantime, and the next one may wait too.
    if (reply.status !== "requires_interaction") continue;
    const waiting = await context.store.queuedMessages.list(ref);
    if (!waiting.some(({ id }) => id === message)) return null;
    return { status: 202, json: { ...reply, status: "queued", final_text: "" } };
  }
}

/**
 * Stores only the message's id as the idempotent response. The answer is sent again, possibly as a stream.
 * @returns the message's id, and the headers of a repeated request
 */
async function sendOnce(routeContext: MessageContext) {
  const { context, caller, ref, body } = routeContext;
  const key = routeContext.headers.get("idempotency-key");
  if (key === undefined)
    return { message: await sendMessage(routeContext, `post:${context.env.id()}`), headers: {} };
  // The format of the answer is not part of the message.
  const { stream: _, include_tool_tags: __, ...sent } = body;
  const { session } = ref;
  const request = {
    route: `POST ${PATH}`,
    key: parseIdempotencyKey(key),
    digest: requestDigest(session, sent),
    session,
  };
  const result = await runIdempotent(context, caller, request, async () => ({
    status: 200,
    json: { message: await sendMessage(routeContext, `key:${key}`) },
  }));
  const { json, headers = {} } = result as RouteResult & { readonly json: { readonly message: string } };
  return { message: json.message, headers };
}

/** @returns the message's id */
async function sendMessage({ context, caller, ref, body }: MessageContext, id: string): Promise<string> {
  const { stream: _, include_tool_tags: __, client_message_id = id, ...message } = body;
  const { user_message_id = "" } = await executeCommand(context, caller, ref, {
    type: "send",
    session_id: ref.session,
    client_message_id,
    ...message,
  });
  return user_message_id;
}

function resolveAnsweringTurn(
  { feeds }: GatewayContext,
  ref: SessionRef,
  message: string,
): ResolveSubscribeOptions {
  return async (signal) => {
    const { turn, before } = await feeds.waitForTurnStart(ref, message, signal);
    return { after: before, untilTurnEnd: turn };
  };
}
