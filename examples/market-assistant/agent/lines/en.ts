/** The agent's texts in English. */
import type { Lines } from "./lines.ts";

export const en: Lines = {
  locale: "en",
  language: "English",
  labels: {
    index: "Looking at VN-Index and the large stocks",
    price: (symbol) => `Looking up ${symbol}`,
    articles: "Searching for articles of 25 March",
    movers: "Looking for the largest moves",
    portfolio: (account) =>
      account === "long_term" ? "Looking at the long-term account" : "Looking at the short-term account",
    portfolioTable: "Listing the short-term account",
    chart: (symbol) => `Drawing ${symbol}`,
    order: (symbol) => `Ordering ${symbol}`,
    scan: "Scanning the whole market",
    account: "Opening an account",
    analyst: "Asking the analyst",
    ratios: (symbol) => `Comparing the P/E of ${symbol} with its sector`,
    reports: (symbol) => `Reading reports on ${symbol}`,
  },
  found: {
    breadth: (up, down) => `${up} up, ${down} down`,
    noSuchStock: (symbol) => `There is no stock ${symbol}`,
    noPermission: "no permission",
    moverColumns: ["Stock", "Price (VND)", "Change (%)"],
    holdingColumns: ["Stock", "Count", "Price (VND)", "Gain (VND)"],
    ordered: (order, count, symbol, price) =>
      `Order ${order}: ${count} ${symbol} at ${price} VND or less, sent to the exchange.`,
    scanned: (done, all, found) => `Scanned ${done} of ${all}, ${found} worth a look`,
    ratios: (pe, sectorPe, dividend) => `P/E ${pe} (sector ${sectorPe}), dividend ${dividend}%`,
    stocks: (count) => `${count} stocks`,
    articles: (count) => `${count} articles`,
    latest: [
      {
        title: "VN-Index stays green as technology leads",
        url: "https://press.example.com/vn-index-25-03",
        text: "VN-Index rose 0.42% to 1,284.6 points. Technology led, with FPT up 1.8%.",
      },
      {
        title: "Turnover above the average of 20 sessions",
        url: "https://press.example.com/turnover-25-03",
        text: "Turnover reached 21,350 billion VND, 12% above the average of 20 sessions.",
      },
      {
        title: "Foreign investors buy for the third day",
        url: "https://press.example.com/foreign-25-03",
        text: "Foreign investors bought 412 billion VND net, mostly FPT, HPG and VCB.",
      },
    ],
    reports: [
      {
        title: "VNM: margins recover",
        url: "https://research.example.com/vnm-q4",
        text: "The gross margin rose 1.3 points in the fourth quarter as milk powder got cheaper.",
      },
      {
        title: "Dairy: slow growth, steady dividends",
        url: "https://research.example.com/dairy",
        text: "The sector's volume grows 2% a year; the large companies pay dividends above 5%.",
      },
    ],
  },
  titles: {
    movers: "Largest moves",
    portfolio: "Short-term account",
    chart: (symbol) => `${symbol}, last 7 sessions`,
  },
  form: {
    title: "Open a trading account",
    description: "Your input is used in this demonstration only.",
    name: "Full name",
    email: "E-mail",
    phone: "Phone",
    birth: "Date of birth",
    experience: "Experience",
    levels: ["None yet", "1–3 years", "More than 3 years"],
    terms: "I agree to the terms",
  },
  script: {
    market: {
      think:
        "They ask about today's market. I need the index, a few large stocks and today's articles, then a short summary.",
      first: "Let me look at the index and the large stocks first.",
      second: "The index is up. I'll look for articles that explain why.",
      weigh: "Technology lifts the index, turnover is good, foreigners buy. That is enough.",
      answer: `The market is **up** today:

- **VN-Index** is at **1,284.6 points**, up 0.42%, led by technology [^1].
- Turnover is **21,350 billion VND**, 12% above the average of 20 sessions [^2].
- Foreign investors bought **412 billion VND** net, for the third day [^3].

**VNM** fell 1.2% to **82,000 VND**. Shall I look into one of them?`,
    },
    buy: {
      think: "Price and portfolio first. An order needs their approval.",
      first: "Let me check the price and your portfolio first.",
      done: (result) =>
        `Done. ${result}\n\nThe price is **82,000 VND**, below your limit. I may not see the long-term account, so it is not counted.`,
      rejected: "I placed **no order**. VNM is still at 82,000 VND; write to me when you want to buy.",
    },
    portfolio: {
      question: "Which account would you like to see?",
      options: ["Short-term", "Long-term"],
      short: `Your short-term account is **up 2,480,000 VND**:

| Stock | Gain |
| --- | ---: |
| FPT | +3,460,000 |
| HPG | +550,000 |
| MWG | −1,530,000 |

FPT carries the portfolio; only MWG is down.`,
      long: "I have **no permission** to see the long-term account. You can grant it in the settings, or ask about the short-term one.",
    },
    chart: {
      first: "Here is the chart.",
      answer:
        "Over 7 sessions **VNM** went from 80,400 to a high of **83,600** (23 March) and back to **82,000 VND**: up **2.0%** in all.",
    },
    analyst: {
      first: "I'll ask the analyst to have a look.",
      task: "Assess VNM for an investor who owns it: valuation, dividend, risks.",
      think: "Compare the valuation with the sector, and read the latest reports.",
      opinion:
        "VNM is cheaper than its sector (P/E 16.4 against 19.2), margins recover [^1] and the dividend is above 5% [^2]. The main risk is slow growth.",
      answer: `The analyst would **keep** VNM if you care for dividends:

1. **Valuation**: P/E 16.4, below the sector's 19.2.
2. **Profit**: the gross margin rose 1.3 points in the fourth quarter [^1].
3. **Dividend**: above 5% a year, though the sector grows slowly [^2].

> Invented data, not investment advice.`,
    },
    scan: {
      first: "This takes about a minute. You can press **Stop** at any time.",
      answer:
        "All scanned. The three cheapest against their sectors are **VNM**, **HPG** and **VCB**. Which one shall I look into?",
    },
    forecast: {
      think: "Start with the current value of the index.",
      answer:
        "If turnover stays above 20,000 billion, **VN-Index** may move around **1,275–1,300 points** next week. The nearest support is 1,270.\n\n> Invented, don't trade on it.",
    },
    account: {
      first: "I need a few details to open your account.",
      done: (name) =>
        `Thank you, **${name}**! Your application is sent. You will get an e-mail by the next working day.`,
      declined: "No problem. Write to me when you want to open one.",
    },
    file: {
      think: "There is a file. I read it, then summarize it.",
      sample: `The March statement has **8 transactions**:

- **Bought**: 3 orders, **45,855,000 VND** (FPT, HPG, VNM)
- **Sold**: 2 orders, **29,830,000 VND** (MWG, VCB)
- **Dividend**: 420,000 VND from VNM
- **Fees and tax**: 143,000 VND

The closing balance is **52,167,000 VND**.`,
      other: (lines, start) =>
        `The file has about **${lines} lines** and begins like this:\n\n\`\`\`text\n${start}\n\`\`\`\n\nI am a scripted model, so I can't read further. Set \`ANTHROPIC_API_KEY\` or \`OPENAI_API_KEY\` for a real summary.`,
    },
    price: (symbol) => `The price of **${symbol}** above is from 25 March. Would you like a chart?`,
    help: `I am the **scripted model** of this example, so I know only a few things:

- today's market, the price of a stock (VNM, FPT, HPG, VCB, MWG)
- buying, your portfolio, a chart
- the analyst, a scan, a forecast
- opening an account, summarizing a file

Set \`ANTHROPIC_API_KEY\` or \`OPENAI_API_KEY\` and start again to use a real model.`,
  },
};
