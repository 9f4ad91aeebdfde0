/**
 * Searching knowledge bases on PostgreSQL. First each term is counted, so far as that tells whether it is rare; then the
 * pieces with a rare term are weighed by the terms they have, and the best are ranked here. However common the words,
 * the work is bounded.
 */
import { sql } from "kysely";
import type { KnowledgeHit } from "../ports/knowledge.ts";
import { CANDIDATES, checkQuery, type FoundChunk, hitsOf } from "../rules/knowledge-query.ts";
import { scopeWord } from "../rules/knowledge.ts";
import { COMMON, telling, weigh, type Weighed } from "../rules/search-rank.ts";
import type { Term } from "../rules/search.ts";
import type { Db } from "./database.ts";

/** How many pieces are weighed at the most: only queries of nothing but common words have more. */
const MOST_WEIGHED = 20_000;

interface Place {
  readonly tenant: string;
  readonly bases: readonly string[];
}

export async function searchKnowledge(
  db: Db,
  tenant: string,
  bases: readonly string[],
  query: { readonly words: string; readonly limit: number },
): Promise<KnowledgeHit[]> {
  const { terms, limit } = checkQuery(bases, query);
  if (terms.length === 0) return [];
  const place = { tenant, bases };
  const counts = await countTerms(db, place, terms);
  const wanted = telling(terms, counts);
  if (wanted.length === 0) return [];
  const weighed = weigh(terms, counts);
  const isCommon = wanted.every((term) => (counts[terms.indexOf(term)] ?? 0) > COMMON);
  let found = await candidates(db, place, wanted, weighed, isCommon ? "&" : "|");
  if (isCommon && found.length < limit) found = await candidates(db, place, wanted, weighed, "|");
  return hitsOf(found, weighed, query.words, limit);
}

/** Up to a little more than COMMON. */
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
  weighed: readonly Weighed[],
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
  const scopes = bases.map((base) => `'${scopeWord(tenant, base)}'`).join(" | ");
  return `(${scopes}) & (${terms.map(quoted).join(` ${joint} `)})`;
}

/** Words are letters, marks and digits: nothing in them needs escaping. */
function quoted({ word, isPrefix }: Term): string {
  return `'${word}'${isPrefix ? ":*" : ""}`;
}
