/**
 * `knowledgeRoutes` list, import and remove the texts of a tenant's knowledge bases. Searching is done by agents, not
 * by these routes.
 * Invariant: every query uses the caller's tenant and needs the scope `knowledge`, which tokens have only if
 * requested.
 */
import { restBodies, restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import {
  defined,
  defineRoute,
  MAX_PAGE,
  pageLimit,
  RequestError,
  type Route,
} from "@turnstream/server/internal";
import { importKnowledge } from "./import-knowledge.ts";
import { knowledgeOf } from "./store/knowledge-of.ts";
import type { KnowledgeObject } from "./store/knowledge-part.ts";

const DEFAULT_OBJECTS = 50;

const bases = defineRoute({
  method: "GET",
  path: "/knowledge",
  summary: "Lists the knowledge bases and how many objects each has.",
  scope: "knowledge",
  responseSchema: restReplies.bases,
  handle: async ({ context, caller }) => ({
    status: 200,
    json: { bases: await knowledgeOf(context.store).bases(caller.tenant) },
  }),
});

const objects = defineRoute({
  method: "GET",
  path: "/knowledge/{base}/objects",
  summary: "Returns a page of a base, by id.",
  scope: "knowledge",
  query: z.strictObject({
    after: z.string().min(1).max(256).exactOptional(),
    limit: pageLimit(MAX_PAGE - 1, DEFAULT_OBJECTS),
  }),
  responseSchema: restReplies.objects,
  async handle({ context, caller, params, query }) {
    const { after, limit } = query;
    const page = { limit: limit + 1, ...defined({ after }) };
    const found = await knowledgeOf(context.store).list(caller.tenant, params["base"] ?? "", page);
    const listed = found.slice(0, limit);
    const hasMore = found.length > limit;
    const next = hasMore ? (listed.at(-1)?.id ?? null) : null;
    return { status: 200, json: { objects: listed.map(toObjectJson), has_more: hasMore, next_after: next } };
  },
});

function toObjectJson({ id, title, url, metadata, lines, changedAt }: KnowledgeObject) {
  return { id, title, url, metadata, lines, changed_at: changedAt };
}

const importObjects = defineRoute({
  method: "POST",
  path: "/knowledge/{base}/objects",
  summary:
    "Imports objects into a base. Unchanged objects stay. `prune` removes all objects that are not in the request.",
  scope: "knowledge",
  idempotent: true,
  body: restBodies.import_knowledge,
  hasLargeBody: true,
  responseSchema: restReplies.imported,
  async handle({ context, caller, params, body }) {
    const files = body.objects.map(({ text, media_type, ...file }) => {
      // The content was sent as text, so without a type or file extension it is plain text.
      const mediaType = media_type ?? (file.id.includes(".") ? undefined : "text/plain");
      return { ...file, ...defined({ mediaType }), read: async () => text };
    });
    const target = { tenant: caller.tenant, base: params["base"] ?? "" };
    const imported = await importKnowledge(context.store, { ...target, files, prune: body.prune });
    return { status: 200, json: imported };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: "/knowledge/{base}/objects/{object}",
  summary: "Removes one object.",
  scope: "knowledge",
  async handle({ context, caller, params }) {
    const { base = "", object = "" } = params;
    if (!(await knowledgeOf(context.store).remove(caller.tenant, base, object)))
      throw new RequestError("NOT_FOUND", "The base has no such object.");
    return { status: 204 };
  },
});

const removeBase = defineRoute({
  method: "DELETE",
  path: "/knowledge/{base}",
  summary: "Removes a base.",
  scope: "knowledge",
  responseSchema: restReplies.removed,
  handle: async ({ context, caller, params }) => ({
    status: 200,
    json: { removed: await knowledgeOf(context.store).removeBase(caller.tenant, params["base"] ?? "") },
  }),
});

export const knowledgeRoutes: readonly Route[] = [bases, objects, importObjects, remove, removeBase];
