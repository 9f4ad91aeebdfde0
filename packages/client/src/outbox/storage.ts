/**
 * Where messages wait over a reload. One entry for each, so that tabs that share the storage never write over each
 * other's. A storage that is full, forbidden or broken keeps nothing, and nobody is disturbed by it.
 */
import type { ClientEnv } from "../env.ts";
import { type OutboxMessage, readMessage, writeMessage } from "./message.ts";

export interface OutboxStorage {
  load(): OutboxMessage[];
  keep(message: OutboxMessage): void;
  forget(id: string): void;
  /** The id of the message of an entry, if it is one of these. */
  idOf(entry: string): string | null;
  read(id: string): OutboxMessage | null;
}

const PREFIX = "turnstream:outbox:";

/** Whose outbox it is: the same for the same server, person and session. */
export function outboxKey(url: string, person: string, session: string): string {
  return `${url} ${person} ${session}`;
}

/** The sessions in which something of a person waits. */
export function waitingSessions(storage: ClientEnv["storage"], url: string, person: string): string[] {
  const prefix = PREFIX + outboxKey(url, person, "");
  const sessions = entriesOf(storage, prefix).map((entry) =>
    entry.slice(prefix.length, entry.lastIndexOf(":")),
  );
  // With a space in it, it is the end of somebody else's name.
  return [...new Set(sessions)].filter((session) => session !== "" && !session.includes(" "));
}

/** @param key by `outboxKey` */
export function outboxStorage(storage: ClientEnv["storage"], key: string): OutboxStorage {
  const prefix = `${PREFIX}${key}:`;
  const read = (entry: string): OutboxMessage | null => {
    const text = attempt(() => storage?.getItem(entry)) ?? null;
    const message = text === null ? null : readMessage(text);
    return message !== null && prefix + message.id === entry ? message : null;
  };
  return {
    load: () =>
      entriesOf(storage, prefix)
        .map(read)
        .filter((message) => message !== null),
    keep: (message) => attempt(() => storage?.setItem(prefix + message.id, writeMessage(message))),
    forget: (id) => attempt(() => storage?.removeItem(prefix + id)),
    idOf: (entry) => (entry.startsWith(prefix) ? entry.slice(prefix.length) : null),
    read: (id) => read(prefix + id),
  };
}

function entriesOf(storage: ClientEnv["storage"], prefix: string): string[] {
  const entries: string[] = [];
  for (let n = 0; n < (attempt(() => storage?.length) ?? 0); n += 1) {
    const entry = attempt(() => storage?.key(n)) ?? null;
    if (entry?.startsWith(prefix) === true) entries.push(entry);
  }
  return entries;
}

function attempt<T>(what: () => T): T | undefined {
  try {
    return what();
  } catch {
    return undefined;
  }
}
