/** What an event stream needs, taken from the door that it is opened at. */
import type { EventStreamOptions } from "../sse/event-stream.ts";
import type { HttpAnswer } from "./messages.ts";
import type { Door } from "./handle-request.ts";

type StreamBody = Extract<NonNullable<HttpAnswer["body"]>, { readonly stream: unknown }>;

export function streamOptions({ parts, connections }: Door, body: StreamBody): EventStreamOptions {
  const { limits, env } = parts;
  const random = () => (env.randomBytes(1)[0] ?? 0) / 255;
  return { caller: body.caller, open: body.stream, connections, limits, random };
}
