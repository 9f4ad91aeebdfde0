/** `knowledge` is the feature: the routes and tables of knowledge bases. Agents read them with `knowledgeTools`. */
import type { ServerFeature } from "@turnstream/server";
import { knowledgeRoutes } from "./knowledge-routes.ts";
import { KNOWLEDGE_TABLES } from "./store/knowledge-tables.ts";

/** @example `turnstream({ agents, features: [knowledge()], user })` */
export function knowledge(): ServerFeature {
  return {
    name: KNOWLEDGE_TABLES.feature,
    tables: KNOWLEDGE_TABLES,
    scope: "tokens",
    routes: knowledgeRoutes,
  };
}
