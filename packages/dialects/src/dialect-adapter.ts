/**
 * `DialectAdapter` adapts a channel of another dialect to the transport, which accepts only native frames. It decodes
 * frames into events at positions that the decoder assigns.
 * Invariant: a decoder continues only if its position is the cursor of the session store; otherwise it restarts and
 * sends a snapshot. If the dialect has no user messages, frames are buffered until the reply to a sent message, because
 * their turn may answer it.
 */
import { ClientError } from "@turnstream/client";
import {
  type Cursor,
  fold,
  formatCursor,
  SCHEMA_VERSION,
  type SessionEvent,
  snapshot,
} from "@turnstream/protocol";
import type { SocketCommand } from "@turnstream/protocol/schema";
import type { Channel, ChannelEvents, DialectConnection, DialectContext, Frame } from "./client-seam.ts";
import type { Decoder, Decoding } from "./decoder/decoder.ts";

export interface DialectAdapterOptions<State extends Decoding, DialectFrame> {
  readonly decoder: Decoder<State, DialectFrame>;
  /** Loads the existing content as frames, and the cursor to subscribe from; for dialects with a history. */
  readonly load?: (
    context: DialectContext,
    sessionId: string,
  ) => Promise<{ readonly frames: readonly DialectFrame[]; readonly cursor: Cursor }>;
  /** Whether the dialect has user messages. If not, the adapter adds the messages that this client sends. */
  readonly sendsUserMessages: boolean;
}

type SendCommand = Extract<SocketCommand, { readonly type: "send" }>;

interface SessionDecoder<State> {
  decoder: State;
  /** The decoder's state differs from the store's, so the next start sends a snapshot. */
  isFresh: boolean;
  /** The pending request, until the server sends `subscribed`. */
  request: string | null;
  /**
   * Frames buffered until the reply to a sent message, because their turn may answer that message; null if none are
   * buffered.
   */
  bufferedFrames: Frame[] | null;
}

/** Frames that are the same in every dialect. */
const COMMON_FRAMES = new Set(["ack", "error", "unsubscribed", "pong"]);

export class DialectAdapter<State extends Decoding, DialectFrame> implements DialectConnection {
  readonly #options: DialectAdapterOptions<State, DialectFrame>;
  readonly #context: DialectContext;
  readonly #sessions = new Map<string, SessionDecoder<State>>();
  /** Messages in flight, by request id. */
  readonly #sent = new Map<string, SendCommand>();

  constructor(options: DialectAdapterOptions<State, DialectFrame>, context: DialectContext) {
    this.#options = options;
    this.#context = context;
  }

  openChannel(open: (events: ChannelEvents) => Channel, events: ChannelEvents): Channel {
    let isClosed = false;
    // Replies over the previous channel never arrive. The frames buffered for them were not decoded, so the server
    // sends them again.
    this.#sent.clear();
    for (const session of this.#sessions.values()) session.bufferedFrames = null;
    const emit = (frame: Frame): void => {
      if (!isClosed) events.onFrame(frame);
    };
    const channel = open({ ...events, onFrame: (frame) => this.#onFrame(frame, emit) });
    const send =
      channel.send ??
      ((command) => void this.#context.sendCommand(command).then((reply) => this.#onFrame(reply, emit)));
    return {
      subscribe: (sessionId, request, cursor) =>
        void this.#subscribe(channel, emit, sessionId, request, cursor),
      unsubscribe: (sessionId) => channel.unsubscribe(sessionId),
      send: (command) => {
        this.#trackSend(command);
        send(command);
      },
      isIdle: () => channel.isIdle?.() ?? false,
      close() {
        isClosed = true;
        channel.close();
      },
    };
  }

  async #subscribe(
    channel: Channel,
    emit: (frame: Frame) => void,
    sessionId: string,
    request: string,
    cursor: Cursor | null,
  ): Promise<void> {
    const existing = this.#sessions.get(sessionId);
    if (
      existing !== undefined &&
      cursor === formatCursor(existing.decoder.state) &&
      existing.decoder.cursor !== null
    ) {
      existing.request = request;
      channel.subscribe(sessionId, request, existing.decoder.cursor);
      return;
    }
    const session: SessionDecoder<State> = {
      decoder: this.#options.decoder.start,
      isFresh: true,
      request,
      bufferedFrames: null,
    };
    this.#sessions.set(sessionId, session);
    try {
      const history = await this.#options.load?.(this.#context, sessionId);
      if (this.#sessions.get(sessionId) !== session || session.request !== request) return;
      for (const frame of history?.frames ?? [])
        session.decoder = this.#options.decoder.decode(session.decoder, frame).decoder;
      if (history !== undefined) session.decoder = { ...session.decoder, cursor: history.cursor };
      channel.subscribe(sessionId, request, history?.cursor ?? null);
    } catch (error) {
      const original =
        error instanceof ClientError
          ? error
          : new ClientError("SERVER_ERROR", "The history can't be read.", { cause: error });
      emit({ type: "error", request_id: request, original });
    }
  }

  #onFrame(frame: Frame, emit: (frame: Frame) => void): void {
    if (COMMON_FRAMES.has(frame.type)) {
      emit(frame);
      return this.#onReply(frame, emit);
    }
    const sessionId = String(frame["session_id"]);
    const session = this.#sessions.get(sessionId) ?? this.#onlySession();
    if (session === undefined) return;
    if (frame.type === "subscribed") return this.#onSubscribed(session, frame, emit);
    // A server of the original format sends no `subscribed`.
    if (session.bufferedFrames !== null) {
      session.bufferedFrames.push(frame);
      return;
    }
    if (session.request !== null)
      this.#onSubscribed(
        session,
        { type: "subscribed", request_id: session.request, session_id: sessionId, resumed: true },
        emit,
      );
    const { decoder, events } = this.#options.decoder.decode(
      session.decoder,
      frame as unknown as DialectFrame,
    );
    session.decoder = decoder;
    for (const event of events) emit(toNativeFrame(event, sessionId));
  }

  /** Some servers don't name the session of a frame. This is unambiguous only with one session. */
  #onlySession(): SessionDecoder<State> | undefined {
    return this.#sessions.size === 1 ? [...this.#sessions.values()][0] : undefined;
  }

