/**
 * `probeStream` opens an event stream of the newest session through a URL, and measures whether its first events arrive
 * while the stream stays open.
 * Invariant: it never throws, creates nothing, and closes the stream. A proxy that buffers passes nothing on, or parts
 * that end in the middle of an event, until the stream ends.
 */

export type StreamProbe =
  | { readonly result: "in pieces" }
  | { readonly result: "buffered"; readonly waitedMs: number }
  | { readonly result: "unreachable"; readonly url: string }
  | { readonly result: "refused"; readonly url: string; readonly status: number }
  | { readonly result: "skipped"; readonly reason: string };

export interface ProbeOptions {
  /** The address of the gateway as clients see it, with or without `/api/v1`. */
  readonly url: string;
  readonly session: string;
  readonly token: string;
  readonly waitMs: number;
}

export async function probeStream({ url, session, token, waitMs }: ProbeOptions): Promise<StreamProbe> {
  const base = url.replace(/\/+$/, "").replace(/\/api\/v1$/, "");
  const address = `${base}/api/v1/sessions/${encodeURIComponent(session)}/events?dialect=native`;
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), waitMs);
  try {
    const response = await fetch(address, {
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
      signal: stop.signal,
    });
    if (response.status !== 200) return { result: "refused", url: base, status: response.status };
    return (await hasWholeEvent(response))
      ? { result: "in pieces" }
      : { result: "buffered", waitedMs: waitMs };
  } catch {
    // Some proxies also buffer the head of the response, so a timeout means the same before and after it.
    return stop.signal.aborted
      ? { result: "buffered", waitedMs: waitMs }
      : { result: "unreachable", url: base };
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

/** Resolves as soon as everything that has arrived ends with the end of an event. Returns false if the stream ends. */
async function hasWholeEvent({ body }: Response): Promise<boolean> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (/^data:/m.test(text) && /\n\r?\n$/.test(text)) return true;
  }
  return false;
}
