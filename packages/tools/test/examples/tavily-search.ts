/** `tavilySearch` implements WebSearch with Tavily's API. Printed in docs/built-in-tools.md. */
import type { WebSearch } from "@turnstream/tools";

interface TavilyAnswer {
  readonly results: readonly { readonly url: string; readonly title: string; readonly content: string }[];
}

export function tavilySearch(options: { readonly apiKey: string; readonly baseUrl?: string }): WebSearch {
  const { apiKey, baseUrl = "https://api.tavily.com" } = options;
  return {
    async search({ text, limit, signal }) {
      const response = await fetch(`${baseUrl}/search`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ query: text, max_results: limit }),
        signal,
      });
      if (!response.ok) throw new Error(`the search service answered with ${response.status}`);
      const { results } = (await response.json()) as TavilyAnswer;
      return results.map(({ url, title, content }) => ({ url, title, text: content }));
    },
  };
}