  #onSubscribed(session: SessionDecoder<State>, frame: Frame, emit: (frame: Frame) => void): void {
    session.request = null;
    const isResumed = frame["resumed"] === true;
    // The stream starts from its first event, so the loaded history would appear twice.
    if (!isResumed) session.decoder = this.#options.decoder.start;
    const resumed = isResumed && !session.isFresh;
    session.isFresh = false;
    const { head: _, ...rest } = frame;
    emit({ reason: resumed ? "cursor" : "fresh", ...rest, resumed });
    if (resumed) return;
    const { state } = session.decoder;
    emit({
      type: "snapshot",
      session_id: frame["session_id"],
      event_id: formatCursor(state),
      snapshot: snapshot(state),
    });
  }

  #trackSend(command: SocketCommand): void {
    const { request_id } = command;
    if (command.type !== "send" || request_id === undefined || this.#options.sendsUserMessages) return;
    this.#sent.set(request_id, command);
    const session = this.#sessions.get(command.session_id);
    if (session !== undefined) session.bufferedFrames ??= [];
  }

  #onReply(frame: Frame, emit: (frame: Frame) => void): void {
    const request = String(frame["request_id"]);
    const command = this.#sent.get(request);
    if (command === undefined) return;
    this.#sent.delete(request);
    const session = this.#sessions.get(command.session_id);
    if (session === undefined) return;
    if (frame.type === "ack" && session.request === null) this.#addMessage(session, command, frame, emit);
    const { bufferedFrames } = session;
    session.bufferedFrames = null;
    for (const buffered of bufferedFrames ?? []) this.#onFrame(buffered, emit);
  }

  /** Adds a message that this client sent, if the dialect has no user messages. */
  #addMessage(
    session: SessionDecoder<State>,
    command: SendCommand,
    frame: Frame,
    emit: (frame: Frame) => void,
  ): void {
    const { state } = session.decoder;
    const message = frame["user_message_id"];
    const on = { v: SCHEMA_VERSION, at: this.#context.env.now(), epoch: Math.max(1, state.epoch) };
    const events: SessionEvent[] = [];
    const write = (draft: object): void => {
      const { epoch, ...stamp } = on;
      const seq = state.seq + events.length + 1;
      events.push({ ...stamp, id: `${epoch}-${seq}`, ...draft } as SessionEvent);
    };
    if (state.session === "") write({ type: "session.start", session: command.session_id, number: 0 });
    write({
      type: "message.add",
      message: typeof message === "string" ? message : `c.${command.client_message_id}`,
      text: command.text,
      ...(command.content_urls === undefined ? {} : { files: command.content_urls.map((url) => ({ url })) }),
    });
    session.decoder = { ...session.decoder, state: events.reduce(fold, state) };
    for (const event of events) emit(toNativeFrame(event, command.session_id));
  }
}

function toNativeFrame(event: SessionEvent, sessionId: string): Frame {
  return { ...event, session_id: sessionId };
}
