/** Tests `openEventStreams`: the requests of event streams, and the frames of their responses. */
import { expect, test } from "vitest";
import type { ClientError } from "../../src/errors.ts";
import type { Api } from "../../src/http/api.ts";
import { openEventStreams } from "../../src/transport/sse-chunk.ts";
import type { Frame } from "../../src/transport/channel.ts";

interface Asked {
  readonly path: string;
  readonly after: string | null;
  readonly signal: AbortSignal | null;
}

function open(answer: string) {
  const asked: Asked[] = [];
  const frames: Frame[] = [];
  const ends: number[] = [];
  const errors: ClientError[] = [];
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    asked.push({ path, after: new Headers(init.headers).get("last-event-id"), signal: init.signal ?? null });
    return new Response(answer);
  };
  let end: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const wire = openEventStreams(
    { request } as unknown as Api,
    {
      onOpen() {},
      onReceive() {},
      onFrame: (frame) => void frames.push(frame),
      onError: (error) => void errors.push(error),
      onClose(code) {
        ends.push(code);
        end?.();
      },
    },
    "native",
  );
  return { wire, asked, frames, ends, errors, ended };
}

// Without the cursor, a server sends everything again, and the final state is the same. So this checks the requests.
test("a subscription with a cursor sends it as last-event-id; one without a cursor sends none", async () => {
  const { wire, asked, ended } = open("");
  wire.subscribe("s 1", "s1.1", "7-12");
  wire.subscribe("s2", "s2.1", null);
  await ended;
  expect(asked.map(({ path, after }) => [path, after])).toEqual([
    ["/sessions/s%201/events?dialect=native", "7-12"],
    ["/sessions/s2/events?dialect=native", null],
  ]);
});

test("the first subscribed frame replies to the request; later ones are restarts by the server", async () => {
  const subscribed = 'data: {"type":"subscribed","resumed":false,"reason":"slow"}\n\n';
  const { wire, frames, ends, ended } = open(`${subscribed}${subscribed}`);
  wire.subscribe("s", "s1.1", null);
  await ended;
  expect(frames.map((frame) => [frame.type, frame["request_id"], frame["session_id"]])).toEqual([
    ["subscribed", "s1.1", "s"],
    ["subscribed", undefined, "s"],
  ]);
  expect(ends).toEqual([1012]);
});

test("an error as the first frame rejects the request", async () => {
  const error = { type: "error", error: "SERVER_ERROR", message: "The log is unreachable.", can_retry: true };
  const { wire, frames } = open(`data: ${JSON.stringify(error)}\n\n`);
  wire.subscribe("s", "s1.1", null);
  await expect.poll(() => frames).toMatchObject([{ ...error, request_id: "s1.1", session_id: "s" }]);
});

test.each([
  [{ error: "SERVER_ERROR", can_retry: true }, "unavailable"],
  [{ error: "SERVER_ERROR", can_retry: false }, "gone"],
  [{ error: "NOT_FOUND" }, "gone"],
  [{ error: "ADDED_LATER", can_retry: true }, "unavailable"],
  [{ error: "ADDED_LATER" }, "unavailable"],
])("a later error ends the subscription: %j is %s", async (error, reason) => {
  const subscribed = 'data: {"type":"subscribed","resumed":true}\n\n';
  const { wire, frames } = open(`${subscribed}data: ${JSON.stringify({ type: "error", ...error })}\n\n`);
  wire.subscribe("s", "s1.1", null);
  await expect.poll(() => frames.at(-1)).toMatchObject({ type: "unsubscribed", session_id: "s", reason });
});
