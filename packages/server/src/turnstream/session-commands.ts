/**
 * `createSessionCommands` gives the server's own code the commands on sessions: create, ask, stream, send, wait,
 * stop, decide and read.
 * Invariant: every command runs in the app's tenant. The caller is trusted: it decides which user may do what. A
 * message with an id is sent once, so `ask` and `stream` with the same id give the same turn, in any process, as long
 * as the store remembers the id.
 */
import type { SessionEvent, Turn } from "@turnstream/protocol";
import { createSessionFeeds, type SessionFeeds } from "../gateway/feed/session-feeds.ts";
import type { CommandBackend } from "../session/backend.ts";
import { type ApprovalDecision, decideApproval } from "../session/interactions/decide-approval.ts";
import type { TransitionResult } from "../store/interactions.ts";
import { readHistory, type SessionHistory } from "../session/history/read-history.ts";
import { readTurnEvents } from "../session/history/read-turn-events.ts";
import { TurnError } from "../session/history/turn-error.ts";
import { createSession } from "../session/lifecycle/create.ts";
import { type SendMessageInput, sendMessage } from "../session/messages/send.ts";
import { stopTurn } from "../session/messages/stop-turn.ts";
import { isStoreError } from "../store/errors.ts";
import type { Session } from "../store/sessions.ts";
import { systemEnv } from "../util/env.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import { answerText, createTurnStream, type TurnStream } from "./turn-stream.ts";

/** A text, or a message with files, options or an id. */
export type SessionMessage = string | (Omit<SendMessageInput, "id"> & { readonly id?: string });

export interface WaitOptions {
  /** Ends the wait with its reason. The turn continues. @default none: waits until the turn has ended */
  readonly signal?: AbortSignal;
}

export interface SessionCommands {
  /** Creates a session of a user. With an id, the call can be repeated. */
  create(options: { readonly user: string; readonly id?: string; readonly title?: string }): Promise<Session>;
  /**
   * Sends a message and returns the text of its answer when the turn has ended. A turn that waits for a user's decision
   * continues only after it. Repeated with the same message id within 30 days, it returns the same answer.
   * @example await app.sessions.ask(session, { id: "m1", text: "Good morning" })
   * @throws TurnError if the turn failed or was stopped, or the message was withdrawn
   */
  ask(session: string, message: SessionMessage, options?: WaitOptions): Promise<string>;
  /**
   * Sends a message when the iteration starts, and iterates the events of its turn up to `turn.end`. Iterated again, or
   * repeated with the same message id, it yields the same turn from its first event.
   * @example for await (const text of app.sessions.stream(session, "Good morning").text()) process.stdout.write(text)
   * @throws TurnError if the message was withdrawn, or the log lost events
   */
  stream(session: string, message: SessionMessage, options?: WaitOptions): TurnStream;
  /**
   * Sends a message, which starts a turn or waits for the running one.
   * @returns the id of the message; a message with an id that was sent before is not sent again
   */
  send(session: string, message: SessionMessage): Promise<string>;
  /**
   * Waits until the turn of a message has ended, however it ended.
   * @throws TurnError if the message was withdrawn, or is older than the newest 1,000 turns
   */
  waitForTurn(session: string, message: string, options?: WaitOptions): Promise<Turn>;
  /** Stops the running turn. @returns the id of the turn, or null if none runs */
  stop(session: string): Promise<string | null>;
  /** Approves, edits or rejects a call that waits for approval. */
  decide(session: string, decision: ApprovalDecision): Promise<TransitionResult>;
  /** Reads the newest turns of a session. */
  read(session: string, options?: { readonly turns?: number }): Promise<SessionHistory>;
}

export interface SessionCommandsContext {
  readonly tenant: string;
  /** Opens the backend at the first command. */
  readonly open: () => Promise<CommandBackend>;
  /** Called before a wait for a turn: starts the worker, if this process runs turns. */
  readonly runTurns: () => Promise<unknown>;
  /** Aborted when the app closes. */
  readonly closing: AbortSignal;
  readonly onError: ErrorHandler;
}

/** Its feeds only wait for turns: no client subscribes to them. */
const WITHOUT_SUBSCRIBERS = {
  limits: { snapshotTurns: 1 },
  createBlobUrlResolver: () => (blob: string) => blob,
};

export function createSessionCommands(context: SessionCommandsContext): SessionCommands {
  const { tenant, open, runTurns, closing, onError } = context;
  let feeds: SessionFeeds | null = null;

  async function openFeeds(): Promise<SessionFeeds> {
    const { store, log } = await open();
    await runTurns();
    if (feeds !== null) return feeds;
    const opened = createSessionFeeds({ ...WITHOUT_SUBSCRIBERS, store, log, onError });
    closing.addEventListener("abort", () => void opened.close(), { once: true });
    return (feeds = opened);
  }

  const untilClosed = ({ signal }: WaitOptions): AbortSignal =>
    signal === undefined ? closing : AbortSignal.any([signal, closing]);

  async function waitForStart(session: string, message: string, signal: AbortSignal) {
    try {
      return await (await openFeeds()).waitForTurnStart({ tenant, session }, message, signal);
    } catch (error) {
      throw isStoreError(error, "NOT_FOUND") ? new TurnError("WITHDRAWN", `message ${message}`) : error;
    }
  }

  async function waitForTurn(session: string, message: string, options: WaitOptions = {}): Promise<Turn> {
    const signal = untilClosed(options);
    const { turn } = await waitForStart(session, message, signal);
    return (await (await openFeeds()).waitForTurnEnd({ tenant, session }, turn, signal)).turn;
  }

  async function send(session: string, message: SendMessageInput): Promise<string> {
    await sendMessage(await open(), { tenant, session }, message);
    return message.id;
  }

  async function* readEvents(
    session: string,
    message: SendMessageInput,
    options: WaitOptions,
  ): AsyncGenerator<SessionEvent, void> {
    const signal = untilClosed(options);
    await openFeeds();
    const started = await waitForStart(session, await send(session, message), signal);
    yield* readTurnEvents(await open(), { tenant, session }, started, signal);
  }

  return {
    async create({ user, ...options }) {
      return createSession(await open(), { tenant, user }, options);
    },
    async ask(session, message, options) {
      await openFeeds();
      return answerText(await waitForTurn(session, await send(session, withId(message)), options));
    },
    stream(session, message, options = {}) {
      const sent = withId(message);
      return createTurnStream(() => readEvents(session, sent, options));
    },
    send: (session, message) => send(session, withId(message)),
    waitForTurn,
    async stop(session) {
      return (await stopTurn(await open(), { tenant, session }, {})).turn;
    },
    async decide(session, decision) {
      return decideApproval(await open(), { tenant, session }, decision);
    },
    async read(session, options = {}) {
      return readHistory(await open(), { tenant, session }, options);
    },
  };
}

function withId(message: SessionMessage): SendMessageInput {
  const { id = systemEnv.id(), ...rest } = typeof message === "string" ? { text: message } : message;
  return { ...rest, id };
}
