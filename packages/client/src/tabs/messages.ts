/**
 * What tabs of one browser say to each other, and the check of what was heard. The name of the channel has the version in
 * it, so that tabs that were opened before a deploy keep to themselves.
 */
import { type Cursor, type SessionEvent, parseCursor, type Snapshot } from "@turnstream/protocol";
import type { ConnectionView } from "../transport/status.ts";
import { ClientError, type ClientErrorWord } from "../errors.ts";
import type { LinkCommand } from "../transport/transport.ts";

/** Rises when tabs with this code couldn't talk to those with the code before. */
export const TABS_VERSION = 1;

/** A reign: a later one has the higher term. */
export interface Reign {
  readonly term: number;
  readonly tab: string;
}

export function isSameReign(a: Reign | null, b: Reign | null): boolean {
  return a?.term === b?.term && a?.tab === b?.tab;
}

export function isLaterReign(a: Reign, than: Reign | null): boolean {
  return than === null || a.term > than.term || (a.term === than.term && a.tab > than.tab);
}

export interface Beginning {
  readonly resumed: boolean;
  readonly reason: "fresh" | "cursor" | "expired" | "invalid" | "slow";
  /** With a beginning that isn't resumed: what is there now. */
  readonly snapshot: { readonly snapshot: Snapshot; readonly cursor: Cursor } | null;
}

export interface WireError {
  readonly code: string;
  readonly message: string;
  readonly canRetry: boolean;
  readonly retryAfterSeconds: number | null;
}

export type Acked = Readonly<Record<string, string>>;
type WireView = Omit<ConnectionView, "error"> & { readonly error: WireError | null };

/** To whoever leads. */
export type ToLeader =
  | {
      readonly type: "hello" | "ping" | "here" | "bye";
      readonly from: string;
      /** Tabs that were opened before a deploy don't say. */
      readonly isVisible?: boolean;
    }
  | {
      readonly type: "watch";
      readonly from: string;
      readonly watch: number;
      readonly session: string;
      readonly cursor: Cursor | null;
      /** A person wants it now. */
      readonly isWish?: boolean;
    }
  | { readonly type: "unwatch"; readonly from: string; readonly watch: number }
  | {
      readonly type: "command";
      readonly from: string;
      readonly request: string;
      readonly at: number;
      readonly command: LinkCommand;
    };

/** From the one who leads, to all of a session, or `to` one tab. */
export type FromLeader =
  | {
      readonly type: "lead";
      readonly by: Reign;
      /** Where each session stands: a tab that was not running has lost what was said meanwhile, and sees it by this. */
      readonly heads: Readonly<Record<string, Cursor>>;
    }
  | { readonly type: "resign"; readonly by: Reign }
  | {
      readonly type: "begun";
      readonly by: Reign;
      readonly session: string;
      /** One watch of one tab; null: everybody who watches the session. */
      readonly to: string | null;
      readonly watch: number;
      readonly beginning: Beginning;
    }
  | {
      readonly type: "events";
      readonly by: Reign;
      readonly session: string;
      readonly to: string | null;
      readonly watch: number;
      readonly events: readonly SessionEvent[];
    }
  | { readonly type: "connection"; readonly by: Reign; readonly session: string; readonly view: WireView }
  | { readonly type: "clock"; readonly by: Reign; readonly skewMs: number }
  | {
      readonly type: "reply";
      readonly by: Reign;
      readonly to: string;
      readonly request: string;
      readonly ack: Acked | null;
      readonly error: WireError | null;
    };

export type TabMessage = ToLeader | FromLeader;

const REASONS = ["fresh", "cursor", "expired", "invalid", "slow"];

/** Null for what no tab of this version says. Events and snapshots are the server's: who folds them forgives. */
export function readTabMessage(heard: unknown): TabMessage | null {
  if (!isRecord(heard)) return null;
  return isToLeader(heard) || isFromLeader(heard) ? (heard as unknown as TabMessage) : null;
}

type Fields = Readonly<Record<string, unknown>>;

function isToLeader(heard: Fields): boolean {
  if (typeof heard["from"] !== "string") return false;
  switch (heard["type"]) {
    case "hello":
    case "ping":
    case "here":
    case "bye":
      return true;
    case "watch":
      return isNumber(heard["watch"]) && isText(heard["session"]) && isCursorOrNull(heard["cursor"]);
    case "unwatch":
      return isNumber(heard["watch"]);
    case "command": {
      const { command } = heard;
      return (
        isText(heard["request"]) &&
        isNumber(heard["at"]) &&
        isRecord(command) &&
        isText(command["type"]) &&
        isText(command["session_id"])
      );
    }
    default:
      return false;
  }
}

function isFromLeader(heard: Fields): boolean {
  const { by } = heard;
  if (!isRecord(by) || !isNumber(by["term"]) || !isText(by["tab"])) return false;
  const isAddressed = (heard["to"] === null || isText(heard["to"])) && isNumber(heard["watch"]);
  switch (heard["type"]) {
    case "lead":
      return isRecord(heard["heads"]);
    case "resign":
      return true;
    case "begun":
      return isText(heard["session"]) && isAddressed && isBeginning(heard["beginning"]);
    case "events":
      return isText(heard["session"]) && isAddressed && isEvents(heard["events"]);
    case "connection": {
      const { view } = heard;
      return (
        isText(heard["session"]) && isRecord(view) && isText(view["phase"]) && isErrorOrNull(view["error"])
      );
    }
    case "clock":
      return isNumber(heard["skewMs"]);
    case "reply":
      return (
        isText(heard["to"]) &&
        isText(heard["request"]) &&
        (heard["ack"] === null ? isRecord(heard["error"]) : isRecord(heard["ack"])) &&
        isErrorOrNull(heard["error"])
      );
    default:
      return false;
  }
}

function isBeginning(value: unknown): boolean {
  if (!isRecord(value) || typeof value["resumed"] !== "boolean") return false;
  if (!REASONS.includes(String(value["reason"]))) return false;
  const { snapshot } = value;
  if (value["resumed"]) return snapshot === null;
  return isRecord(snapshot) && isRecord(snapshot["snapshot"]) && parseCursor(snapshot["cursor"]) !== null;
}

function isEvents(value: unknown): boolean {
  return Array.isArray(value) && value.every((event) => isRecord(event) && isText(event["type"]));
}

function isCursorOrNull(value: unknown): boolean {
  return value === null || parseCursor(value) !== null;
}

function isErrorOrNull(value: unknown): boolean {
  return value === null || (isRecord(value) && isText(value["code"]) && typeof value["message"] === "string");
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

export function writeError(error: ClientError): WireError {
  const { code, message, canRetry, retryAfterSeconds } = error;
  return { code, message, canRetry, retryAfterSeconds };
}

export function readError(error: WireError): ClientError {
  const { code, message, canRetry, retryAfterSeconds } = error;
  const after = retryAfterSeconds === null ? {} : { retryAfterSeconds };
  return new ClientError(code as ClientErrorWord, message, { canRetry, ...after });
}

export function writeView(view: ConnectionView): WireView {
  return { ...view, error: view.error === null ? null : writeError(view.error) };
}

export function readView(view: WireView): ConnectionView {
  return { ...view, error: view.error === null ? null : readError(view.error) };
}
