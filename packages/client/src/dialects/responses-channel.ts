/**
 * The streams of `responses` as a wire. A stream is that of a turn and ends with it: one follows the turn that runs; a
 * message that is sent while none runs brings the stream of its own. What else may begin a turn is looked for a while.
 */
import { createSseParser, type Cursor, ERRORS, errorCodeFromNumber } from "@turnstream/protocol";
import { responsesFromSse } from "@turnstream/protocol/responses";
import type { SocketCommand } from "@turnstream/protocol/schema";
import { ClientError } from "../errors.ts";
import { withJson } from "../http/api.ts";
import { refusalAtDoor, refusalIn } from "../http/error-response.ts";
import { ENDED_QUIETLY, LOST, UNAUTHENTICATED, type Wire, type WireEvents } from "../transport/channel.ts";
import type { DialectParts } from "./client-dialect.ts";
import { refusal, sendByHttp } from "../http/commands.ts";

/** How long, and how often, a turn is looked for that a command may have begun. */
const LOOKS = 20;
const LOOK_MS = 250;

interface Followed {
  cursor: Cursor | null;
  /** The stream that is being read, if any; and whether a turn speaks in it. */
  leave: AbortController | null;
  isTurn: boolean;
  /** A turn is to come, though this one is over. */
  isExpecting: boolean;
}

export function openResponses({ api, env }: DialectParts, events: WireEvents): Wire {
  const followed = new Map<string, Followed>();
  let isOver = false;

  const close = (): void => {
    isOver = true;
    for (const { leave } of followed.values()) leave?.abort();
    followed.clear();
  };
  const lost = (code: number, retryAfterMs?: number): void => {
    if (isOver) return;
    close();
    events.closed(code, retryAfterMs);
  };

  /** Until the stream ends. @returns whether anything was told */
  const read = async (
    session: string,
    one: Followed,
    response: Response,
    request: string | null,
  ): Promise<boolean> => {
    let isTold = false;
    /** The server ends the stream, while the turn goes on. */
    let isInterrupted = false;
    let retryAfterMs: number | undefined;
    const begun = (resumed: boolean): void => {
      if (request === null) return;
      events.frame({ type: "subscribed", request_id: request, session_id: session, resumed });
      request = null;
    };
    const parser = createSseParser(
      (message) => {
        const frame = responsesFromSse(message);
        if (frame === null || one.leave?.signal.aborted === true) return;
        begun(one.cursor !== null);
        one.cursor = message.id || one.cursor;
        isTold ||= frame.type !== "[DONE]";
        one.isTurn = isTold;
        isInterrupted ||= frame.type === "response.error" && isComeBack(frame.code);
        events.frame({ ...frame, session_id: session });
      },
      {
        // Others only keep the connection alive.
        onComment: (text) => {
          const told = /^(not )?resumed: /.exec(text.trim());
          if (told !== null) begun(told[1] === undefined);
        },
        onRetry: (ms) => (retryAfterMs = ms),
      },
    );
    const decoder = new TextDecoder();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    while (true) {
      const { done, value } = await reader.read();
      if (done || followed.get(session) !== one) break;
      events.heard();
      parser.push(decoder.decode(value, { stream: true }));
    }
    if (isInterrupted) lost(ENDED_QUIETLY, retryAfterMs);
    return isTold;
  };

  /** Reads what a request gives; one at a time for a session. */
  const follow = async (
    session: string,
    one: Followed,
    ask: (signal: AbortSignal) => Promise<Response>,
    request: string | null,
    refused: (response: Response) => Promise<void>,
  ): Promise<boolean> => {
    one.leave?.abort();
    const leave = new AbortController();
    one.leave = leave;
    one.isTurn = false;
    try {
      const response = await ask(leave.signal);
      if (!response.ok) {
        await refused(response);
        return false;
      }
      return await read(session, one, response, request);
    } catch (error) {
      if (leave.signal.aborted || isOver) return false;
      if (error instanceof ClientError && error.code === "UNAUTHENTICATED") lost(UNAUTHENTICATED);
      else lost(LOST);
      return false;
    } finally {
      if (one.leave === leave) one.leave = null;
    }
  };

  const look = async (session: string, one: Followed, request: string | null): Promise<boolean> => {
    const path = `/sessions/${encodeURIComponent(session)}/events?dialect=responses`;
    const headers: Record<string, string> = one.cursor === null ? {} : { "last-event-id": one.cursor };
    return follow(
      session,
      one,
      (signal) => api.request(path, { headers, signal }),
      request,
      async (response) => refuse(session, request ?? "", await refusalAtDoor(response)),
    );
  };

  const refuse = (session_id: string, request_id: string, error: ClientError): void =>
    events.frame({ session_id, ...refusal(request_id, error) });

  const expect = async (session: string, one: Followed): Promise<void> => {
    if (one.isExpecting) return;
    one.isExpecting = true;
    let looks = 0;
    while (looks < LOOKS && followed.get(session) === one) {
      // What comes after the turn that speaks now comes after it, however long that takes.
      if (one.leave === null) {
        looks += 1;
        if (await look(session, one, null)) break;
      }
      await pause();
    }
    one.isExpecting = false;
  };

  const pause = () => new Promise<void>((resolve) => env.setTimer(resolve, LOOK_MS));

  /** A stream in which nothing runs ends by itself; a turn that begins meanwhile would be over before the next look. */
  const restOf = async (session: string, one: Followed): Promise<void> => {
    for (let n = 0; n < LOOKS && isResting(session, one); n += 1) await pause();
  };
  const isResting = (session: string, one: Followed): boolean =>
    followed.get(session) === one && one.leave !== null && !one.isTurn;

  const send = async (command: SocketCommand): Promise<void> => {
    if (command.type === "ping" || command.type === "subscribe" || command.type === "unsubscribe") return;
    const { session_id: session, request_id = "" } = command;
    const one = followed.get(session);
    if (command.type === "send" && one !== undefined) await restOf(session, one);
    if (command.type !== "send" || one === undefined || one.leave !== null) {
      const isDone = await sendByHttp(api, command, (frame) => events.frame(frame));
      if (isDone && one !== undefined && command.type !== "stop") void expect(session, one);
      return;
    }
    const { type: _, session_id: __, request_id: ___, text: message, ...body } = command;
    const path = `/sessions/${encodeURIComponent(session)}/messages`;
    const post = async (signal: AbortSignal): Promise<Response> => {
      const init = withJson("POST", { ...body, message, stream: true });
      const response = await api.request(path, { ...init, signal });
      if (response.ok) events.frame({ type: "ack", request_id });
      return response;
    };
    await follow(session, one, post, null, async (response) =>
      refuse(session, request_id, await refusalIn(response)),
    );
  };

  queueMicrotask(() => {
    if (!isOver) events.opened();
  });
  return {
    subscribe(session, request, cursor) {
      followed.get(session)?.leave?.abort();
      const one: Followed = { cursor, leave: null, isTurn: false, isExpecting: false };
      followed.set(session, one);
      void look(session, one, request);
    },
    unsubscribe(session) {
      followed.get(session)?.leave?.abort();
      followed.delete(session);
    },
    send: (command) => void send(command),
    isIdle: () => [...followed.values()].every(({ leave }) => leave === null),
    close,
  };
}

function isComeBack(code: number): boolean {
  const { about, can_retry } = ERRORS[errorCodeFromNumber(code)];
  return about === "connection" && can_retry;
}
