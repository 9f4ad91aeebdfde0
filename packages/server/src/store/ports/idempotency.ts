/**
 * The sub-port of requests that must not be done twice: under a key that the client has chosen, what was answered is kept for
 * a day and given again. Each is one person's; it goes with them, and with the session that it is about. Never does anything.
 *
 *   begin ──▶ yours ──▶ finish ──▶ done …
 *               │
 *               ├──▶ release ──▶ yours (the next who begins)
 *               └──▶ nobody said anything for a while ──▶ yours (the next who begins)
 */
import type { Json } from "@turnstream/protocol";
import type { Actor } from "../refs.ts";

/** Which request. */
export interface RequestKey {
  /** The same key means something else at another route. */
  readonly route: string;
  readonly key: string;
}

export interface RequestBegun extends RequestKey {
  /** Of all that was asked for: the same key with another one is a mistake of the client's. */
  readonly digest: string;
  /** The session that it is about, where there is one. */
  readonly session?: string;
}

export interface KeptAnswer {
  readonly status: number;
  readonly body: Json;
  /** The session that was made. */
  readonly session?: string;
}

/**
 * - `yours`: do it, and then `finish` or `release`, with this claim. `id` is the same for whoever does it after you: make
 *   things under it, so that doing it twice makes them once.
 * - `busy`: somebody is at it.
 * - `different`: the key was used for another request.
 */
export type Begun =
  | { readonly state: "yours"; readonly claim: string; readonly id: string }
  | { readonly state: "done"; readonly answer: { readonly status: number; readonly body: Json } }
  | { readonly state: "busy" }
  | { readonly state: "different" };

export interface Idempotency {
  /** Throws NOT_FOUND without the tenant, or without the session. */
  begin(actor: Actor, request: RequestBegun): Promise<Begun>;
  /**
   * Keeps the answer. False when somebody else has taken the request over, or it was erased. Throws NOT_FOUND without the
   * session, and TOO_LARGE beyond 256 kB.
   */
  finish(actor: Actor, request: RequestKey, claim: string, answer: KeptAnswer): Promise<boolean>;
  /** It came to nothing: whoever asks again does it anew, under the same `id`. */
  release(actor: Actor, request: RequestKey, claim: string): Promise<void>;
  /** Forgets those that began more than a day ago. @returns how many, at most the limit */
  sweep(limit: number): Promise<number>;
}

export const REQUEST_KEPT_MS = 24 * 60 * 60 * 1_000;
/** Whoever has said nothing for so long is taken for dead. */
export const REQUEST_CLAIM_MS = 120_000;
