/**
 * Chapters of the store that the in-memory store doesn't have. Reads find nothing, and what would add a row is refused:
 * tests of webhooks, payments and memories run on PostgreSQL.
 */
import { type Memories, type Payments, StoreError, type Webhooks } from "@turnstream/server/internal";

const none = async (): Promise<[]> => [];
const nothing = async (): Promise<null> => null;
const zero = async (): Promise<0> => 0;
const no = async (): Promise<false> => false;

function refuse(what: string): () => Promise<never> {
  return async () => {
    throw new StoreError("UNSUPPORTED", `the in-memory store has no ${what}`);
  };
}

export const emptyWebhooks: Webhooks = {
  create: refuse("webhooks"),
  list: none,
  remove: no,
  enqueue: zero,
  take: none,
  settle: no,
  deliveries: nothing,
  replay: nothing,
  prune: zero,
};

export const emptyPayments: Payments = {
  create: refuse("payments"),
  apply: refuse("payments"),
  get: nothing,
  getInTenant: nothing,
  byToken: nothing,
  byOrderNo: nothing,
  list: none,
  changes: none,
  flagged: none,
  resolveFlag: nothing,
  due: none,
  claimQuery: no,
  setProviderRef: refuse("payments"),
};

export const emptyMemories: Memories = {
  save: refuse("memories"),
  list: none,
  change: nothing,
  remove: no,
  removeAll: zero,
};
