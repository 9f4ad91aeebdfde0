/**
 * `searchWebTool` creates the tool `search_web`, which returns citable search results. `WebSearch` is the port that a
 * search service implements.
 *
 * Invariant: results of the service are untrusted: only web links pass, and titles and texts are truncated. The user
 * sees no error message of the service; the model does.
 */
import { truncateText } from "@turnstream/protocol/writer";
import { z } from "zod";
import { type Tool, tool, type ToolContext, ToolError } from "@turnstream/server";
import { toCitations } from "@turnstream/server/internal";

export interface WebSearch {
  /** Returns pages, best first. The model gets the message of an error; the user only sees that the search failed. */
  search(query: WebQuery): Promise<readonly WebPage[]>;
}

export interface WebQuery {
  readonly text: string;
  readonly limit: number;
  /** Aborted when the turn is stopped or the tool times out. */
  readonly signal: AbortSignal;
  /** Lets a service use the tenant's own key. */
  readonly tenant: ToolContext["tenant"];
}

export interface WebPage {
  readonly url: string;
  readonly title: string;
  /** A few sentences of the page that match the query. */
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
      "Searches the web. Returns some pages with excerpts; read a complete page with fetch_web_content, if you have it.",
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

/** Only passes on web links of limited length, because the service may be faulty or hostile. */
function isWeb(url: string): boolean {
  return url.length <= MAX_URL && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
