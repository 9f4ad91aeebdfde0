/** `@turnstream/knowledge` has knowledge bases: texts of a tenant that agents search and read. */
export { type ImportOutcome, importKnowledge, type KnowledgeFile } from "./import-knowledge.ts";
export { knowledge } from "./knowledge.ts";
export {
  fullTextSearch,
  type KnowledgeOptions,
  type KnowledgeQuery,
  type KnowledgeSearch,
  knowledgeTools,
} from "./knowledge-tools.ts";
export { knowledgeOf } from "./store/knowledge-of.ts";
export type { Knowledge, KnowledgeHit, KnowledgeObject } from "./store/knowledge-part.ts";
export { KNOWLEDGE_TABLES as tables } from "./store/knowledge-tables.ts";
