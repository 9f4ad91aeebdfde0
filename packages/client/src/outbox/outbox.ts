/**
 * `createOutbox` creates the outbox of one session. It stores messages until they appear in the log; `machine.ts` has
 * the rules.
 * Invariant: only `stepOutbox` changes a message, and its effects run in order. After `switchUser`, messages of another
 * user are neither shown nor sent, and stay in that user's storage. A full outbox rejects a message instead of dropping
 * one. It has a timer and a storage subscription only while its session is in use or it is sending.
 */
import type { SessionState } from "@turnstream/protocol";
import { toClientError, ClientError } from "../errors.ts";
import type { ClientEnv } from "../env.ts";
import type { Reporter } from "../report.ts";
import type { MessageInput, SendResult } from "../session/session.ts";
import {
  canDiscard,
  loadOutbox,
  MAX_MESSAGES,
  type OutboxEffect,
  type OutboxInput,
  stepOutbox,
} from "./machine.ts";
import { createMessage, type OutboxMessage } from "./message.ts";
import { createOutboxStorage } from "./storage.ts";

export interface OutboxOptions {
  /** The key of the outbox, unique for a server, user and session. */
  readonly key: string;
  /** Resolves once the server has stored the message. Rejects with a ClientError. */
  readonly send: (message: OutboxMessage) => Promise<unknown>;
  readonly env: Pick<ClientEnv, "now" | "random" | "createId" | "storage" | "setTimer"> & {
    readonly page: Pick<ClientEnv["page"], "onStorage">;
  };
  readonly report?: Reporter;
  readonly onChange: () => void;
  /** Called when a message becomes due that waited for its time. */
  readonly onDue?: () => void;
}

export interface Outbox {
  /** Returns the same array until something changes. */
  list(): readonly OutboxMessage[];
  add(message: MessageInput): SendResult;
  resend(id: string): void;
  /** Returns false if the server may already have the message. Then it can only be withdrawn there. */
  discard(id: string): boolean;
  has(id: string): boolean;
  /**
   * Switches to another user. With `keepsMessages`, messages written here move along, because the user was the same all
   * the time but not yet confirmed. Otherwise they stay in the storage of the user who wrote them.
   */
  switchUser(key: string, storage: ClientEnv["storage"], keepsMessages: boolean): void;
  /** Sets whether the session is connected or shown. While it is not, changes of other tabs are not received. */
  setInUse(isInUse: boolean): void;
  /** Sets whether commands can be sent. */
  setConnected(isConnected: boolean): void;
  /** Removes the messages that the log contains. */
  removeLogged(state: SessionState): void;
  close(): void;
}

interface Waiter {
  readonly done: Promise<void>;
  readonly settle: (error: ClientError | null) => void;
}

