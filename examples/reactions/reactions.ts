/** `reactions` is a feature: users react to messages. Printed in docs/features.md. */
import {
  createTables,
  defineRoute,
  type FeatureTables,
  type ServerFeature,
  type SessionRef,
  type StorePart,
} from "@turnstream/server";
import { sql } from "kysely";
import { z } from "zod";

export const tables: FeatureTables = {
  feature: "reactions",
  names: ["reactions"],
  userColumns: [["reactions", "user_id"]],
  migrations: [
    createTables([
      `create table reactions (
        n bigint primary key generated always as identity,
        tenant_id text not null,
        session_id text not null,
        message_id text not null,
        user_id text,
        emoji text not null,
        at timestamptz not null default now(),
        unique (tenant_id, session_id, message_id, user_id, emoji),
        foreign key (tenant_id, session_id) references sessions on delete cascade
      )`,
      "create index reactions_of_user on reactions (tenant_id, user_id)",
      "create index reactions_by_age on reactions (at)",
    ]),
  ],
};

interface Reactions {
  add(of: SessionRef, message: string, user: string, emoji: string): Promise<void>;
  clear(of: SessionRef, message: string, user: string): Promise<void>;
  list(of: SessionRef, message: string): Promise<{ emoji: string; user: string | null }[]>;
  deleteOld(limit: number): Promise<void>;
}

export const reactionPart: StorePart<Reactions> = {
  name: "reactions",
  create: (db) => ({
    async add({ tenant, session }, message, user, emoji) {
      await sql`insert into reactions (tenant_id, session_id, message_id, user_id, emoji)
        values (${tenant}, ${session}, ${message}, ${user}, ${emoji}) on conflict do nothing`.execute(db);
    },
    async clear({ tenant, session }, message, user) {
      await sql`delete from reactions where tenant_id = ${tenant} and session_id = ${session}
        and message_id = ${message} and user_id = ${user}`.execute(db);
    },
    async list({ tenant, session }, message) {
      const { rows } = await sql<{ emoji: string; user: string | null }>`
        select emoji, user_id as user from reactions where tenant_id = ${tenant} and session_id = ${session}
          and message_id = ${message} order by n limit 1000`.execute(db);
      return rows;
    },
    async deleteOld(limit) {
      await sql`delete from reactions where n in (
        select n from reactions where at < now() - interval '1 year' order by at limit ${limit})`.execute(db);
    },
  }),
};

const path = "/sessions/{session}/messages/{message}/reactions";

const replace = defineRoute({
  method: "PUT",
  path,
  summary: "Replaces the caller's reactions to a message.",
  scope: "write",
  body: z.strictObject({ emojis: z.array(z.emoji()).max(5) }),
  async handle({ context, caller, ref, params: { message = "" }, body }) {
    await context.store.transaction(async (tx) => {
      const reactions = tx.use(reactionPart);
      await reactions.clear(ref, message, caller.user);
      for (const emoji of body.emojis) await reactions.add(ref, message, caller.user, emoji);
    });
    return { status: 204 };
  },
});

const list = defineRoute({
  method: "GET",
  path,
  summary: "Lists the reactions to a message.",
  scope: "read",
  handle: async ({ context, ref, params: { message = "" } }) => ({
    status: 200,
    json: { reactions: await context.store.use(reactionPart).list(ref, message) },
  }),
});

const name = "deleting old reactions";

export const reactions: ServerFeature = {
  name: "reactions",
  tables,
  routes: [replace, list],
  tasks: [{ name, every: "maintenance", run: ({ store }) => store.use(reactionPart).deleteOld(1_000) }],
};
