/** The outbox of one session: keeps what is written until the log shows it. The rules are in machine.ts. */
import type { SessionState } from "@turnstream/protocol";
import { toClientError, ClientError } from "../errors.ts";
import type { ClientEnv } from "../env.ts";
import type { MessageInput, PendingMessage, SendResult } from "../session/session.ts";
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
  /** Whose it is: the same for the same server, person and session, and for nobody else. */
  readonly key: string;
  /** Settles once the server has it for good. Rejects with a ClientError. */
  readonly send: (message: OutboxMessage) => Promise<unknown>;
  readonly env: Pick<ClientEnv, "now" | "random" | "createId" | "storage">;
  readonly onChange: () => void;
  /** Calls when another tab has changed an entry of the storage (null: maybe all). Unless told, the window's. */
  readonly onStorage?: (changed: (entry: string | null) => void) => () => void;
}

export interface Outbox {
  /** The same array while nothing has changed. */
  list(): readonly PendingMessage[];
  add(message: MessageInput): SendResult;
  resend(id: string): void;
  /** False: the server may have it already, so it can only be withdrawn there. */
  discard(id: string): boolean;
  has(id: string): boolean;
  /**
   * It is somebody else's from now on. What was written here goes along where it was that person's all the time, only not
   * known to be; else it stays behind, in the storage of who wrote it.
   */
  switchUser(key: string, storage: ClientEnv["storage"], keepsMessages: boolean): void;
  /** Whether commands can be sent at all. */
  setConnected(isConnected: boolean): void;
  /** What the log amounts to: what it shows leaves. */
  removeLogged(state: SessionState): void;
  close(): void;
}

interface Waiter {
  readonly done: Promise<void>;
  readonly settle: (error: ClientError | null) => void;
}

export function createOutbox(options: OutboxOptions): Outbox {
  const { env, onStorage = onWindowStorage } = options;
  let storage = createOutboxStorage(env.storage, options.key);
  const waiters = new Map<string, Waiter>();
  /** Those that were added here, by whoever sits here now. */
  const written = new Set<string>();
  let state = loadOutbox(storage.load(), env.now());
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wakeAt = Infinity;
  let isClosed = false;

  const input = (event: OutboxInput): void => {
    if (isClosed) return;
    const before = state.messages;
    const step = stepOutbox(state, event, env.now(), env.random());
    state = step.state;
    for (const effect of step.effects) carryOut(effect);
    if (state.messages !== before) options.onChange();
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
      const text = "Nobody knows whether it arrived. It is sent again.";
      input({ type: "rejected", id, error: toClientError(error, "UNSURE", text) });
    }
  };

  const wake = (at: number): void => {
    if (timer !== undefined && wakeAt <= at) return;
    clearTimeout(timer);
    wakeAt = at;
    timer = setTimeout(
      () => {
        timer = undefined;
        wakeAt = Infinity;
        input({ type: "woke" });
      },
      Math.max(0, at - env.now()),
    );
  };

  const leaveBehind = (id: string): void => {
    written.delete(id);
    waiters.get(id)?.settle(new ClientError("ABORTED", "Somebody else is signed in. It was not sent."));
    waiters.delete(id);
  };

  const stopListening = onStorage((entry) => {
    if (entry === null) return;
    const id = storage.parseEntryId(entry);
    if (id !== null) input({ type: "stored", id, message: storage.read(id) });
  });

  return {
    list: () => state.messages,
    has: (id) => state.messages.some((message) => message.id === id),
    add(message) {
      const order = Math.max(env.now(), ...state.messages.map(({ order: previous }) => previous + 1));
      const added = createMessage(message, env.createId(), env.now(), order);
      if (state.messages.length >= MAX_MESSAGES) {
        const text = `${MAX_MESSAGES} messages wait already. Wait until they are sent, or discard some.`;
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
      storage = createOutboxStorage(storageOfUser, key);
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
    setConnected: (isConnected) => input({ type: "connected", isConnected }),
    removeLogged: (log) => {
      if (state.messages.length > 0) input({ type: "logged", state: log });
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      stopListening();
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

/** Whoever doesn't ask how it went is not told by an unhandled rejection: the list says it too. */
function ignoreRejection(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}

function onWindowStorage(changed: (entry: string | null) => void): () => void {
  const listener = (event: StorageEvent): void => changed(event.key);
  globalThis.addEventListener?.("storage", listener);
  return () => globalThis.removeEventListener?.("storage", listener);
}
