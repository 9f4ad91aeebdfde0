/**
 * The script of the model that the example plays without a key: for each topic, what it thinks, says and calls, step by
 * step. Which step it is follows from the conversation, so another worker goes on at the right place.
 */
import { type ScriptedReply, script, type Model, type ScriptCall, scriptedModel } from "@turnstream/server";
import { SAMPLE_NAME } from "../../shared/sample-statement.ts";
import type { Topic } from "../../shared/suggestions.ts";
import type { Lines } from "../lines/lines.ts";
import type { Pace } from "../pace.ts";
import { resultOf, sessionOf } from "./read-prompt.ts";
import { type Voice, voiceOf } from "./speak.ts";
import { topicOf } from "./topic.ts";

type Play = (asked: ScriptCall) => ScriptedReply;

const MAX_SHOWN = 300;

export function scriptedMarket(lines: Lines, pace: Pace): Model {
  const voice = voiceOf(pace);
  const plays = playsOf(lines, voice);
  const replies = (asked: ScriptCall): ScriptedReply => {
    const topic = topicOf(asked.text);
    if (topic === null) return [voice.wait(400), voice.say(lines.script.help)];
    if (typeof topic === "string") return [voice.wait(500), ...plays[topic](asked)];
    if (asked.step === 0) return [voice.wait(500), script.toolCall("get_price", { symbol: topic.symbol })];
    return [voice.say(lines.script.price(topic.symbol))];
  };
  return scriptedModel(replies, { modelId: "scripted-market" });
}

export function scriptedAnalyst({ script: lines }: Lines, pace: Pace): Model {
  const voice = voiceOf(pace);
  const steps: ScriptedReply[] = [
    [
      voice.think(lines.analyst.think),
      script.toolCall("compare_ratios", { symbol: "VNM" }),
      script.toolCall("read_reports", { symbol: "VNM" }),
    ],
    [voice.wait(300), voice.say(lines.analyst.opinion)],
  ];
  return scriptedModel(steps, { modelId: "scripted-analyst" });
}

/** The last one is said however often it is asked. */
const inSteps =
  (...steps: readonly ScriptedReply[]): Play =>
  ({ step }) =>
    steps[Math.min(step, steps.length - 1)] ?? [];

function playsOf({ script: lines }: Lines, voice: Voice): Readonly<Record<Topic, Play>> {
  const { think, say, share } = voice;
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
      [say(market.answer)],
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
        return [
          script.toolCall("place_order", { symbol: "VNM", side: "buy", count: 100, max_price: 83_000 }),
        ];
      const order = resultOf(asked, "place_order");
      return [say(order === null || order.isError ? buy.rejected : buy.done(order.text))];
    },
    portfolio(asked) {
      const question = { question: portfolio.question, options: portfolio.options, free_text: false };
      if (asked.step === 0) return [script.toolCall("ask_user_question", { questions: [question] })];
      const isLong = resultOf(asked, "ask_user_question")?.text.includes(portfolio.options[1]) ?? false;
      if (asked.step === 1)
        return [script.toolCall("get_portfolio", { account: isLong ? "long_term" : "short_term" })];
      if (isLong) return [say(portfolio.long)];
      return asked.step === 2 ? [script.toolCall("show_portfolio")] : [say(portfolio.short)];
    },
    chart: inSteps(
      [share(chart.first)],
      [script.toolCall("show_chart", { symbol: "VNM" })],
      [say(chart.answer)],
    ),
    analyst: inSteps(
      [share(analyst.first)],
      [script.toolCall("analyst", { task: analyst.task })],
      [say(analyst.answer)],
    ),
    scan: inSteps(
      [share(scan.first)],
      [script.toolCall("scan_market", { criterion: "P/E" })],
      [say(scan.answer)],
    ),
    forecast(asked) {
      if (asked.step === 0) return [think(forecast.think), script.toolCall("get_index")];
      // The first try of each session fails, so that there is something to try again.
      const session = sessionOf(asked);
      const times = forecasts.get(session) ?? 0;
      forecasts.set(session, times + 1);
      return times % 2 === 0
        ? [script.error({ status: 529, message: "overloaded" })]
        : [say(forecast.answer)];
    },
    account(asked) {
      if (asked.step === 0) return [share(account.first)];
      if (asked.step === 1) return [script.toolCall("open_account")];
      const values = resultOf(asked, "open_account")?.text ?? "";
      const name = /"name":\s*"name"[^}]*"value":\s*"([^"]+)"/.exec(values)?.[1];
      return [say(name === undefined ? account.declined : account.done(name))];
    },
    file(asked) {
      if (asked.text.includes(SAMPLE_NAME)) return [think(file.think), say(file.sample)];
      const text = asked.text.split("\n").slice(1);
      return [think(file.think), say(file.other(text.length, text.join("\n").slice(0, MAX_SHOWN)))];
    },
  };
}
