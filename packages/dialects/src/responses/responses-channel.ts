/**
 * `openResponsesChannel` opens a channel over the SSE streams of the `responses` dialect. A stream belongs to one turn
 * and ends with it.
 * Invariant: the channel reads at most one stream per session. It follows the running turn. A message sent while no
 * turn runs returns its own stream. After other commands the channel polls for a new turn for a limited time.
 */
import { createSseParser, type Cursor, ERRORS, errorCodeFromNumber } from "@turnstream/protocol";
import { ClientError } from "@turnstream/client";
import { responsesFromSse } from "@turnstream/protocol/responses";
import type { SocketCommand } from "@turnstream/protocol/schema";
import type { Channel, ChannelEvents, DialectContext } from "../client-seam.ts";

/** Close codes of sockets, which the transport expects of every channel. */
const CLOSE_RESTART = 1012;
const CLOSE_LOST = 1006;
const CLOSE_UNAUTHENTICATED = 4401;

/** How often and at which interval to poll for a turn that a command may have started. */
const MAX_POLLS = 20;
const POLL_MS = 250;

interface FollowedSession {
  cursor: Cursor | null;
  /** The stream that is being read, if any, and whether it contains a turn. */
  stream: AbortController | null;
  hasTurn: boolean;
  /** True while the channel polls for the next turn. */
  isPolling: boolean;
}

