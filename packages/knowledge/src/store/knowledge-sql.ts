/**
 * `postgresKnowledge` stores and searches knowledge bases on PostgreSQL.
 *
 * Invariant: an object and its chunks change in one transaction. Every query filters by tenant, and a search also by
 * base; the scope token only makes the index selective. A search counts a term up to `COMMON` and weighs at most
 * `MOST_WEIGHED` chunks, so its work is bounded.
 */
import {
  checkLimit,
  clock,
  COMMON,
  type Db,
  inTransaction,
  MAX_PAGE,
  selectiveTerms,
  type Term,
  type WeightedTerm,
  weightTerms,
} from "@turnstream/server/internal";
import { sql } from "kysely";
import {
  type Knowledge,
  checkObject,
  chunksOf,
  checkRange,
  linesWithin,
  type CheckedObject,
  type Chunk,
  scopeToken,
  type KnowledgeHit,
  checkQuery,
  hitsOf,
  type FoundChunk,
  CANDIDATES,
} from "./knowledge-part.ts";
import type { KnowledgeTables } from "./knowledge-tables.ts";

const COLUMNS = [
  "base",
  "id",
  "title",
  "url",
  "metadata",
  "hash",
  "lines",
  "changed_at as changedAt",
] as const;

const CHUNKS_AT_ONCE = 50;

function tablesIn(db: Db) {
  return db.withTables<Pick<KnowledgeTables, keyof KnowledgeTables>>();
}

export function postgresKnowledge(db: Db): Knowledge {
  const objects = (tenant: string, base: string) =>
    tablesIn(db)
      .selectFrom("knowledge_objects")
      .select(COLUMNS)
      .where((eb) => eb.and({ tenant_id: tenant, base }));
  const object = (tenant: string, base: string, id: string) =>
    objects(tenant, base).where("id", "=", id).executeTakeFirst();
  return {
    async put(tenant, base, wanted) {
      const checked = await checkObject(wanted);
      if ((await object(tenant, base, checked.id))?.hash === checked.hash) return "unchanged";
      const chunks = await chunksOf(checked);
      return inTransaction(db, (tx) => put(tx, tenant, base, checked, chunks));
    },
    remove: async (tenant, base, id) => (await removeObjects(db, { tenant_id: tenant, base, id })) > 0,
    removeBase: (tenant, base) =>
      inTransaction(db, async (tx) => {
        await sql`select set_config('statement_timeout', '0', true)`.execute(tx);
        return removeObjects(tx, { tenant_id: tenant, base });
      }),
    async list(tenant, base, { limit, after = "" }) {
      const query = objects(tenant, base).where("id", ">", after).orderBy("id");
      return await query.limit(checkLimit(limit, MAX_PAGE)).execute();
    },
    async bases(tenant) {
      return tablesIn(db)
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
      const found = await object(tenant, base, id);
      if (found === undefined) return null;
      const chunks = await tablesIn(db)
        .selectFrom("knowledge_chunks")
        .select(["first_line as firstLine", "text"])
        .where((eb) => eb.and({ tenant_id: tenant, base, object_id: id }))
        .where("last_line", ">=", range.from)
        .where("first_line", "<=", range.to)
        .orderBy("n")
        .execute();
      return { object: found, lines: linesWithin(chunks, range) };
    },
  };
}

async function removeObjects(db: Db, of: { tenant_id: string; base: string; id?: string }): Promise<number> {
  const query = tablesIn(db).deleteFrom("knowledge_objects");
  const { numDeletedRows } = await query.where((eb) => eb.and(of)).executeTakeFirst();
  return Number(numDeletedRows);
}

async function put(tx: Db, tenant: string, base: string, checked: CheckedObject, chunks: readonly Chunk[]) {
  const { id, title, url, metadata, hash } = checked;
  const values = { title, url, metadata, hash, lines: checked.lines.length };
  const row = await tablesIn(tx)
    .insertInto("knowledge_objects")
    .values({ tenant_id: tenant, base, id, ...values })
    // A concurrent put of the same object waits here, and then finds it unchanged.
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
    const former = { tenant_id: tenant, base, object_id: id };
    await tablesIn(tx)
      .deleteFrom("knowledge_chunks")
      .where((eb) => eb.and(former))
      .execute();
  }
  for (let n = 0; n < chunks.length; n += CHUNKS_AT_ONCE)
    await insert(tx, { tenant, base, id }, chunks.slice(n, n + CHUNKS_AT_ONCE));
  return row.created ? "created" : "replaced";
}

