/**
 * Defines the messages between the tabs of one browser, and `readTabMessage`, which validates received ones.
 * Invariant: the channel name contains `TABS_VERSION`, so tabs from before a deploy with another version don't receive
 * these messages. Increase it for a change that those tabs can't read. Errors are serialized, because a broadcast
 * channel can't pass a `ClientError`.
 */
import { type Cursor, type SessionEvent, parseCursor, type Snapshot } from "@turnstream/protocol";
import type { ConnectionView } from "../transport/status.ts";
import { type ClientError, type ClientErrorJson, errorFromJson } from "../errors.ts";
import type { TransportCommand } from "../transport/transport.ts";

/** Increase it when tabs with this code can't communicate with tabs of the previous code. */
export const TABS_VERSION = 1;

/** The term of one tab as the leader. A later leader has a higher term. */
export interface LeaderTerm {
  readonly term: number;
  readonly tabId: string;
}

export function isSameTerm(a: LeaderTerm | null, b: LeaderTerm | null): boolean {
  return a?.term === b?.term && a?.tabId === b?.tabId;
}

export function isLaterTerm(a: LeaderTerm, than: LeaderTerm | null): boolean {
  return than === null || a.term > than.term || (a.term === than.term && a.tabId > than.tabId);
}

export interface SubscriptionStart {
  readonly resumed: boolean;
  readonly reason: "fresh" | "cursor" | "expired" | "invalid" | "slow";
  /** The current state, for a start that is not resumed. */
  readonly snapshot: { readonly snapshot: Snapshot; readonly cursor: Cursor } | null;
}

export type CommandAck = Readonly<Record<string, string>>;
type SerializedView = Omit<ConnectionView, "error"> & { readonly error: ClientErrorJson | null };

/** Messages to the leader. */
export type ToLeader =
  | {
      readonly type: "hello" | "ping" | "here" | "bye";
      readonly from: string;
      /** Tabs from before a deploy omit it. */
      readonly isVisible?: boolean;
    }
  | {
      readonly type: "subscribe";
      readonly from: string;
      readonly subscriptionId: number;
      readonly session: string;
      readonly cursor: Cursor | null;
      /** The user opened, shows or refreshes the session: skip the backoff. */
      readonly isUserInitiated?: boolean;
    }
  | { readonly type: "unsubscribe"; readonly from: string; readonly subscriptionId: number }
  | {
      readonly type: "command";
      readonly from: string;
      readonly request: string;
      readonly at: number;
      readonly command: TransportCommand;
    };

/** Messages from the leader, to all subscribers of a session, or `to` one tab. */
export type FromLeader =
  | {
      readonly type: "lead";
      readonly leader: LeaderTerm;
      /** The latest cursor of each session. A tab that was asleep detects by it that it missed messages. */
      readonly heads: Readonly<Record<string, Cursor>>;
    }
  | { readonly type: "resign"; readonly leader: LeaderTerm }
  | {
      readonly type: "subscribed";
      readonly leader: LeaderTerm;
      readonly session: string;
      /** One subscription of one tab; null: all subscribers of the session. */
      readonly to: string | null;
      readonly subscriptionId: number;
      readonly start: SubscriptionStart;
    }
  | {
      readonly type: "events";
      readonly leader: LeaderTerm;
      readonly session: string;
      readonly to: string | null;
      readonly subscriptionId: number;
      readonly events: readonly SessionEvent[];
    }
  | {
      readonly type: "connection";
      readonly leader: LeaderTerm;
      readonly session: string;
      readonly view: SerializedView;
    }
  | { readonly type: "clock"; readonly leader: LeaderTerm; readonly skewMs: number }
  | {
      readonly type: "reply";
      readonly leader: LeaderTerm;
      readonly to: string;
      readonly request: string;
      readonly ack: CommandAck | null;
      readonly error: ClientErrorJson | null;
    };

export type TabMessage = ToLeader | FromLeader;

