/**
 * The sub-port for what a person must decide or do: approvals, questions, forms, and the requests of payments.
 * Each is a durable state machine; the rules are in interaction-rules.ts. Never tells anybody: put the event in
 * the outbox in the same transaction.
 */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { SessionRef } from "../refs.ts";
import type { InteractionKind, TransitionErrorCode, TransitionInput } from "../rules/interactions.ts";

export interface InteractionRequest {
  readonly id: string;
  readonly kind: InteractionKind;
  readonly turn: string;
  readonly run: string;
  readonly block: string;
  readonly index: number;
  /** What people and commands call it; the id when absent. Unique in the session. */
  readonly key?: string;
  readonly call?: string;
  /** What is shown. */
  readonly request: Json;
  /** Binds the decision to what was shown. */
  readonly digest?: string;
  /** JSON Schema that edited arguments have to keep to. Kept beside it, unless it is larger than 64 kB. */
  readonly schema?: Json;
  /** From now, by the database's clock. */
  readonly deadlineMs?: number;
}

export interface Interaction {
  readonly tenant: string;
  readonly session: string;
  readonly id: string;
  /** Rises with every request in the store; pages go by it. */
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
  /** 0 as requested; every change makes it one more. */
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
  /** What was decided: edited actions, answers, values. */
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
      /** The change that made it what it is; null while it is as requested. */
      readonly change: InteractionChange | null;
      /** When it lost, by the store's clock: that is the one which a deadline goes by. */
      readonly at: number;
    };

export interface InteractionPage {
  /** Only those that can still change. */
  readonly pending?: boolean;
  /** All kinds when absent. */
  readonly kind?: InteractionKind;
  /** The `n` of the last one of the page before. */
  readonly after?: number;
  /** 1 to 1000; 100 when absent. */
  readonly limit?: number;
}

export interface Interactions {
  /**
   * Idempotent by id: a repeat gives what is there and changes nothing. One of another kind, turn, key or digest
   * under the same id, or another id under the same key, is EXISTS.
   */
  request(
    ref: SessionRef,
    request: InteractionRequest,
  ): Promise<{ readonly created: boolean; readonly interaction: Interaction }>;
  /**
   * One conditional update: status, version, digest and deadline are compared in it, by the database's clock.
   * Of any number at once one wins, and what is final never changes. A person's decision loses once the
   * deadline has passed, `timed_out` and `expired` before it. A change that won is noted in the same statement.
   * INVALID for payments, since `payments.apply` moves the order and its request together; only a request without
   * an order can be `cancelled` here, and will never get one then.
   */
  change(ref: SessionRef, transition: TransitionRequest): Promise<TransitionResult>;
  get(ref: SessionRef, id: string): Promise<Interaction | null>;
  byKey(ref: SessionRef, key: string): Promise<Interaction | null>;
  /** The JSON Schema that came with the request; null when none was kept. */
  schema(ref: SessionRef, id: string): Promise<Json>;
  /** In the order of their requests. */
  list(ref: SessionRef, page?: InteractionPage): Promise<Interaction[]>;
  /** By version, dense from 1. */
  changes(ref: SessionRef, id: string): Promise<InteractionChange[]>;
}

/**
 * The sub-port of what people have allowed for the rest of a session: that a tool of an agent needs no approval any more.
 * Never decides whether a tool needs one, and never tells anybody.
 */
export interface NewAllowance {
  readonly agent: string;
  readonly tool: string;
  readonly by?: string;
}

export interface Allowance {
  readonly agent: string;
  readonly tool: string;
  /** Null when nobody was named, or whoever it was has been erased. */
  readonly by: string | null;
  readonly at: number;
}

export interface Allowances {
  /** "already" when there is one for this tool: the first stays. Throws NOT_FOUND without the session. */
  add(ref: SessionRef, allowance: NewAllowance): Promise<"added" | "already">;
  find(ref: SessionRef, agent: string, tool: string): Promise<Allowance | null>;
  /** The oldest first, at most 1,000. */
  list(ref: SessionRef): Promise<Allowance[]>;
  /** False when there is none (any more). */
  remove(ref: SessionRef, agent: string, tool: string): Promise<boolean>;
}

/**
 * The sub-port of what a person has filled in so far, of a form that waits: kept so that it survives a reload. Gone when
 * the form is decided, and with its session. Never checks the values against the form.
 */
export interface FormDraft {
  readonly values: Json;
  /** 1 at first, and one more with every save. */
  readonly version: number;
  readonly savedAt: number;
}

export interface FormDrafts {
  /**
   * Replaces the draft: the last one counts. Null, and nothing is kept, when the interaction is not a form that waits.
   * Throws NOT_FOUND without the session, and TOO_LARGE beyond 64 kB.
   */
  save(ref: SessionRef, interaction: string, values: Json): Promise<FormDraft | null>;
  /** Null when there is none, or the form waits no longer. */
  get(ref: SessionRef, interaction: string): Promise<FormDraft | null>;
}

const MAX_BYTES = 65_536;

/** @returns the values as they are stored */
export function checkDraft(values: Json): string {
  // Not a string for what isn't JSON at all.
  const json = JSON.stringify(values) as string | undefined;
  if (json === undefined) throw new StoreError("INVALID", "form draft must be JSON");
  if (Buffer.byteLength(json) > MAX_BYTES) throw new StoreError("TOO_LARGE", "form draft");
  return json;
}
