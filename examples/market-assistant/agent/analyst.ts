/**
 * `createAnalyst` defines the sub-agent: an analyst that compares a stock with its sector and reads reports that
 * answers can cite.
 */
import { type Agent, defineAgent, type Model, tool } from "@turnstream/server";
import { z } from "zod";
import type { Lines } from "./lines/lines.ts";
import { found } from "./market-tools.ts";
import { createNumbers } from "./numbers.ts";
import type { Pace } from "./pace.ts";

export function createAnalyst(lines: Lines, model: Model, pace: Pace): Agent {
  const { labels, found: texts } = lines;
  const { plain } = createNumbers(lines.locale);
  const input = z.object({ symbol: z.string() });
  return defineAgent({
    name: "analyst",
    description: "Assesses a stock in depth: valuation, dividend, risks.",
    label: labels.analyst,
    model,
    retry: { maxAttempts: 2 },
    instructions: `You are a sober equity analyst. Compare the ratios, read the reports, then write three sentences at most in ${lines.language}. Cite reports as [^n] right after each fact from them, where n is the ID of the item.`,
    tools: {
      compare_ratios: tool({
        description: "Price-earnings ratio of a stock and of its sector, and its dividend.",
        label: ({ symbol }) => labels.ratios(symbol),
        input,
        idempotent: true,
        async run({ symbol }, { signal }) {
          await pace.work(1_300, signal);
          const { pe, sectorPe, dividend } = found(lines, symbol);
          const preview = texts.ratios(plain(pe), plain(sectorPe), plain(dividend));
          return { content: { pe, sector_pe: sectorPe, dividend_percent: dividend }, preview };
        },
      }),
      read_reports: tool({
        description: "Research reports on a stock and its sector.",
        label: ({ symbol }) => labels.reports(symbol),
        input,
        idempotent: true,
        async run(_, { signal }) {
          await pace.work(1_700, signal);
          return {
            content: `${texts.reports.length} reports.`,
            preview: texts.articles(texts.reports.length),
            references: texts.reports.map(({ title, url, text }) => ({ title, url, content: text })),
            resultCount: texts.reports.length,
          };
        },
      }),
    },
  });
}