export function openResponsesChannel(context: DialectContext, events: ChannelEvents): Channel {
  const sessions = new Map<string, FollowedSession>();
  let isClosed = false;

  const close = (): void => {
    isClosed = true;
    for (const { stream } of sessions.values()) stream?.abort();
    sessions.clear();
  };
  const disconnect = (code: number, retryAfterMs?: number): void => {
    if (isClosed) return;
    close();
    events.onClose(code, retryAfterMs);
  };

  /** Reads until the stream ends. @returns true if the stream had frames */
  const read = async (
    session: string,
    entry: FollowedSession,
    response: Response,
    request: string | null,
  ): Promise<boolean> => {
    let hasFrames = false;
    /** The server ended the stream while the turn continues. */
    let isInterrupted = false;
    let retryAfterMs: number | undefined;
    const onSubscribed = (resumed: boolean): void => {
      if (request === null) return;
      events.onFrame({ type: "subscribed", request_id: request, session_id: session, resumed });
      request = null;
    };
    const parser = createSseParser(
      (message) => {
        const frame = responsesFromSse(message);
        if (frame === null || entry.stream?.signal.aborted === true) return;
        onSubscribed(entry.cursor !== null);
        entry.cursor = message.id || entry.cursor;
        // An update can arrive between turns, so it doesn't show that a turn runs.
        hasFrames ||= frame.type !== "[DONE]" && frame.type !== "response.interaction_update";
        entry.hasTurn = hasFrames;
        isInterrupted ||= frame.type === "response.error" && canReconnect(frame.code);
        events.onFrame({ ...frame, session_id: session });
      },
      {
        // Other comments only keep the connection alive.
        onComment: (text) => {
          const match = /^(not )?resumed: /.exec(text.trim());
          if (match !== null) onSubscribed(match[1] === undefined);
        },
        onRetry: (ms) => (retryAfterMs = ms),
      },
    );
    const decoder = new TextDecoder();
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    while (true) {
      const { done, value } = await reader.read();
      if (done || sessions.get(session) !== entry) break;
      events.onReceive();
      parser.push(decoder.decode(value, { stream: true }));
    }
    if (isInterrupted) disconnect(CLOSE_RESTART, retryAfterMs);
    return hasFrames;
  };

  /** Reads the stream of a request, one at a time per session. */
  const follow = async (
    session: string,
    entry: FollowedSession,
    ask: (signal: AbortSignal) => Promise<Response>,
    request: string | null,
    refused: (response: Response) => Promise<void>,
  ): Promise<boolean> => {
    entry.stream?.abort();
    const stream = new AbortController();
    entry.stream = stream;
    entry.hasTurn = false;
    try {
      const response = await ask(stream.signal);
      if (!response.ok) {
        await refused(response);
        return false;
      }
      return await read(session, entry, response, request);
    } catch (error) {
      if (stream.signal.aborted || isClosed) return false;
      if (!isClosed)
        events.onError(
          new ClientError("OFFLINE", "The connection was lost.", { canRetry: true, cause: error }),
        );
      if (error instanceof ClientError && error.code === "UNAUTHENTICATED") disconnect(CLOSE_UNAUTHENTICATED);
      else disconnect(CLOSE_LOST);
      return false;
    } finally {
      if (entry.stream === stream) entry.stream = null;
    }
  };

  const poll = async (session: string, entry: FollowedSession, request: string | null): Promise<boolean> => {
    const path = `/sessions/${encodeURIComponent(session)}/events?dialect=responses`;
    const headers: Record<string, string> = entry.cursor === null ? {} : { "last-event-id": entry.cursor };
    return follow(
      session,
      entry,
      (signal) => context.request(path, { headers, signal }),
      request,
      async (response) => refuse(session, request ?? "", await context.readError(response, "connect")),
    );
  };

  const refuse = (session_id: string, request_id: string, error: ClientError): void =>
    events.onFrame({ type: "error", session_id, request_id, original: error });

  const pollForTurn = async (session: string, entry: FollowedSession): Promise<void> => {
    if (entry.isPolling) return;
    entry.isPolling = true;
    let polls = 0;
    while (polls < MAX_POLLS && sessions.get(session) === entry) {
      // A new turn follows the turn that is being streamed, so don't count polls until that stream ends.
      if (entry.stream === null) {
        polls += 1;
        if (await poll(session, entry, null)) break;
      }
      await pause();
    }
    entry.isPolling = false;
  };

  const pause = () => new Promise<void>((resolve) => context.env.setTimer(resolve, POLL_MS));

  /**
   * A stream without a running turn ends by itself. A turn that starts in the meantime could end before the next poll,
   * so wait for the stream to end first.
   */
  const waitForIdleStream = async (session: string, entry: FollowedSession): Promise<void> => {
    for (let n = 0; n < MAX_POLLS && isIdleStream(session, entry); n += 1) await pause();
  };
  const isIdleStream = (session: string, entry: FollowedSession): boolean =>
    sessions.get(session) === entry && entry.stream !== null && !entry.hasTurn;

  const send = async (command: SocketCommand): Promise<void> => {
    if (command.type === "ping" || command.type === "subscribe" || command.type === "unsubscribe") return;
    const { session_id: session, request_id = "" } = command;
    const entry = sessions.get(session);
    if (command.type === "send" && entry !== undefined) await waitForIdleStream(session, entry);
    if (command.type !== "send" || entry === undefined || entry.stream !== null) {
      const reply = await context.sendCommand(command);
      events.onFrame(reply);
      if (reply.type === "ack" && entry !== undefined && command.type !== "stop")
        void pollForTurn(session, entry);
      return;
    }
    const { type: _, session_id: __, request_id: ___, text: message, ...body } = command;
    const path = `/chats/${encodeURIComponent(session)}/messages`;
    const post = async (signal: AbortSignal): Promise<Response> => {
      const response = await context.request(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...body, message, stream: true }),
        signal,
      });
      if (response.ok) events.onFrame({ type: "ack", request_id });
      return response;
    };
    await follow(session, entry, post, null, async (response) =>
      refuse(session, request_id, await context.readError(response, "command")),
    );
  };

  queueMicrotask(() => {
    if (!isClosed) events.onOpen();
  });
  return {
    subscribe(session, request, cursor) {
      sessions.get(session)?.stream?.abort();
      const entry: FollowedSession = { cursor, stream: null, hasTurn: false, isPolling: false };
      sessions.set(session, entry);
      void poll(session, entry, request);
    },
    unsubscribe(session) {
      sessions.get(session)?.stream?.abort();
      sessions.delete(session);
    },
    send: (command) => void send(command),
    isIdle: () => [...sessions.values()].every(({ stream }) => stream === null),
    close,
  };
}

function canReconnect(code: number): boolean {
  const { about, can_retry } = ERRORS[errorCodeFromNumber(code)];
  return about === "connection" && can_retry;
}
