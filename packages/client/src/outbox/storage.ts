/**
 * `createOutboxStorage` stores unsent messages across reloads, and `clearStoredData` removes everything that clients of
 * this page have stored.
 * Invariant: every entry of this package starts with `turnstream:`. Each message has its own entry, so tabs never
 * overwrite each other's messages. A full, forbidden or broken storage is reported and never throws.
 */
import { type ClientEnv, createEnv } from "../env.ts";
import { NO_REPORTS, type Reporter } from "../report.ts";
import { type OutboxMessage, readMessage, writeMessage } from "./message.ts";

export interface OutboxStorage {
  load(): OutboxMessage[];
  save(message: OutboxMessage): void;
  remove(id: string): void;
  /** Returns the message id of an entry if the entry belongs to this outbox. */
  parseEntryId(entry: string): string | null;
  read(id: string): OutboxMessage | null;
}

const ALL = "turnstream:";
const PREFIX = `${ALL}outbox:`;

/**
 * Removes the unsent messages and user names of all users of this page from the browser. Call it when a user signs out,
 * after `client.close()`: an open client would store its unsent messages again.
 * @param storage where the clients store data. Default: `localStorage`
 */
export function clearStoredData(storage: ClientEnv["storage"] = createEnv().storage): void {
  tryStorage(NO_REPORTS, () => {
    for (const entry of listEntries(storage, ALL)) storage?.removeItem(entry);
  });
}

/** Returns the key of an outbox, unique for a server, user and session. */
export function outboxKey(url: string, userName: string, session: string): string {
  return `${url} ${userName} ${session}`;
}

/** Returns the sessions in which a user has unsent messages. */
export function listPendingSessions(
  storage: ClientEnv["storage"],
  url: string,
  userName: string,
  report: Reporter = NO_REPORTS,
): string[] {
  const prefix = PREFIX + outboxKey(url, userName, "");
  const entries = tryStorage(report, () => listEntries(storage, prefix)) ?? [];
  const sessions = entries.map((entry) => entry.slice(prefix.length, entry.lastIndexOf(":")));
  // A name with a space is the end of another user's key.
  return [...new Set(sessions)].filter((session) => session !== "" && !session.includes(" "));
}

/** @param key the result of `outboxKey` */
export function createOutboxStorage(
  storage: ClientEnv["storage"],
  key: string,
  report: Reporter = NO_REPORTS,
): OutboxStorage {
  const prefix = `${PREFIX}${key}:`;
  const read = (entry: string): OutboxMessage | null => {
    const text = tryStorage(report, () => storage?.getItem(entry)) ?? null;
    const message = text === null ? null : readMessage(text);
    return message !== null && prefix + message.id === entry ? message : null;
  };
  return {
    load: () =>
      (tryStorage(report, () => listEntries(storage, prefix)) ?? [])
        .map(read)
        .filter((message) => message !== null),
    save: (message) => tryStorage(report, () => storage?.setItem(prefix + message.id, writeMessage(message))),
    remove: (id) => tryStorage(report, () => storage?.removeItem(prefix + id)),
    parseEntryId: (entry) => (entry.startsWith(prefix) ? entry.slice(prefix.length) : null),
    read: (id) => read(prefix + id),
  };
}

/** Also used for other data of the client. */
export function listEntries(storage: ClientEnv["storage"], prefix: string): string[] {
  const entries: string[] = [];
  for (let n = 0; n < (storage?.length ?? 0); n += 1) {
    const entry = storage?.key(n) ?? null;
    if (entry?.startsWith(prefix) === true) entries.push(entry);
  }
  return entries;
}

/** Also used for other data of the client. */
export function tryStorage<T>(report: Reporter, access: () => T): T | undefined {
  try {
    return access();
  } catch (error) {
    report.error(error, "TOO_LARGE", "The storage is full or forbidden.");
    return undefined;
  }
}
