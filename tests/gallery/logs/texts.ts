/** Writes logs of answers and thoughts with different Markdown, scripts and lengths. */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import { answered, concluded, pieces, story } from "./writing.ts";

const SHORT = `VNM trades around **82,000 VND**, down 1.2% since yesterday, on a volume above its 20-session average.

It is still within the range of the past month, so there is no need to hurry.`;

export const shortAnswer = (): Story => answered("How is VNM doing today?", SHORT);

const CODE = `Check the limit on the server, where no client can bypass it:

\`\`\`ts
export function withinLimit(order: Order, limit: number): boolean {
  // The price is per share; the limit is for the whole order.
  return order.price * order.quantity <= limit;
}
\`\`\`

Then call \`withinLimit\` before \`place_order\`. A longer line shows how code scrolls by itself:

\`\`\`sh
curl --silent --show-error --fail --header "Authorization: Bearer $TOKEN" https://chat.example.com/api/v1/sessions/ses_gallery/turns?limit=20
\`\`\``;

export const codeAnswer = (): Story => answered("Show me how to check the limit.", CODE);

const TABLE = `The three largest of the sector, at the close:

| Symbol | Close | Change | P/E | Volume |
| :-- | --: | --: | --: | --: |
| VNM | 82,000 | −1.2% | 16.4 | 3,120,400 |
| MCH | 141,300 | +0.4% | 19.8 | 214,900 |
| SAB | 56,700 | +2.1% | 17.1 | 1,002,300 |

VNM is the cheapest by **P/E**, and the only one that fell.`;

export const tableAnswer = (): Story => answered("Compare VNM with its peers.", TABLE);

const LIST = `### What I would do

1. Wait for the results of the third quarter.
2. Buy in two halves:
   - the first below 82,000,
   - the second only if volume stays high.
3. Set an alert at 78,000.

- [x] Price looked up
- [ ] Alert set

> Past prices don't predict future ones.

---

Ask me for *any* of these, or for ~~none~~ all of them.`;

export const listAnswer = (): Story => answered("What should I do?", LIST);

const PARAGRAPH =
  "The index moved within a narrow range for most of the session, with banks and consumer goods pulling in opposite directions. Foreign investors sold for the third day in a row, though less than on the two days before, and volume was close to the average of the month. ";

export function longAnswer(): Story {
  const chapters = Array.from(
    { length: 12 },
    (_, n) => `## Part ${n + 1}\n\n${PARAGRAPH.repeat(2)}\n\n${PARAGRAPH}\n\n`,
  );
  return answered("Write the long report.", chapters.join(""), 12);
}

/** Headings as models write them: they start at any level, skip levels, and some are in a list. */
const HEADINGS = `#### First things first

${PARAGRAPH}

## The market

###### In short

Little has changed.

1. ### Banks
   They fell.
2. ### Food
   It rose.

# What to do

Nothing.`;

export const headings = (): Story => answered("Write a report with chapters.", HEADINGS);

export const linkAnswer = (): Story =>
  answered(
    "Where can I read more?",
    "The figures are on [the exchange's page](https://www.hsx.example/Modules/Listed/Web/SymbolList?symbol=VNM&from=2026-01-01), and the company writes about them at [vinamilk.example](https://ir.vinamilk.example/2026/q1).",
  );

export const rightToLeftAnswer = (): Story =>
  answered(
    "كيف أداء السهم اليوم؟",
    "سهم **VNM** يُتداول قرب **82,000** دونغ، بانخفاض 1.2% عن الأمس.\n\n- الحجم أعلى من المتوسط\n- لا داعي للعجلة\n\nراجع `withinLimit` قبل الشراء.",
  );

export const cjkAnswer = (): Story =>
  answered(
    "今天 VNM 的表现如何？",
    "VNM 目前报 **82,000 越南盾**，较昨日下跌 1.2%，成交量高于 20 日均值。\n\n1. 价格仍在一个月的区间之内；\n2. 没有必要着急。\n\n「长期持有」的看法不变。",
    1,
  );

const THOUGHT =
  "The user wants a price and, on a condition, an order. I look the price up first, then the portfolio. Only then do I know whether the order can be placed at all.";

export function thought(): Story {
  const log = story("Buy VNM if it is below 83,000.");
  log.think(pieces(THOUGHT)).wait(0.4);
  return concluded(log, SHORT);
}

/** The brand is shown once, above the first of several texts. */
export function sharedThoughts(): Story {
  const log = story("What happened on the market?");
  log.text(pieces("I look at the indices first, then at the reports."), { part: true });
  const call = log.call("search_articles", ['{"query":"VN-Index"}'], { label: "Searching for reports" });
  log.result(call, "search_articles", "4 articles");
  log.text(pieces("The reports explain it: a rate decision came early."), { part: true });
  return concluded(log, "The index fell 0.8%, **after an early rate decision**.");
}
