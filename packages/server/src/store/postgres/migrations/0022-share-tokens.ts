/**
 * `shareTokens` is migration 0022: each share has a key of its own, with which the token of its link is signed.
 *
 * Invariant: its SQL never changes after its release, because databases have run it. Add another migration. Links that
 * were created before are signed with a secret of the gateway, and end.
 */
import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const statements = [
  // Two random UUIDs have 244 random bits.
  `alter table shares add column key text not null
    default encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'base64')`,
  `alter table shares alter column key drop default`,
];

export const shareTokens: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
