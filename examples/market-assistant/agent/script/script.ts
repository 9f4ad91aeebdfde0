/**
 * `scriptedMarket` and `scriptedAnalyst` are the models that run without a key. For each topic they play thoughts,
 * texts and calls, step by step.
 *
 * Invariant: the step follows from the conversation, so that another worker continues at the right step.
 */
import type { Model } from "@turnstream/server";
import { type ScriptedReply, script, type ScriptCall, scriptedModel } from "@turnstream/server/testing";
import { SAMPLE_NAMES } from "../../shared/sample-statement.ts";
import type { Topic } from "../../shared/suggestions.ts";
import type { Lines } from "../lines/lines.ts";
import type { Pace } from "../pace.ts";
import { readResult, readSession } from "./read-prompt.ts";
import { type TextStreamer, createStreamer } from "./stream-text.ts";
import { findTopic } from "./topic.ts";

type Play = (asked: ScriptCall) => ScriptedReply;

const MAX_SHOWN = 300;

export function scriptedMarket(lines: Lines, pace: Pace): Model {
  const streamer = createStreamer(pace);
  const plays = playsOf(lines, streamer);
  const replies = (asked: ScriptCall): ScriptedReply => {
    const topic = findTopic(asked.text);
    if (topic === null) return [streamer.wait(400), streamer.write(lines.script.help)];
    if (typeof topic === "string") return [streamer.wait(500), ...plays[topic](asked)];
    if (asked.step === 0) return [streamer.wait(500), script.toolCall("get_price", { symbol: topic.symbol })];
    return [streamer.write(lines.script.price(topic.symbol))];
  };
  return scriptedModel(replies, { modelId: "scripted-market" });
}

export function scriptedAnalyst({ script: lines }: Lines, pace: Pace): Model {
  const streamer = createStreamer(pace);
  const steps: ScriptedReply[] = [
    [
      streamer.think(lines.analyst.think),
      script.toolCall("compare_ratios", { symbol: "VNM" }),
      script.toolCall("read_reports", { symbol: "VNM" }),
    ],
    [streamer.wait(300), streamer.write(lines.analyst.opinion)],
  ];
  return scriptedModel(steps, { modelId: "scripted-analyst" });
}

/** Repeats the last step if it is asked again. */
const inSteps =
  (...steps: readonly ScriptedReply[]): Play =>
  ({ step }) =>
    steps[Math.min(step, steps.length - 1)] ?? [];

function playsOf({ script: lines, locale }: Lines, streamer: TextStreamer): Readonly<Record<Topic, Play>> {
  const { think, write, share } = streamer;
  const { market, buy, portfolio, chart, analyst, scan, forecast, account, file } = lines;
  const forecasts = new Map<string, number>();
  return {
    market: inSteps(
      [think(market.think), share(market.first)],
      [
        ...["VNM", "FPT", "HPG"].map((symbol) => script.toolCall("get_price", { symbol })),
        script.toolCall("get_index"),
      ],
      [share(market.second)],
      [script.toolCall("search_news", { query: "VN-Index 25/03" })],
      [think(market.weigh), script.toolCall("show_movers")],
      [write(market.answer)],
    ),
    buy(asked) {
      if (asked.step === 0) return [think(buy.think), share(buy.first)];
      if (asked.step === 1)
        return [
          script.toolCall("get_price", { symbol: "VNM" }),
          script.toolCall("get_portfolio", { account: "short_term" }),
          script.toolCall("get_portfolio", { account: "long_term" }),
        ];
      if (asked.step === 2)
        return [script.toolCall("buy_stock", { symbol: "VNM", count: 100, max_price: 83_000 })];
      const order = readResult(asked, "buy_stock");
      return [write(order === null || order.isError ? buy.rejected : buy.done(order.text))];
    },
    portfolio(asked) {
      const question = { question: portfolio.question, options: portfolio.options, free_text: false };
      if (asked.step === 0) return [script.toolCall("ask_user_question", { questions: [question] })];
      const isLong = readResult(asked, "ask_user_question")?.text.includes(portfolio.options[1]) ?? false;
      if (asked.step === 1)
        return [script.toolCall("get_portfolio", { account: isLong ? "long_term" : "short_term" })];
      if (isLong) return [write(portfolio.long)];
      return asked.step === 2 ? [script.toolCall("show_portfolio")] : [write(portfolio.short)];
    },
    chart: inSteps(
      [share(chart.first)],
      [script.toolCall("show_chart", { symbol: "VNM" })],
      [write(chart.answer)],
    ),
    analyst: inSteps(
      [share(analyst.first)],
      [script.toolCall("analyst", { task: analyst.task })],
      [write(analyst.answer)],
    ),
    scan: inSteps(
      [share(scan.first)],
      [script.toolCall("scan_market", { criterion: "P/E" })],
      [write(scan.answer)],
    ),
    forecast(asked) {
      if (asked.step === 0) return [think(forecast.think), script.toolCall("get_index")];
      // Every other attempt in a session fails, starting with the first, so that the user can try a retry.
      const session = readSession(asked);
      const times = forecasts.get(session) ?? 0;
      forecasts.set(session, times + 1);
      return times % 2 === 0
        ? [script.error({ status: 529, message: "overloaded" })]
        : [write(forecast.answer)];
    },
    account(asked) {
      if (asked.step === 0) return [share(account.first)];
      if (asked.step === 1) return [script.toolCall("open_account")];
      const values = readResult(asked, "open_account")?.text ?? "";
      const name = /"name":\s*"name"[^}]*"value":\s*"([^"]+)"/.exec(values)?.[1];
      return [write(name === undefined ? account.declined : account.done(name))];
    },
    file(asked) {
      if (asked.text.includes(SAMPLE_NAMES[locale])) return [think(file.think), write(file.sample)];
      const text = asked.text.split("\n").slice(1);
      return [think(file.think), write(file.other(text.length, text.join("\n").slice(0, MAX_SHOWN)))];
    },
  };
}
