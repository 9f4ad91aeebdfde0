/**
 * Stands between a wire of another dialect and the link, which knows native frames only: what comes is decoded into events
 * at positions of the decoder's own, and a decoder goes on where the store above stands. Never folds for the store.
 */
import {
  type Cursor,
  type Decoded,
  type SessionEvent,
  fold,
  formatCursor,
  SCHEMA_VERSION,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import type { SocketCommand } from "@turnstream/protocol/schema";
import type { Api } from "../http/api.ts";
import type { Frame, Wire, WireEvents } from "../transport/channel.ts";
import type { DialectParts, DialectWires } from "./client-dialect.ts";
import { refusal, sendByHttp } from "../http/commands.ts";

/** What every decoder keeps. */
interface Decoding {
  readonly state: SessionState;
  readonly at: number;
  readonly cursor: Cursor | null;
}

export interface Translation<Decoder extends Decoding, DialectFrame> {
  readonly dialect: {
    readonly start: Decoder;
    decode(decoder: Decoder, frame: DialectFrame): Decoded<Decoder>;
  };
  /** What is there already, as frames, and where to subscribe: for dialects that have a history. */
  readonly load?: (
    api: Api,
    session: string,
  ) => Promise<{ readonly frames: readonly DialectFrame[]; readonly cursor: Cursor }>;
  /** Whether it tells what people write. Otherwise this client shows what it has sent itself. */
  readonly tellsMessages: boolean;
}

type Send = Extract<SocketCommand, { readonly type: "send" }>;

interface Told<Decoder> {
  decoder: Decoder;
  /** What is here is not what the store has: it gets a snapshot with the next beginning. */
  isFresh: boolean;
  /** Until the server has said that it begins. */
  request: string | null;
  /** Frames that wait for the answer to a message, since their turn may be the answer to it; null: none do. */
  held: Frame[] | null;
}

/** Frames that are the same in every dialect. */
const COMMON = new Set(["ack", "error", "unsubscribed", "pong"]);

export class Translator<Decoder extends Decoding, DialectFrame> implements DialectWires {
  readonly #how: Translation<Decoder, DialectFrame>;
  readonly #parts: DialectParts;
  readonly #told = new Map<string, Told<Decoder>>();
  /** Messages under way, by their request. */
  readonly #sent = new Map<string, Send>();

  constructor(how: Translation<Decoder, DialectFrame>, parts: DialectParts) {
    this.#how = how;
    this.#parts = parts;
  }

  open(open: (events: WireEvents) => Wire, events: WireEvents): Wire {
    let isOver = false;
    // Answers over the wire before never come. What was held for them was not decoded, and is told again.
    this.#sent.clear();
    for (const told of this.#told.values()) told.held = null;
    const emit = (frame: Frame): void => {
      if (!isOver) events.frame(frame);
    };
    const wire = open({ ...events, frame: (frame) => this.#take(frame, emit) });
    const { api } = this.#parts;
    const send =
      wire.send ?? ((command) => void sendByHttp(api, command, (frame) => this.#take(frame, emit)));
    return {
      subscribe: (session, request, cursor) => void this.#subscribe(wire, emit, session, request, cursor),
      unsubscribe: (session) => wire.unsubscribe(session),
      send: (command) => {
        this.#note(command);
        send(command);
      },
      isIdle: () => wire.isIdle?.() ?? false,
      close() {
        isOver = true;
        wire.close();
      },
    };
  }

  async #subscribe(
    wire: Wire,
    emit: (frame: Frame) => void,
    session: string,
    request: string,
    cursor: Cursor | null,
  ): Promise<void> {
    const known = this.#told.get(session);
    if (
      known !== undefined &&
      cursor === formatCursor(known.decoder.state) &&
      known.decoder.cursor !== null
    ) {
      known.request = request;
      wire.subscribe(session, request, known.decoder.cursor);
      return;
    }
    const told: Told<Decoder> = { decoder: this.#how.dialect.start, isFresh: true, request, held: null };
    this.#told.set(session, told);
    try {
      const found = await this.#how.load?.(this.#parts.api, session);
      if (this.#told.get(session) !== told || told.request !== request) return;
      for (const frame of found?.frames ?? [])
        told.decoder = this.#how.dialect.decode(told.decoder, frame).decoder;
      if (found !== undefined) told.decoder = { ...told.decoder, cursor: found.cursor };
      wire.subscribe(session, request, found?.cursor ?? null);
    } catch (error) {
      emit(refusal(request, error));
    }
  }

  #take(frame: Frame, emit: (frame: Frame) => void): void {
    if (COMMON.has(frame.type)) {
      emit(frame);
      return this.#settled(frame, emit);
    }
    const session = String(frame["session_id"]);
    const told = this.#told.get(session) ?? this.#only();
    if (told === undefined) return;
    if (frame.type === "subscribed") return this.#begun(told, frame, emit);
    // A server that was built from the documents alone doesn't say that it begins: it begins.
    if (told.held !== null) {
      told.held.push(frame);
      return;
    }
    if (told.request !== null)
      this.#begun(
        told,
        { type: "subscribed", request_id: told.request, session_id: session, resumed: true },
        emit,
      );
    const { decoder, events } = this.#how.dialect.decode(told.decoder, frame as unknown as DialectFrame);
    told.decoder = decoder;
    for (const event of events) emit(native(event, session));
  }

  /** Frames of some servers don't name their session: they can only have one. */
  #only(): Told<Decoder> | undefined {
    return this.#told.size === 1 ? [...this.#told.values()][0] : undefined;
  }

  #begun(told: Told<Decoder>, frame: Frame, emit: (frame: Frame) => void): void {
    told.request = null;
    const isResumed = frame["resumed"] === true;
    // What follows is told from its beginning; what was loaded before it would be told twice.
    if (!isResumed) told.decoder = this.#how.dialect.start;
    const resumed = isResumed && !told.isFresh;
    told.isFresh = false;
    const { head: _, ...rest } = frame;
    emit({ reason: resumed ? "cursor" : "fresh", ...rest, resumed });
    if (resumed) return;
    const { state } = told.decoder;
    emit({
      type: "snapshot",
      session_id: frame["session_id"],
      event_id: formatCursor(state),
      snapshot: snapshot(state),
    });
  }

  #note(command: SocketCommand): void {
    const { request_id } = command;
    if (command.type !== "send" || request_id === undefined || this.#how.tellsMessages) return;
    this.#sent.set(request_id, command);
    const told = this.#told.get(command.session_id);
    if (told !== undefined) told.held ??= [];
  }

  #settled(frame: Frame, emit: (frame: Frame) => void): void {
    const request = String(frame["request_id"]);
    const command = this.#sent.get(request);
    if (command === undefined) return;
    this.#sent.delete(request);
    const told = this.#told.get(command.session_id);
    if (told === undefined) return;
    if (frame.type === "ack" && told.request === null) this.#add(told, command, frame, emit);
    const { held } = told;
    told.held = null;
    for (const one of held ?? []) this.#take(one, emit);
  }

  /** What this client has sent is shown by itself where the wire doesn't tell it. */
  #add(told: Told<Decoder>, command: Send, frame: Frame, emit: (frame: Frame) => void): void {
    const { state } = told.decoder;
    const message = frame["user_message_id"];
    const on = { v: SCHEMA_VERSION, at: this.#parts.env.now(), epoch: Math.max(1, state.epoch) };
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
    told.decoder = { ...told.decoder, state: events.reduce(fold, state) };
    for (const event of events) emit(native(event, command.session_id));
  }
}

function native(event: SessionEvent, session: string): Frame {
  return { ...event, session_id: session };
}
