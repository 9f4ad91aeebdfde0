/**
 * `knowledgeTools` creates the tools `retrieve_context_objs` and `get_context_obj_lines`, which search a tenant's
 * knowledge bases and read lines of an object.
 *
 * Invariant: they only reach the bases that the developer named, of the session's own tenant. Hits of other bases are
 * dropped. Their results can be cited.
 */
import { truncateText } from "@turnstream/protocol/writer";
import { z } from "zod";
import {
  RuntimeError,
  type Tool,
  tool,
  type ToolContext,
  ToolError,
  type ToolOutput,
} from "@turnstream/server";
import { hostOf, type Store, toCitations } from "@turnstream/server/internal";
import { knowledgeOf } from "./store/knowledge-of.ts";
import type { KnowledgeHit, KnowledgeObject } from "./store/knowledge-part.ts";

/**
 * The search behind `retrieve_context_objs`, for example a vector store. Default: the full-text search of the store.
 */
export interface KnowledgeSearch {
  /**
   * Returns at most `limit` hits, best first. It must not return hits of other tenants or of bases that the query
   * doesn't name.
   */
  search(query: KnowledgeQuery): Promise<readonly KnowledgeHit[]>;
}

export interface KnowledgeQuery {
  readonly tenant: string;
  readonly bases: readonly string[];
  readonly text: string;
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface KnowledgeOptions {
  /** The names of the bases, or a function that returns them for a call. */
  readonly bases:
    | readonly string[]
    | ((context: ToolContext) => readonly string[] | Promise<readonly string[]>);
  readonly search?: KnowledgeSearch;
}

/** Returns the full-text search of the store, for combining it with another search. */
export function fullTextSearch(store: Pick<Store, "use">): KnowledgeSearch {
  return {
    search: ({ tenant, bases, text, limit }) => knowledgeOf(store).search(tenant, bases, { text, limit }),
  };
}

const HITS = 8;
const MAX_HITS = 20;
const MAX_QUERY = 1_000;
const LINES = 100;
const MAX_LINES = 500;
const MAX_CHARS = 20_000;

/**
 * @example `defineAgent({ name: "guide", model, tools: { ...knowledgeTools({ bases: ["handbook"] }), mine } })`
 * @throws RuntimeError without a base
 */
export function knowledgeTools(
  options: KnowledgeOptions,
): Record<"retrieve_context_objs" | "get_context_obj_lines", Tool> {
  if (Array.isArray(options.bases) && options.bases.length === 0)
    throw new RuntimeError("BAD_AGENT", "`bases` must have at least one base, got none");
  return { retrieve_context_objs: retrieveTool(options), get_context_obj_lines: linesTool(options) };
}

async function basesFor({ bases }: KnowledgeOptions, context: ToolContext): Promise<readonly string[]> {
  return typeof bases === "function" ? bases(context) : bases;
}

function retrieveTool(options: KnowledgeOptions): Tool {
  return tool({
    description:
      "Searches the knowledge base for passages about something. Use terms that the passages are likely to contain.",
    label: "Searching the knowledge base",
    input: z.object({
      query: z.string().min(1).max(MAX_QUERY),
      limit: z.int().min(1).max(MAX_HITS).optional(),
    }),
    idempotent: true,
    async run({ query, limit = HITS }, context) {
      const { store } = hostOf(context).scope.attempt.context;
      const bases = await basesFor(options, context);
      if (bases.length === 0) return nothingFound();
      const { search = fullTextSearch(store) } = options;
      const { tenant, signal } = context;
      const found = await search.search({ tenant, bases, text: query, limit, signal });
      const hits = found.filter(({ base }) => bases.includes(base)).slice(0, limit);
      return hits.length === 0 ? nothingFound() : outputOf(hits);
    },
  });
}

function nothingFound(): ToolOutput {
  return { content: "Nothing was found. Try other terms.", preview: "Nothing found", resultCount: 0 };
}

function outputOf(hits: readonly KnowledgeHit[]): ToolOutput {
  const references = hits.map(({ base, object, title, url, firstLine, lastLine, text }) => ({
    content: `Object: ${object}\nBase: ${base}\nTitle: ${title}\nLines: ${firstLine}-${lastLine}\n\n${truncateText(text, MAX_CHARS)}`,
    title,
    ...(url === null ? {} : { url }),
    shown: `${title}, ${firstLine}-${lastLine}`,
  }));
  return {
    ...toCitations(references, "Read more of an object, or around a passage, with get_context_obj_lines."),
    preview: hits.length === 1 ? "1 passage" : `${hits.length} passages`,
    resultCount: hits.length,
  };
}

function linesTool(options: KnowledgeOptions): Tool {
  return tool({
    description: "Reads lines of an object of the knowledge base, as retrieve_context_objs names it.",
    label: "Reading the knowledge base",
    input: z.object({
      object: z.string().min(1).max(256),
      base: z
        .string()
        .min(1)
        .max(256)
        .optional()
        .describe("The base of the passage; required if there are several bases."),
      from: z.int().positive().optional().describe("The first line, from 1."),
      to: z.int().positive().optional().describe(`The last line; at most ${MAX_LINES} at a time.`),
    }),
    idempotent: true,
    async run({ object, base, from = 1, to = from + LINES - 1 }, context) {
      const { store } = hostOf(context).scope.attempt.context;
      const bases = await basesFor(options, context);
      const within = bases.filter((knowledgeBase) => base === undefined || knowledgeBase === base);
      if (to < from)
        throw new ToolError("No such lines.", { modelMessage: "`to` must not be before `from`." });
      const range = { from, to: Math.min(to, from + MAX_LINES - 1) };
      for (const knowledgeBase of within) {
        const read = await knowledgeOf(store).lines(context.tenant, knowledgeBase, object, range);
        if (read !== null) return linesOutput(read.object, read.lines, from);
      }
      throw new ToolError("There is no such object.", {
        modelMessage: `There is no object ${object} in the knowledge base.`,
      });
    },
  });
}

function linesOutput(
  { title, url, lines: total }: KnowledgeObject,
  lines: readonly string[],
  from: number,
): ToolOutput {
  if (lines.length === 0) throw new ToolError("No such lines.", { modelMessage: `It has ${total} lines.` });
  const shown: string[] = [];
  let chars = 0;
  for (const [n, line] of lines.entries()) {
    chars += line.length;
    if (chars > MAX_CHARS && n > 0) break;
    shown.push(`${from + n}: ${line}`);
  }
  const last = from + shown.length - 1;
  const label = `${title}, ${from}-${last}`;
  const rest =
    last < total ? `It has ${total} lines; continue from line ${last + 1}.` : `It has ${total} lines.`;
  const item = { content: shown.join("\n"), title, ...(url === null ? {} : { url }), shown: label };
  return { ...toCitations([item], rest), preview: label };
}
