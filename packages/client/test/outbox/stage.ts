/** `sharedStorage` creates a storage that tabs share, and `openTab` a tab with an outbox. Timers are vitest's. */
import type { ClientEnv } from "../../src/env.ts";
import type { OutboxMessage } from "../../src/outbox/message.ts";
import { createOutbox, type Outbox } from "../../src/outbox/outbox.ts";

type Storage = NonNullable<ClientEnv["storage"]>;
type Changed = (entry: string | null) => void;

export interface SharedStorage {
  readonly entries: Map<string, string>;
  isFull: boolean;
  /** The storage as one tab sees it. Its changes notify the other tabs, like `storage` events. */
  of(tab: object): Storage;
  listen(tab: object): (changed: Changed) => () => void;
}

export function sharedStorage(): SharedStorage {
  const entries = new Map<string, string>();
  const listeners = new Set<{ readonly tab: object; readonly changed: Changed }>();
  const shared: SharedStorage = {
    entries,
    isFull: false,
    of(tab) {
      const notify = (entry: string): void => {
        for (const listener of listeners) if (listener.tab !== tab) listener.changed(entry);
      };
      return {
        get length() {
          return entries.size;
        },
        key: (n) => [...entries.keys()][n] ?? null,
        getItem: (entry) => entries.get(entry) ?? null,
        setItem(entry, text) {
          if (shared.isFull) throw new DOMException("full", "QuotaExceededError");
          entries.set(entry, text);
          notify(entry);
        },
        removeItem(entry) {
          entries.delete(entry);
          notify(entry);
        },
      };
    },
    listen: (tab) => (changed) => {
      const listener = { tab, changed };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return shared;
}

export interface Tab {
  readonly outbox: Outbox;
  /** Messages that are being sent and have no reply yet. */
  readonly underWay: UnderWay[];
  /** The texts of all attempts to send a message. */
  readonly sent: string[];
  changes: number;
  /** How often a message became due. */
  due: number;
}

interface UnderWay {
  readonly message: OutboxMessage;
  readonly answer: (error?: Error) => Promise<void>;
}

async function settled(): Promise<void> {
  for (let n = 0; n < 5; n += 1) await Promise.resolve();
}

let ids = 0;

export function openTab(storage: SharedStorage, key = "here"): Tab {
  const self = {};
  const tab: Omit<Tab, "outbox"> = { underWay: [], sent: [], changes: 0, due: 0 };
  const send = (message: OutboxMessage): Promise<void> =>
    new Promise((resolve, reject) => {
      tab.sent.push(message.text);
      const answer = async (error?: Error): Promise<void> => {
        tab.underWay.splice(tab.underWay.indexOf(entry), 1);
        if (error === undefined) resolve();
        else reject(error);
        // Callbacks of the settled promise run in later microtasks.
        await settled();
      };
      const entry = { message, answer };
      tab.underWay.push(entry);
    });
  const env = {
    now: () => Date.now(),
    random: () => 1,
    createId: () => `id-${++ids}`,
    storage: storage.of(self),
    setTimer: (run: () => void, ms: number) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    page: { onStorage: storage.listen(self) },
  };
  const outbox = createOutbox({
    key,
    send,
    env,
    onChange: () => void (tab.changes += 1),
    onDue: () => void (tab.due += 1),
  });
  outbox.setInUse(true);
  return Object.assign(tab, { outbox });
}
