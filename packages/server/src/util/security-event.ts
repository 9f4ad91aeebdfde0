/**
 * `SecurityEvent` is what gateway and worker report to the option `onSecurityEvent`. `createSecurityReporter` calls
 * that hook, and `createSecurityLog` writes one log line per event. Invariant: an event contains ids, names and keyed
 * hashes, never a secret, a token or a network address. An exception of the hook never reaches the caller. A flood
 * writes at most `MAX_LINES` lines per kind and window; the next line counts the others.
 */
import { createHmac } from "node:crypto";
import type { ErrorHandler } from "./error-handler.ts";

/** The kinds of events, each with its reasons. docs/security-events.md describes them, and a test compares both. */
export const SECURITY_EVENTS = {
  /** A credential was refused, although its signature is valid or it has none. */
  sign_in_refused: [
    "key_invalid",
    "key_ended",
    "token_expired",
    "token_malformed",
    "ticket_expired",
    "ticket_used",
    "ticket_without_page",
    "several_credentials",
  ],
  /** A signed text was not signed by this server, or by the payment provider in `subject`. */
  signature_invalid: ["token", "ticket", "share_link", "file_link", "payment_notification"],
  /** A page of the origin in `subject` sent a request or tried to open a socket. */
  origin_refused: ["request", "socket"],
  /** A caller exceeded a limit. The reason is the name of the limit. */
  rate_limited: [] as readonly string[],
  /** A worker tried to write in the session in `subject` after another worker had taken it over. */
  writer_fenced: ["log", "journal"],
  /** PostgreSQL lost commits, and with them events of the session in `subject`. The session continues without them. */
  history_lost: ["archive_behind"],
} as const;

type SecurityEventType = keyof typeof SECURITY_EVENTS;

/** Where an event comes from, as far as it is known. */
interface SecuritySource {
  /** From a verified credential. */
  readonly tenant?: string;
  readonly user?: string;
  /** The id of the API key. It is not verified if the key was refused. */
  readonly key?: string;
  /** The keyed hash of the client's network address; see `hashAddress`. */
  readonly addressHash?: string;
  /** The origin, payment provider or session that the event is about. */
  readonly subject?: string;
}

export type SecurityEvent = {
  readonly [Type in SecurityEventType]: SecuritySource & {
    readonly type: Type;
    readonly reason: (typeof SECURITY_EVENTS)[Type][number];
  };
}[SecurityEventType];

/** Receives every event. It must be fast. */
export type SecurityEventHandler = (event: SecurityEvent) => void;

/** @param from the client's network address, if it is known; the event gets its keyed hash */
export type ReportSecurityEvent = (event: SecurityEvent, from?: string) => void;

/**
 * Returns a keyed hash that is the same for each event of one address. Only a process with the secret can compute it,
 * so an operator compares it with the hash of an address that another log contains.
 * @param secret the first of the gateway's secrets; another one gives other hashes
 */
export function hashAddress(address: string, secret: string): string {
  return createHmac("sha256", secret).update(`address:${address}`).digest("base64url").slice(0, HASH_LENGTH);
}

/** 96 bits. */
const HASH_LENGTH = 16;

/** Returns a handler that passes each event to all of the given ones, and reports what they throw. */
export function createSecurityReporter(
  handlers: readonly (SecurityEventHandler | undefined)[],
  onError: ErrorHandler,
): SecurityEventHandler {
  return (event) => {
    for (const handler of handlers)
      try {
        handler?.(event);
      } catch (error) {
        onError(error, { during: "`onSecurityEvent`" });
      }
  };
}

const MAX_LINES = 20;
const WINDOW_MS = 60_000;
/** Longer texts of a line are cut. Some of them are what a client sent. */
const MAX_TEXT_LENGTH = 200;

/** The fields of a log line. */
export type SecurityLine = Readonly<Record<string, string | number>>;

/**
 * Returns a handler that writes one line per event. The line has `userHash` instead of `user`, because log lines stay
 * when a user is erased.
 * @param options `secret` is the key of the hash; without one the line doesn't name the user
 */
export function createSecurityLog(
  write: (line: SecurityLine) => void,
  { secret, now }: { readonly secret: string | undefined; readonly now: () => number },
): SecurityEventHandler {
  const windows = new Map<SecurityEventType, { until: number; lines: number; leftOut: number }>();
  const reportLeftOut = (type: SecurityEventType): void => {
    const leftOut = windows.get(type)?.leftOut ?? 0;
    windows.delete(type);
    if (leftOut > 0) write({ type, reason: "left_out", count: leftOut });
  };
  return ({ user, ...event }) => {
    const { type } = event;
    if (now() >= (windows.get(type)?.until ?? Infinity)) reportLeftOut(type);
    const window = windows.get(type) ?? { until: now() + WINDOW_MS, lines: 0, leftOut: 0 };
    windows.set(type, window);
    if (window.lines >= MAX_LINES) {
      // Without a timer, the count of a flood that ends would never be written.
      if (window.leftOut === 0) setTimeout(() => reportLeftOut(type), window.until - now()).unref();
      window.leftOut += 1;
      return;
    }
    window.lines += 1;
    const userHash =
      user === undefined || secret === undefined ? {} : { userHash: hashAddress(user, secret) };
    write(shorten({ ...event, ...userHash }));
  };
}

function shorten(line: SecurityLine): SecurityLine {
  return Object.fromEntries(
    Object.entries(line).map(([name, value]) => [
      name,
      typeof value === "string" ? value.slice(0, MAX_TEXT_LENGTH) : value,
    ]),
  );
}
