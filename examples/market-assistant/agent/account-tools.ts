/**
 * `accountTools` defines the tools for the user's accounts: the portfolio, an order that needs approval, and a form to
 * open an account.
 */
import { tool, type Tool, ToolError } from "@turnstream/server";
import { z } from "zod";
import { HOLDINGS, computePrice, findStock } from "./data.ts";
import type { Lines } from "./lines/lines.ts";
import { found } from "./market-tools.ts";
import { createNumbers } from "./numbers.ts";
import type { Pace } from "./pace.ts";

const LEVELS = ["none", "some", "much"] as const;

function holdings() {
  return HOLDINGS.map(({ symbol, count, cost }) => {
    const stock = findStock(symbol);
    const price = stock === undefined ? 0 : computePrice(stock);
    return { symbol, count, price, gain: count * (price - cost) };
  });
}

export function accountTools(lines: Lines, pace: Pace): Readonly<Record<string, Tool>> {
  const { labels, titles, found: texts, form } = lines;
  const { money, whole, signed } = createNumbers(lines.locale);
  return {
    get_portfolio: tool({
      description: "Returns the user's holdings in one of their accounts.",
      label: (input) => labels.portfolio(input.account),
      input: z.object({ account: z.enum(["short_term", "long_term"]) }),
      idempotent: true,
      async run({ account }, { signal }) {
        await pace.work(800, signal);
        // The example's user has not granted access to this account, to show a failed step.
        if (account === "long_term") throw new ToolError(texts.noPermission);
        const rows = holdings();
        const gain = rows.reduce((sum, row) => sum + row.gain, 0);
        return { content: rows, preview: `${signed(gain)} VND` };
      },
    }),
    show_portfolio: tool({
      description: "Shows the user the short-term account as a table.",
      label: labels.portfolioTable,
      idempotent: true,
      async run(_, { signal }) {
        await pace.work(500, signal);
        const rows = holdings().map(({ symbol, count, price, gain }) => [symbol, count, price, gain]);
        const data = { columns: [...texts.holdingColumns], rows };
        return {
          content: rows,
          preview: texts.stocks(rows.length),
          artifact: { type: "table", title: titles.portfolio, data },
        };
      },
    }),
    buy_stock: tool({
      description: "Buys stocks. The user must approve the order and can edit it.",
      label: (input) => labels.order(input.symbol),
      input: z.object({
        symbol: z.string(),
        count: z.int().positive().max(100_000),
        max_price: z.int().positive().meta({ description: "in VND", unit: "VND" }),
      }),
      approval: { editable: true, timeoutMs: 300_000 },
      async run({ symbol, count, max_price: max }, { signal, idempotencyKey }) {
        const stock = found(lines, symbol);
        await pace.work(1_200, signal);
        // A real exchange would get the idempotency key, so that a repeated call places the order only once.
        const order = `#${numberFrom(idempotencyKey)}`;
        return texts.ordered(order, whole(count), stock.symbol, money(max).replace(" VND", ""));
      },
    }),
    open_account: tool({
      description: "Opens a trading account. Asks the user for the required data with a form.",
      label: labels.account,
      run: (_, context) =>
        context.requestForm({
          id: "open_account",
          title: form.title,
          description: form.description,
          fields: [
            { name: "name", label: form.name, type: "shortText", required: true, min: 2, max: 80 },
            { name: "email", label: form.email, type: "email", required: true },
            { name: "phone", label: form.phone, type: "phone" },
            { name: "birth", label: form.birth, type: "date", required: true },
            {
              name: "experience",
              label: form.experience,
              type: "select",
              options: LEVELS.map((value, n) => ({ value, label: form.levels[n] ?? value })),
            },
            { name: "terms", label: form.terms, type: "checkbox", required: true },
          ],
        }),
    }),
  };
}

/** Returns four digits that are the same for the same key. */
function numberFrom(key: string): number {
  let sum = 0;
  for (const char of key) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 9_000;
  return 1_000 + sum;
}
