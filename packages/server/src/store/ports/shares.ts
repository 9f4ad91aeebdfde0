/**
 * The sub-port of shares: a session's history up to one position, open to whoever has the link.
 * Never makes links: see share-token.ts; nor copies: see fork-share.ts.
 */
import type { Cursor } from "@turnstream/protocol";
import type { Actor, Ref } from "../refs.ts";

export interface Share extends Ref {
  readonly id: string;
  /** What was archived when the share was made: nothing later is ever shown by it. */
  readonly upTo: Cursor;
  readonly createdAt: number;
}

export interface Shares {
  /** @param id left to the store when absent. Throws NOT_FOUND when the session isn't the actor's, EXISTS when it is taken. */
  create(actor: Actor, session: string, id?: string): Promise<Share>;
  /** False when there is no such share of the actor's, or it is revoked already. */
  revoke(actor: Actor, id: string): Promise<boolean>;
  /** Null when it never was, is revoked, or its session is erased. The link itself is the right to read. */
  find(id: string): Promise<Share | null>;
  /** The newest of those not revoked, at most 1,000, oldest first. */
  list(actor: Actor, session: string): Promise<Share[]>;
}
