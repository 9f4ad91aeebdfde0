/** `marketTools` defines read-only tools for the market: index, prices, articles, tables, charts and a long scan. */
import { tool, type Tool, ToolError } from "@turnstream/server";
import { z } from "zod";
import { computeChange, INDEX, computePrice, SESSIONS, type Stock, findStock, STOCKS } from "./data.ts";
import type { Lines } from "./lines/lines.ts";
import { createNumbers } from "./numbers.ts";
import type { Pace } from "./pace.ts";

const symbol = z.string().describe("for example VNM");
const STEPS = 40;
const ALL = 1_600;

export function found(lines: Lines, name: string): Stock {
  const stock = findStock(name);
  if (stock === undefined) throw new ToolError(lines.found.noSuchStock(name));
  return stock;
}

export function marketTools(lines: Lines, pace: Pace): Readonly<Record<string, Tool>> {
  const { labels, titles, found: texts } = lines;
  const { money, plain, signed, whole } = createNumbers(lines.locale);
  return {
    get_index: tool({
      description:
        "Returns today's market index: value, change, turnover, and how many stocks rose and fell.",
      label: labels.index,
      idempotent: true,
      async run(_, { signal }) {
        await pace.work(900, signal);
        const value = `${plain(INDEX.value)} (${signed(INDEX.change)}%)`;
        return { content: INDEX, preview: `${value}, ${texts.breadth(INDEX.up, INDEX.down)}` };
      },
    }),
    get_price: tool({
      description: "Returns the current price of one stock, and its change against the previous session.",
      label: (input) => labels.price(input.symbol),
      input: z.object({ symbol }),
      idempotent: true,
      async run(input, { signal }) {
        await pace.work(700, signal);
        const stock = found(lines, input.symbol);
        const [price, change] = [computePrice(stock), computeChange(stock)];
        const content = { symbol: stock.symbol, price, change_percent: Number(change.toFixed(2)) };
        return { content, preview: `${money(price)} (${signed(change)}%)` };
      },
    }),
    search_news: tool({
      description: "Articles about today's session. Cite the ones you use.",
      label: labels.articles,
      input: z.object({ query: z.string() }),
      idempotent: true,
      async run(_, { signal }) {
        await pace.work(1_400, signal);
        return {
          content: `${texts.latest.length} articles.`,
          preview: texts.articles(texts.latest.length),
          references: texts.latest.map(({ title, url, text }) => ({ title, url, content: text })),
          resultCount: texts.latest.length,
        };
      },
    }),
    show_movers: tool({
      description: "Shows the user a table of the stocks that moved most today.",
      label: labels.movers,
      idempotent: true,
      async run(_, { signal }) {
        await pace.work(600, signal);
        const moved = STOCKS.toSorted((a, b) => Math.abs(computeChange(b)) - Math.abs(computeChange(a)));
        const rows = moved.map((stock) => [
          stock.symbol,
          computePrice(stock),
          Number(computeChange(stock).toFixed(2)),
        ]);
        const data = { columns: [...texts.moverColumns], rows };
        return {
          content: rows,
          preview: texts.stocks(rows.length),
          artifact: { type: "table", title: titles.movers, data },
        };
      },
    }),
    show_chart: tool({
      description: "Shows the user a chart of a stock over the last seven sessions.",
      label: (input) => labels.chart(input.symbol),
      input: z.object({ symbol }),
      idempotent: true,
      async run(input, { signal }) {
        await pace.work(900, signal);
        const stock = found(lines, input.symbol);
        const data = { kind: "line", labels: [...SESSIONS], values: [...stock.closes], unit: "VND" };
        const artifact = { type: "chart", title: titles.chart(stock.symbol), data };
        return { content: stock.closes, preview: money(computePrice(stock)), artifact };
      },
    }),
    scan_market: tool({
      description: "Scans all stocks for a criterion. Takes about a minute.",
      label: labels.scan,
      input: z.object({ criterion: z.string() }),
      idempotent: true,
      async run(_, context) {
        for (let step = 1; step <= STEPS; step++) {
          await pace.work(1_500, context.signal);
          const [done, hits] = [(ALL / STEPS) * step, Math.floor(step / 13)];
          if (step % 4 === 0) context.progress(`${texts.scanned(whole(done), whole(ALL), whole(hits))}\n`);
        }
        return {
          content: ["VNM", "HPG", "VCB"],
          preview: texts.scanned(whole(ALL), whole(ALL), "3"),
          resultCount: 3,
        };
      },
    }),
  };
}
