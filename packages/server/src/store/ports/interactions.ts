/**
 * `Interactions`, `Allowances` and `FormDrafts` are the sub-ports for requests to a user (approvals, questions, forms
 * and payments), for permissions without approval, and for form drafts.
 *
 * Invariant: each interaction is a durable state machine, with the rules of `rules/interactions.ts`. The store does not
 * publish changes: add the event to the outbox in the same transaction.
 */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { InteractionKind, TransitionErrorCode, TransitionInput } from "../rules/interactions.ts";

export interface InteractionRequest {
  readonly id: string;
  readonly kind: InteractionKind;
  readonly turn: string;
  readonly run: string;
  readonly block: string;
  readonly index: number;
  /** The name that users and commands use for it, unique in the session. @default id */
  readonly key?: string;
  readonly call?: string;
  /** The content that is shown to the user. */
  readonly request: Json;
  /** Binds the decision to the shown content. */
  readonly digest?: string;
  /** JSON Schema for edited arguments. Not stored if it is larger than 64 kB. */
  readonly schema?: Json;
  /** Milliseconds from now, by the database's clock. */
  readonly deadlineMs?: number;
}

export interface Interaction {
  readonly tenant: string;
  readonly session: string;
  readonly id: string;
  /** Increases with every request in the store. Pages are ordered by it. */
  readonly n: number;
  readonly kind: InteractionKind;
  readonly key: string;
  readonly turn: string;
  readonly run: string;
  readonly block: string;
  readonly index: number;
  readonly call: string | null;
  readonly request: Json;
  readonly digest: string | null;
  readonly deadline: number | null;
  readonly status: string;
  /** 0 for the request; every change adds 1. */
  readonly version: number;
  readonly requestedAt: number;
  readonly changedAt: number | null;
}

export interface InteractionChange {
  readonly version: number;
  readonly status: string;
  readonly by: string | null;
  readonly reason: string | null;
  readonly body: Json;
  readonly at: number;
}

export interface TransitionRequest extends TransitionInput {
  readonly id: string;
  readonly by?: string;
  readonly reason?: string;
  /** The decision: edited actions, answers or values. */
  readonly body?: Json;
}

export type TransitionResult =
  | {
      readonly applied: true;
      readonly version: number;
      readonly interaction: Interaction;
      readonly change: InteractionChange;
    }
  | {
      readonly applied: false;
      readonly reason: TransitionErrorCode;
      readonly current: Interaction;
      /** The change that led to the current status, or null if there was none. */
      readonly change: InteractionChange | null;
      /** When the change was refused, by the store's clock, which also decides about deadlines. */
      readonly at: number;
    };

export interface InteractionPage {
  /** True returns only interactions that can still change. */
  readonly pending?: boolean;
  /** @default all kinds */
  readonly kind?: InteractionKind;
  /** The `n` of the last interaction of the previous page. */
  readonly after?: number;
  /** 1 to 1000. @default 100 */
  readonly limit?: number;
}

export interface Interactions {
  /**
   * Creates a request. Idempotent by id: a repeat returns the stored one and changes nothing.
   * @throws StoreError with EXISTS for another kind, turn, key or digest under the same id, or for another id under the
   *   same key.
   */
  request(
    ref: SessionRef,
    request: InteractionRequest,
  ): Promise<{ readonly created: boolean; readonly interaction: Interaction }>;
  /**
   * Changes the status with one conditional update, which compares status, version, digest and deadline by the
   * database's clock. Of concurrent changes one wins, and a final status never changes. A user's decision loses after
   * the deadline; `timed_out` and `expired` lose before it. The winning change is recorded in the same statement.
   * @throws StoreError with INVALID for payments, because `payments.apply` changes a payment and its interaction
   *   together.
   */
  change(ref: SessionRef, transition: TransitionRequest): Promise<TransitionResult>;
  get(ref: SessionRef, id: string): Promise<Interaction | null>;
  byKey(ref: SessionRef, key: string): Promise<Interaction | null>;
  /** Returns the JSON Schema of the request, or null if none was stored. */
  schema(ref: SessionRef, id: string): Promise<Json>;
  /** Returns interactions in the order of their requests. */
  list(ref: SessionRef, page?: InteractionPage): Promise<Interaction[]>;
  /**
   * Returns pending forms of all sessions whose deadline has passed by the store's clock, the longest overdue first. A
   * turn waits for every other interaction with a deadline, and ends it.
   */
  overdueForms(query: { readonly limit: number }): Promise<Interaction[]>;
  /** Returns the changes by version, from 1 without gaps. */
  changes(ref: SessionRef, id: string): Promise<InteractionChange[]>;
}

/** Permission for a tool of an agent to run without approval for the rest of a session. */
export interface NewAllowance {
  readonly agent: string;
  readonly tool: string;
  /** Digest of the tool's description and input schema. The allowance holds only while they don't change. */
  readonly digest: string;
  readonly by?: string;
}

export interface Allowance {
  readonly agent: string;
  readonly tool: string;
  readonly digest: string;
  /** Null if no user was named, or the user was erased. */
  readonly by: string | null;
  readonly at: number;
}

/** The sub-port of allowances. It does not decide whether a tool needs approval. */
export interface Allowances {
  /**
   * Adds an allowance, or replaces one with another digest. Returns "already" if the tool has one with this digest; the
   * first one stays.
   * @throws StoreError with NOT_FOUND if the session does not exist.
   */
  add(ref: SessionRef, allowance: NewAllowance): Promise<"added" | "already">;
  find(ref: SessionRef, agent: string, tool: string): Promise<Allowance | null>;
  /** Returns the oldest first, at most 1,000. */
  list(ref: SessionRef): Promise<Allowance[]>;
  /** Returns false if there is none. */
  remove(ref: SessionRef, agent: string, tool: string): Promise<boolean>;
}

/** The values that a user has entered into a pending form so far, stored to survive a reload. */
export interface FormDraft {
  readonly values: Json;
  /** 1 for the first save; every save adds 1. */
  readonly version: number;
  readonly savedAt: number;
}

/**
 * The sub-port of form drafts. A draft is deleted when the form is decided, and with its session. Values are not
 * validated against the form.
 */
export interface FormDrafts {
  /**
   * Replaces the draft. Returns null and stores nothing if the interaction is not a pending form.
   * @throws StoreError with NOT_FOUND if the session does not exist, with TOO_LARGE above 64 kB.
   */
  save(ref: SessionRef, interaction: string, values: Json): Promise<FormDraft | null>;
  /** Returns null if there is no draft, or the form is no longer pending. */
  get(ref: SessionRef, interaction: string): Promise<FormDraft | null>;
}

export function paymentDriven(): StoreError {
  return new StoreError("INVALID", "interaction of a payment: change it with payments.apply");
}

const MAX_BYTES = 65_536;

/** @returns the values as they are stored */
export function checkDraft(values: Json): string {
  // `JSON.stringify` returns undefined for values that are not JSON.
  const json = JSON.stringify(values) as string | undefined;
  if (json === undefined) throw new StoreError("INVALID", "form draft must be JSON");
  if (Buffer.byteLength(json) > MAX_BYTES) throw new StoreError("TOO_LARGE", "form draft");
  return json;
}
