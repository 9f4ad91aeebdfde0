/**
 * `OutboxMessage` is a message that is not in the log yet. `writeMessage` and `readMessage` convert it for the storage.
 * Invariant: stored data is untrusted: `readMessage` returns null for a damaged or foreign entry, or one of another
 * version. A message in flight is stored as attempted, because a reader of the storage can't know its outcome. Every id
 * has the prefix `c.`, which the server adds to ids of clients.
 */
import type { FileRef, Json, Turn } from "@turnstream/protocol";
import { errorFromJson } from "../errors.ts";
import type { MessageInput, PendingMessage } from "../session/session.ts";

export interface OutboxMessage extends PendingMessage {
  readonly agent: string | null;
  readonly mode: Turn["mode"] | null;
  readonly locale: string | null;
  readonly resumes: string | null;
  readonly formValues: Readonly<Record<string, Json>> | null;
  /** The order of sending. It increases with each message that a tab adds. */
  readonly order: number;
  /** The number of attempts; 0 means that the server can't have the message. */
  readonly attempts: number;
  /** Earliest time of the next attempt, by this machine's clock. */
  readonly notBefore: number;
  /** When the server acknowledged that it stored the message, or another tab saw it in the log; null before. */
  readonly ackedAt: number | null;
}

/** The prefix that the server adds to ids chosen by clients, so that they can't collide with its own ids. */
const CLIENT_ID_PREFIX = "c.";

export function createMessage(message: MessageInput, id: string, now: number, order: number): OutboxMessage {
  return {
    id: CLIENT_ID_PREFIX + id,
    text: message.text,
    files: message.files ?? [],
    at: now,
    status: "waiting",
    error: null,
    isOwn: true,
    agent: message.agentId ?? null,
    mode: message.mode ?? null,
    locale: message.locale ?? null,
    resumes: message.resumeFormId ?? null,
    formValues: message.formValues ?? null,
    order,
    attempts: 0,
    notBefore: 0,
    ackedAt: null,
  };
}

/** Returns the `client_message_id` of commands and requests. */
export function clientMessageId(id: string): string {
  return id.startsWith(CLIENT_ID_PREFIX) ? id.slice(CLIENT_ID_PREFIX.length) : id;
}

const VERSION = 1;

export function writeMessage(message: OutboxMessage): string {
  const { id, text, files, at, agent, mode, locale, resumes, formValues, order, attempts, error } = message;
  return JSON.stringify({
    v: VERSION,
    id,
    text,
    files,
    at,
    agent,
    mode,
    locale,
    resumes,
    formValues,
    order,
    // A message in flight counts as tried, because a reader of the storage can't know the outcome.
    attempts: message.status === "sending" ? Math.max(1, attempts) : attempts,
    error: message.status === "failed" ? error : null,
  });
}

/** Returns null for a foreign, damaged or other-version entry. */
export function readMessage(text: string): OutboxMessage | null {
  const value = parse(text);
  if (value === null || value["v"] !== VERSION) return null;
  const {
    id,
    text: messageText,
    files,
    at,
    agent,
    mode,
    locale,
    resumes,
    formValues,
    order,
    attempts,
    error,
  } = value;
  const isSound =
    typeof id === "string" &&
    id.startsWith(CLIENT_ID_PREFIX) &&
    typeof messageText === "string" &&
    Array.isArray(files) &&
    files.every((file) => isRecord(file) && typeof file["url"] === "string") &&
    typeof at === "number" &&
    typeof order === "number" &&
    typeof attempts === "number" &&
    isStringOrNull(agent) &&
    (mode === null || mode === "agent" || mode === "chat") &&
    isStringOrNull(locale) &&
    isStringOrNull(resumes) &&
    (formValues === null || isRecord(formValues)) &&
    (error === null || isRecord(error));
  if (!isSound) return null;
  const failure = error === null ? null : errorFromJson(error);
  return {
    id,
    text: messageText,
    files: files as readonly FileRef[],
    at,
    status: failure === null ? "waiting" : "failed",
    error: failure,
    isOwn: false,
    agent: agent as string | null,
    mode,
    locale: locale as string | null,
    resumes: resumes as string | null,
    formValues: formValues as OutboxMessage["formValues"],
    order,
    attempts,
    notBefore: 0,
    ackedAt: null,
  };
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStringOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}