async function insert(
  tx: Db,
  { tenant, base, id }: { tenant: string; base: string; id: string },
  chunks: readonly Chunk[],
): Promise<void> {
  const scope = scopeToken(tenant, base);
  const rows = chunks.map(({ n, firstLine, lastLine, text, tokens }) => ({
    n,
    first_line: firstLine,
    last_line: lastLine,
    text,
    words: [scope, ...tokens],
  }));
  await sql`
    insert into knowledge_chunks (tenant_id, base, object_id, n, first_line, last_line, text, words)
    select ${tenant}, ${base}, ${id}, n, first_line, last_line, text,
      array_to_tsvector(array(select json_array_elements_text(words)))
    from json_to_recordset(${JSON.stringify(rows)}::json)
      as r(n integer, first_line integer, last_line integer, text text, words json)`.execute(tx);
}

/** How many chunks are weighed at most. Only queries of nothing but common terms match more. */
const MOST_WEIGHED = 20_000;

interface Place {
  readonly tenant: string;
  readonly bases: readonly string[];
}

/**
 * Counts each term, only far enough to know whether it is rare. Then weighs the chunks that contain a rare term, and
 * ranks the best ones in this process. The work is bounded, however common the terms are.
 */
async function searchKnowledge(
  db: Db,
  tenant: string,
  bases: readonly string[],
  query: { readonly text: string; readonly limit: number },
): Promise<KnowledgeHit[]> {
  const { terms, limit } = checkQuery(bases, query);
  if (terms.length === 0) return [];
  const place = { tenant, bases };
  const counts = await countTerms(db, place, terms);
  const wanted = selectiveTerms(terms, counts);
  if (wanted.length === 0) return [];
  const weighed = weightTerms(terms, counts);
  const isCommon = wanted.every((term) => (counts[terms.indexOf(term)] ?? 0) > COMMON);
  let found = await candidates(db, place, wanted, weighed, isCommon ? "&" : "|");
  if (isCommon && found.length < limit) found = await candidates(db, place, wanted, weighed, "|");
  return hitsOf(found, weighed, query.text, limit);
}

/** Counts the chunks of each term, up to a little more than COMMON. */
async function countTerms(db: Db, place: Place, terms: readonly Term[]): Promise<number[]> {
  const queries = terms.map((term) => tsquery(place, [term], "|"));
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from (
      select from knowledge_chunks
      where words @@ q.query::tsquery and tenant_id = ${place.tenant} and base = any(${[...place.bases]}::text[])
      limit ${COMMON + 1}) found) as count
    from unnest(${queries}::text[]) with ordinality as q(query, n) order by q.n`.execute(db);
  return rows.map(({ count }) => count);
}

async function candidates(
  db: Db,
  place: Place,
  wanted: readonly Term[],
  weighed: readonly WeightedTerm[],
  joint: "&" | "|",
): Promise<FoundChunk[]> {
  const weight = sql.join(
    weighed.map(
      (term) =>
        sql`(case when words @@ ${quoted(term)}::tsquery then ${term.weight}::double precision else 0 end)`,
    ),
    sql` + `,
  );
  const { rows } = await sql<FoundChunk>`
    select c.base, c.object_id as object, o.title, o.url, c.first_line as "firstLine",
      c.last_line as "lastLine", c.text, c.n
    from (
      select base, object_id, n, first_line, last_line, text, ${weight} as weight from (
        select * from knowledge_chunks
        where words @@ ${tsquery(place, wanted, joint)}::tsquery
          and tenant_id = ${place.tenant} and base = any(${[...place.bases]}::text[])
        limit ${MOST_WEIGHED}
      ) matching
      order by weight desc, object_id, n
      limit ${CANDIDATES}
    ) c
    join knowledge_objects o on o.tenant_id = ${place.tenant} and o.base = c.base and o.id = c.object_id`.execute(
    db,
  );
  return rows;
}

function tsquery({ tenant, bases }: Place, terms: readonly Term[], joint: "&" | "|"): string {
  const scopes = bases.map((base) => `'${scopeToken(tenant, base)}'`).join(" | ");
  return `(${scopes}) & (${terms.map(quoted).join(` ${joint} `)})`;
}

/** Terms consist of letters, marks and digits, so they need no escaping. */
function quoted({ word, isPrefix }: Term): string {
  return `'${word}'${isPrefix ? ":*" : ""}`;
}
