/**
 * The tool `search_web`, on whichever service a team has: the port that such a service fills, and the tool around it. What
 * it finds can be cited. Never calls a service itself.
 */
import { truncateText } from "@turnstream/protocol/writer";
import { z } from "zod";
import { type Tool, tool, type ToolContext, ToolError } from "../define/tool.ts";
import { toCitations } from "./citations.ts";

export interface WebSearch {
  /** The best first. Throws what it likes: the model reads the message, people that it failed. */
  search(query: WebQuery): Promise<readonly WebPage[]>;
}

export interface WebQuery {
  readonly text: string;
  readonly limit: number;
  /** Aborted when the turn is stopped, or the tool's time is up. */
  readonly signal: AbortSignal;
  /** For whom: for keys of tenants of their own. */
  readonly tenant: ToolContext["tenant"];
}

export interface WebPage {
  readonly url: string;
  readonly title: string;
  /** What it says about the query: some sentences. */
  readonly text: string;
}

const FOUND = 5;
const MAX_FOUND = 20;
const MAX_TITLE = 300;
const MAX_TEXT = 4_000;
const MAX_URL = 2_000;
const TIMEOUT_MS = 30_000;

export function searchWebTool(search: WebSearch): Tool {
  return tool({
    description:
      "Searches the web. Gives some pages with what they say; read one whole with fetch_web_content, if you have it.",
    label: "Searching the web",
    input: z.object({
      query: z.string().min(1).max(1_000),
      limit: z.int().min(1).max(MAX_FOUND).optional(),
    }),
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    async run({ query, limit = FOUND }, { signal, tenant }) {
      const answer = await search.search({ text: query, limit, signal, tenant }).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        throw new ToolError("The search failed.", {
          modelMessage: `The search failed: ${why}`,
          cause: error,
        });
      });
      const pages = answer.filter(({ url }) => isWeb(url)).slice(0, limit);
      if (pages.length === 0)
        return { content: "Nothing was found.", preview: "Nothing found", resultCount: 0 };
      const items = pages.map(({ url, title, text }) => {
        const name = truncateText(title === "" ? url : title, MAX_TITLE);
        return {
          content: `${name}\n${url}\n\n${truncateText(text, MAX_TEXT)}`,
          title: name,
          url,
          shown: name,
        };
      });
      return {
        ...toCitations(items, ""),
        preview: pages.length === 1 ? "1 page" : `${pages.length} pages`,
        resultCount: pages.length,
      };
    },
  });
}

/** A service may be wrong or hostile: only what a link can be is passed on. */
function isWeb(url: string): boolean {
  return url.length <= MAX_URL && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
