/** `knowledgeOf` returns the knowledge bases of a store, or of the transaction that it is. */
import type { Store, StorePart } from "@turnstream/server/internal";
import type { Knowledge } from "./knowledge-part.ts";
import { postgresKnowledge } from "./knowledge-sql.ts";

const part: StorePart<Knowledge> = { name: "knowledge", create: postgresKnowledge };

export function knowledgeOf(store: Pick<Store, "use">): Knowledge {
  return store.use(part);
}
