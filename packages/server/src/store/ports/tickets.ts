/**
 * The sub-port of tickets that were redeemed, so that each opens one connection. Never sees what a ticket lets somebody do:
 * that is signed, and read by whoever takes it.
 */
export interface Tickets {
  /**
   * Takes a ticket. False when it was taken before. Throws NOT_FOUND without the tenant.
   * @param expiresAt milliseconds since 1970; whoever calls has looked whether that is past
   */
  redeem(tenant: string, id: string, expiresAt: number): Promise<boolean>;
  /** Forgets those that have long expired. @returns how many, at most the limit */
  sweep(limit: number): Promise<number>;
}

/** Long enough that no clock is so far off: a ticket that was forgotten could be taken again. */
export const TICKET_GRACE_MS = 60 * 60 * 1_000;