const REASONS = ["fresh", "cursor", "expired", "invalid", "slow"];

/**
 * Returns null for messages of other versions. Events and snapshots come from the server, and the fold ignores unknown
 * ones.
 */
export function readTabMessage(message: unknown): TabMessage | null {
  if (!isRecord(message)) return null;
  return isToLeader(message) || isFromLeader(message) ? (message as unknown as TabMessage) : null;
}

type Fields = Readonly<Record<string, unknown>>;

function isToLeader(message: Fields): boolean {
  if (typeof message["from"] !== "string") return false;
  switch (message["type"]) {
    case "hello":
    case "ping":
    case "here":
    case "bye":
      return true;
    case "subscribe":
      return (
        isNumber(message["subscriptionId"]) &&
        isNonEmptyString(message["session"]) &&
        isCursorOrNull(message["cursor"])
      );
    case "unsubscribe":
      return isNumber(message["subscriptionId"]);
    case "command": {
      const { command } = message;
      return (
        isNonEmptyString(message["request"]) &&
        isNumber(message["at"]) &&
        isRecord(command) &&
        isNonEmptyString(command["type"]) &&
        isNonEmptyString(command["session_id"])
      );
    }
    default:
      return false;
  }
}

function isFromLeader(message: Fields): boolean {
  const { leader } = message;
  if (!isRecord(leader) || !isNumber(leader["term"]) || !isNonEmptyString(leader["tabId"])) return false;
  const isAddressed =
    (message["to"] === null || isNonEmptyString(message["to"])) && isNumber(message["subscriptionId"]);
  switch (message["type"]) {
    case "lead":
      return isRecord(message["heads"]);
    case "resign":
      return true;
    case "subscribed":
      return isNonEmptyString(message["session"]) && isAddressed && isSubscriptionStart(message["start"]);
    case "events":
      return isNonEmptyString(message["session"]) && isAddressed && isEvents(message["events"]);
    case "connection": {
      const { view } = message;
      return (
        isNonEmptyString(message["session"]) &&
        isRecord(view) &&
        isNonEmptyString(view["phase"]) &&
        isErrorOrNull(view["error"])
      );
    }
    case "clock":
      return isNumber(message["skewMs"]);
    case "reply":
      return (
        isNonEmptyString(message["to"]) &&
        isNonEmptyString(message["request"]) &&
        (message["ack"] === null ? isRecord(message["error"]) : isRecord(message["ack"])) &&
        isErrorOrNull(message["error"])
      );
    default:
      return false;
  }
}

function isSubscriptionStart(value: unknown): boolean {
  if (!isRecord(value) || typeof value["resumed"] !== "boolean") return false;
  if (!REASONS.includes(String(value["reason"]))) return false;
  const { snapshot } = value;
  if (value["resumed"]) return snapshot === null;
  return isRecord(snapshot) && isRecord(snapshot["snapshot"]) && parseCursor(snapshot["cursor"]) !== null;
}

function isEvents(value: unknown): boolean {
  return Array.isArray(value) && value.every((event) => isRecord(event) && isNonEmptyString(event["type"]));
}

function isCursorOrNull(value: unknown): boolean {
  return value === null || parseCursor(value) !== null;
}

function isErrorOrNull(value: unknown): boolean {
  return (
    value === null ||
    (isRecord(value) && isNonEmptyString(value["code"]) && typeof value["message"] === "string")
  );
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isNonEmptyString(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

export function serializeView(view: ConnectionView): SerializedView {
  return { ...view, error: view.error?.toJSON() ?? null };
}

export function deserializeView(view: SerializedView): ConnectionView {
  return { ...view, error: view.error === null ? null : errorFromJson(view.error) };
}

/** A command that waits for the reply of the leader. */
export interface PendingReply {
  readonly resolve: (ack: CommandAck) => void;
  readonly reject: (error: ClientError) => void;
}
