/** `responsesToSse` writes a frame of the `responses` dialect as an SSE message, and `responsesFromSse` reads one. */
import { formatSse, toWireJson } from "../../sse.ts";
import type { ResponsesFrame } from "./frames.ts";

/** Formats a frame as an SSE message. The cursor becomes the `id:` line. */
export function responsesToSse(frame: ResponsesFrame): string {
  const { event_id, ...data } = frame;
  const id = event_id === undefined ? {} : { id: event_id };
  if (frame.type === "[DONE]") return formatSse({ data: "[DONE]", ...id });
  return formatSse({ event: frame.type, data: toWireJson(data), ...id });
}

/** Returns null if the data is neither `[DONE]` nor JSON with a `type`. */
export function responsesFromSse(message: {
  readonly data: string;
  readonly id?: string | undefined;
}): ResponsesFrame | null {
  const event_id = message.id === undefined || message.id === "" ? {} : { event_id: message.id };
  if (message.data === "[DONE]") return { type: "[DONE]", ...event_id };
  try {
    const data: unknown = JSON.parse(message.data);
    if (typeof data !== "object" || data === null || !("type" in data)) return null;
    return { ...data, ...event_id } as ResponsesFrame;
  } catch {
    return null;
  }
}
