/**
 * Chapters of the store that the in-memory store doesn't have. Reads find nothing, and what would add a row is refused:
 * tests of webhooks, memories, features, and the erasure of users and tenants run on PostgreSQL.
 */
import {
  type Features,
  type Memories,
  StoreError,
  type UsePart,
  type Webhooks,
} from "@turnstream/server/internal";

const none = async (): Promise<[]> => [];
const nothing = async (): Promise<null> => null;
const zero = async (): Promise<0> => 0;
const no = async (): Promise<false> => false;

export function unsupported(what: string): StoreError {
  return new StoreError("UNSUPPORTED", `the in-memory store doesn't have ${what}`);
}

function refuse(what: string): () => Promise<never> {
  return async () => {
    throw unsupported(what);
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

export const emptyMemories: Memories = {
  save: refuse("memories"),
  list: none,
  change: nothing,
  remove: no,
  removeAll: zero,
};

export const emptyFeatures: Features = {
  async requireTables([first]) {
    if (first !== undefined) throw unsupported(`the feature ${first}`);
    return [];
  },
};

export const refuseParts: UsePart = ({ name }) => {
  throw unsupported(`the feature ${name}`);
};