export function createOutbox(options: OutboxOptions): Outbox {
  const { env } = options;
  let storage = createOutboxStorage(env.storage, options.key, options.report);
  const waiters = new Map<string, Waiter>();
  /** Ids of the messages that the current user added in this page. */
  const written = new Set<string>();
  let state = loadOutbox(storage.load(), env.now());
  let cancelTimer: (() => void) | null = null;
  let wakeAt = Infinity;
  let isClosed = false;
  let isInUse = false;
  let stopListening: (() => void) | null = null;

  const input = (event: OutboxInput): void => {
    if (isClosed) return;
    const before = state.messages;
    const step = stepOutbox(state, event, env.now(), env.random());
    state = step.state;
    for (const effect of step.effects) carryOut(effect);
    if (state.messages !== before) options.onChange();
    updateListening();
  };

  const carryOut = (effect: OutboxEffect): void => {
    switch (effect.type) {
      case "save":
        return storage.save(effect.message);
      case "remove":
        written.delete(effect.id);
        return storage.remove(effect.id);
      case "settle":
        waiters.get(effect.id)?.settle(effect.error);
        return void waiters.delete(effect.id);
      case "wake":
        return wake(effect.at);
      case "send":
        return void send(effect.message);
    }
  };

  const send = async (message: OutboxMessage): Promise<void> => {
    const { id } = message;
    try {
      await options.send(message);
      input({ type: "acked", id });
    } catch (error) {
      const text = "The outcome is unknown. The message will be sent again.";
      input({ type: "rejected", id, error: toClientError(error, "UNSURE", text) });
    }
  };

  const wake = (at: number): void => {
    if (cancelTimer !== null && wakeAt <= at) return;
    cancelTimer?.();
    wakeAt = at;
    cancelTimer = env.setTimer(
      () => {
        cancelTimer = null;
        wakeAt = Infinity;
        input({ type: "woke" });
        options.onDue?.();
      },
      Math.max(0, at - env.now()),
    );
  };

  const leaveBehind = (id: string): void => {
    written.delete(id);
    waiters
      .get(id)
      ?.settle(new ClientError("ABORTED", "Another user is signed in. The message was not sent."));
    waiters.delete(id);
  };

  const onStored = (entry: string | null): void => {
    const id = entry === null ? null : storage.parseEntryId(entry);
    if (id !== null) input({ type: "stored", id, message: storage.read(id) });
  };
  const release = (): void => {
    stopListening?.();
    stopListening = null;
    cancelTimer?.();
    cancelTimer = null;
    wakeAt = Infinity;
  };
  const updateListening = (): void => {
    const isSending = state.isConnected && state.messages.some(({ status }) => status !== "failed");
    const isNeeded = !isClosed && (isInUse || isSending);
    if (!isNeeded) return release();
    stopListening ??= env.page.onStorage(onStored);
  };
  /** Other tabs may have added or removed messages while this outbox was not listening. */
  const reload = (): void => {
    if (stopListening !== null || isClosed) return;
    const found = storage.load();
    const current = state.messages.filter(
      ({ id }) => written.has(id) || found.some((other) => other.id === id),
    );
    const added = found.filter(({ id }) => !current.some((other) => other.id === id));
    if (added.length === 0 && current.length === state.messages.length) return;
    state = { ...state, messages: loadOutbox([...current, ...added], env.now()).messages };
    options.onChange();
  };

  return {
    list: () => state.messages,
    has: (id) => state.messages.some((message) => message.id === id),
    add(message) {
      const order = Math.max(env.now(), ...state.messages.map(({ order: previous }) => previous + 1));
      const added = createMessage(message, env.createId(), env.now(), order);
      if (state.messages.length >= MAX_MESSAGES) {
        const text = `The outbox is full (${MAX_MESSAGES} messages). Wait until they are sent, or discard some.`;
        return { id: added.id, done: ignoreRejection(Promise.reject(new ClientError("TOO_LARGE", text))) };
      }
      const waiter = createWaiter();
      waiters.set(added.id, waiter);
      written.add(added.id);
      input({ type: "add", message: added });
      return { id: added.id, done: waiter.done };
    },
    switchUser(key, storageOfUser, keepsMessages) {
      if (isClosed) return;
      const moved = keepsMessages ? state.messages.filter(({ id }) => written.has(id)) : [];
      for (const { id } of moved) storage.remove(id);
      for (const { id } of state.messages) if (!moved.some((message) => message.id === id)) leaveBehind(id);
      storage = createOutboxStorage(storageOfUser, key, options.report);
      for (const message of moved) storage.save(message);
      const { isConnected } = state;
      const found = storage.load().filter(({ id }) => !moved.some((message) => message.id === id));
      const { messages } = loadOutbox([...moved, ...found], env.now());
      state = { messages, isConnected };
      options.onChange();
      input({ type: "woke" });
    },
    resend: (id) => input({ type: "resend", id }),
    discard(id) {
      if (!canDiscard(state, id)) return false;
      input({ type: "discard", id });
      return true;
    },
    setInUse(isUsed) {
      isInUse = isUsed;
      if (isUsed) reload();
      updateListening();
    },
    setConnected(isConnected) {
      if (isConnected) reload();
      // A page in the back/forward cache receives no storage events.
      if (isConnected && !state.isConnected)
        for (const { id, isOwn } of state.messages)
          if (!isOwn && storage.read(id) === null) input({ type: "stored", id, message: null });
      input({ type: "connected", isConnected });
    },
    removeLogged: (log) => {
      if (state.messages.length > 0) input({ type: "logged", state: log });
    },
    close() {
      isClosed = true;
      release();
    },
  };
}

function createWaiter(): Waiter {
  let settle: Waiter["settle"] | undefined;
  const done = new Promise<void>((resolve, reject) => {
    settle = (error) => (error === null ? resolve() : reject(error));
  });
  return { done: ignoreRejection(done), settle: (error) => settle?.(error) };
}

/** Prevents an unhandled rejection if the caller ignores the promise. The list shows the failure too. */
function ignoreRejection(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}
