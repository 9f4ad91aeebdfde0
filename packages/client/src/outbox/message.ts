/** A message in the outbox, and how it is written down. What comes back from storage may be anything, and is checked. */
import type { FileRef, Json } from "@turnstream/protocol";
import { ClientError, type ClientErrorCode } from "../errors.ts";
import type { MessageInput, PendingMessage } from "../session/session.ts";

export interface OutboxMessage extends PendingMessage {
  readonly agent: string | null;
  readonly resumes: string | null;
  readonly formValues: Readonly<Record<string, Json>> | null;
  /** Rises with each one that a tab adds: the order of sending. */
  readonly order: number;
  /** How often it was tried; 0 means that the server can't have it. */
  readonly attempts: number;
  /** Not tried before that, by this machine's clock. */
  readonly notBefore: number;
  /** When the server said that it has it for good; null before. */
  readonly ackedAt: number | null;
}

/** What a server puts before the ids that clients choose, so that none is one of its own. */
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
    resumes: message.resumeFormId ?? null,
    formValues: message.formValues ?? null,
    order,
    attempts: 0,
    notBefore: 0,
    ackedAt: null,
  };
}

/** The id as the command and the request have it: `client_message_id`. */
export function clientMessageId(id: string): string {
  return id.startsWith(CLIENT_ID_PREFIX) ? id.slice(CLIENT_ID_PREFIX.length) : id;
}

const VERSION = 1;

export function writeMessage(message: OutboxMessage): string {
  const { id, text, files, at, agent, resumes, formValues, order, attempts, error } = message;
  const failure =
    error === null ? null : { code: error.code, message: error.message, canRetry: error.canRetry };
  return JSON.stringify({
    v: VERSION,
    id,
    text,
    files,
    at,
    agent,
    resumes,
    formValues,
    order,
    // Under way counts as tried: whoever reads this can't know how it went.
    attempts: message.status === "sending" ? Math.max(1, attempts) : attempts,
    error: message.status === "failed" ? failure : null,
  });
}

/** Null for what is not ours, is of another version, or is broken. */
export function readMessage(text: string): OutboxMessage | null {
  const value = parse(text);
  if (value === null || value["v"] !== VERSION) return null;
  const { id, text: messageText, files, at, agent, resumes, formValues, order, attempts, error } = value;
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
    isStringOrNull(resumes) &&
    (formValues === null || isRecord(formValues)) &&
    (error === null || isRecord(error));
  if (!isSound) return null;
  const failure = error === null ? null : readError(error);
  return {
    id,
    text: messageText,
    files: files as readonly FileRef[],
    at,
    status: failure === null ? "waiting" : "failed",
    error: failure,
    isOwn: false,
    agent: agent as string | null,
    resumes: resumes as string | null,
    formValues: formValues as OutboxMessage["formValues"],
    order,
    attempts,
    notBefore: 0,
    ackedAt: null,
  };
}

function readError(error: Readonly<Record<string, unknown>>): ClientError {
  const { code, message, canRetry } = error;
  return new ClientError(
    (typeof code === "string" ? code : "SERVER_ERROR") as ClientErrorCode,
    typeof message === "string" ? message : "It was refused.",
    { canRetry: canRetry === true },
  );
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
