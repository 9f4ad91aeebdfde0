/** Knowledge bases on PostgreSQL: what is kept of them. How they are searched stands in knowledge-search.ts. */
import { sql } from "kysely";
import type { Json } from "@turnstream/protocol";
import type { Knowledge, KnowledgeObject } from "../ports/knowledge.ts";
import { MAX_PAGE } from "../ports/sessions.ts";
import { checkLimit } from "../rules/arguments.ts";
import { checkRange, linesWithin } from "../rules/knowledge-query.ts";
import {
  type Chunk,
  type CheckedObject,
  checkObject,
  chunksOf,
  scopeWord,
} from "../rules/knowledge.ts";
import type { Db } from "./database.ts";
import { searchKnowledge } from "./knowledge-search.ts";
import { clock, inTransaction } from "./session-row.ts";

const COLUMNS = ["base", "id", "title", "url", "metadata", "hash", "lines", "changed_at"] as const;
const CHUNKS_AT_ONCE = 200;

export function postgresKnowledge(db: Db): Knowledge {
  const object = (tenant: string, base: string, id: string) =>
    db
      .selectFrom("knowledge_objects")
      .select(COLUMNS)
      .where("tenant_id", "=", tenant)
      .where("base", "=", base)
      .where("id", "=", id)
      .executeTakeFirst();
  return {
    put: (tenant, base, wanted) => inTransaction(db, (tx) => put(tx, tenant, base, checkObject(wanted))),
    async remove(tenant, base, id) {
      const { numDeletedRows } = await db
        .deleteFrom("knowledge_objects")
        .where("tenant_id", "=", tenant)
        .where("base", "=", base)
        .where("id", "=", id)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
    removeBase: (tenant, base) =>
      inTransaction(db, async (tx) => {
        await sql`select set_config('statement_timeout', '0', true)`.execute(tx);
        const { numDeletedRows } = await tx
          .deleteFrom("knowledge_objects")
          .where("tenant_id", "=", tenant)
          .where("base", "=", base)
          .executeTakeFirst();
        return Number(numDeletedRows);
      }),
    async get(tenant, base, id) {
      const row = await object(tenant, base, id);
      return row === undefined ? null : objectOf(row);
    },
    async list(tenant, base, { limit, after }) {
      let query = db
        .selectFrom("knowledge_objects")
        .select(COLUMNS)
        .where("tenant_id", "=", tenant)
        .where("base", "=", base)
        .orderBy("id")
        .limit(checkLimit(limit, MAX_PAGE));
      if (after !== undefined) query = query.where("id", ">", after);
      return (await query.execute()).map(objectOf);
    },
    async bases(tenant) {
      return db
        .selectFrom("knowledge_objects")
        .select((eb) => ["base", eb.fn.countAll<number>().as("objects")])
        .where("tenant_id", "=", tenant)
        .groupBy("base")
        .orderBy("base")
        .execute();
    },
    search: (tenant, bases, query) => searchKnowledge(db, tenant, bases, query),
    async lines(tenant, base, id, range) {
      checkRange(range);
      const row = await object(tenant, base, id);
      if (row === undefined) return null;
      const chunks = await db
        .selectFrom("knowledge_chunks")
        .select(["first_line as firstLine", "text"])
        .where("tenant_id", "=", tenant)
        .where("base", "=", base)
        .where("object_id", "=", id)
        .where("last_line", ">=", range.from)
        .where("first_line", "<=", range.to)
        .orderBy("n")
        .execute();
      return { object: objectOf(row), from: range.from, lines: linesWithin(chunks, range) };
    },
  };
}

async function put(tx: Db, tenant: string, base: string, checked: CheckedObject) {
  const { id, title, url, metadata, hash } = checked;
  const values = { title, url, metadata, hash, lines: checked.lines.length };
  const row = await tx
    .insertInto("knowledge_objects")
    .values({ tenant_id: tenant, base, id, ...values })
    // Whoever puts the same object at the same time waits here, and then finds it unchanged.
    .onConflict((conflict) =>
      conflict
        .columns(["tenant_id", "base", "id"])
        .doUpdateSet({ ...values, changed_at: clock })
        .where("knowledge_objects.hash", "!=", hash),
    )
    .returning(sql<boolean>`xmax = 0`.as("created"))
    .executeTakeFirst();
  if (row === undefined) return "unchanged";
  if (!row.created) {
    await tx
      .deleteFrom("knowledge_chunks")
      .where("tenant_id", "=", tenant)
      .where("base", "=", base)
      .where("object_id", "=", id)
      .execute();
  }
  const chunks = chunksOf(checked);
  for (let n = 0; n < chunks.length; n += CHUNKS_AT_ONCE)
    await insert(tx, { tenant, base, id }, chunks.slice(n, n + CHUNKS_AT_ONCE));
  return row.created ? "created" : "replaced";
}

async function insert(
  tx: Db,
  { tenant, base, id }: { tenant: string; base: string; id: string },
  chunks: readonly Chunk[],
): Promise<void> {
  const scope = scopeWord(tenant, base);
  const rows = chunks.map(({ n, firstLine, lastLine, text, words }) => ({
    n,
    first_line: firstLine,
    last_line: lastLine,
    text,
    words: [scope, ...words],
  }));
  await sql`
    insert into knowledge_chunks (tenant_id, base, object_id, n, first_line, last_line, text, words)
    select ${tenant}, ${base}, ${id}, n, first_line, last_line, text,
      array_to_tsvector(array(select json_array_elements_text(words)))
    from json_to_recordset(${JSON.stringify(rows)}::json)
      as r(n integer, first_line integer, last_line integer, text text, words json)`.execute(tx);
}

function objectOf(row: {
  base: string;
  id: string;
  title: string;
  url: string | null;
  metadata: Json;
  hash: string;
  lines: number;
  changed_at: number;
}): KnowledgeObject {
  const { changed_at: changedAt, ...object } = row;
  return { ...object, changedAt };
}
