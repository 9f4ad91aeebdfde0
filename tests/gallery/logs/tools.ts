/** Writes logs of tool calls outside of groups, one for each outcome and for each kind of progress. */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import { concluded, pieces, story } from "./writing.ts";

const NAME = "get_price";
const LABEL = "Looking up the price";
const INPUT = '{"symbol":"VNM","exchange":"HOSE","currency":"VND"}';

function asked(): { log: Story; call: string } {
  const log = story("What does VNM cost?");
  const call = log.call(NAME, pieces(INPUT.replaceAll(",", ", "), 1), { label: LABEL });
  return { log, call };
}

export function toolDone(): Story {
  const { log, call } = asked();
  const on = log.wait(0.4).startResult(call, NAME, { label: LABEL });
  const part = { type: "tool_result.delta", ...on, part: 0, media: "text" } as const;
  log.add({ ...part, data: "querying the exchange… ", done: false });
  log.wait(0.6).add({ ...part, data: "82,000 VND", done: true });
  log.wait(0.3).endResult(on, "82,000 VND (−1.2%)");
  return concluded(log.wait(0.3), "VNM costs **82,000 VND**.");
}

export function toolFailed(): Story {
  const { log, call } = asked();
  const on = log.startResult(call, NAME, { label: LABEL });
  log
    .wait(2)
    .endResult(on, "The exchange did not answer within 10 s. Nothing was changed.", { status: "error" });
  return concluded(log, "I could not get the price.");
}

export function toolCancelled(): Story {
  const { log, call } = asked();
  const on = log.startResult(call, NAME, { label: LABEL });
  log.wait(2).endResult(on, "", { status: "cancelled" });
  log.add({ type: "notice.stopped", ...log.place(), text: "You stopped this answer.", by: "usr_an" });
  log.end("user_stopped");
  return log;
}

/** Not a legal log: a writer died and never returned. The fold still closes the call. */
export function toolWithoutResult(): Story {
  const log = story("What does VNM cost?", { check: false });
  const call = log.call(NAME, [INPUT], { label: LABEL });
  log.startResult(call, NAME, { label: LABEL });
  log.wait(5).end("user_stopped");
  return log;
}

export function toolWithMuch(): Story {
  const log = story("Backtest this portfolio.");
  const input = {
    name: "Balanced, with a tilt to consumer goods",
    from: "2019-01-01",
    to: "2026-03-25",
    rebalance: { every: "quarter", threshold: 0.05, costs: { buy: 0.0015, sell: 0.0025 } },
    positions: Array.from({ length: 18 }, (_, n) => ({
      symbol: ["VNM", "FPT", "HPG", "MWG", "VCB", "SAB"][n % 6],
      weight: Number((1 / (n + 7)).toFixed(4)),
      note: n % 5 === 0 ? "never sold, because it was a gift and is not for sale" : null,
    })),
  };
  const call = log.call("backtest", pieces(JSON.stringify(input), 4), { label: "Backtesting the portfolio" });
  const on = log.startResult(call, "backtest", { label: "Backtesting the portfolio" });
  const lines = Array.from(
    { length: 30 },
    (_, n) =>
      `2019-${String((n % 12) + 1).padStart(2, "0")}  value ${100 + n * 3}  drawdown ${(n % 7) / 10}%`,
  );
  log.wait(3);
  log.add({
    type: "tool_result.end",
    ...on,
    status: "success",
    preview: lines.join("\n"),
    artifact: null,
    whole: { blob: "blob_backtest", size: 1_048_576, media_type: "text/plain" },
    results: 30,
  });
  return concluded(log, "It would have grown by **9.4% a year**.");
}

/** A hidden tool: it is in the log, but not shown. */
export function toolHidden(): Story {
  const log = story("Remember that I don't eat peanuts.");
  const tool = { call: log.id("call"), name: "memory", label: "Remembering", hidden: true };
  const on = log.place();
  log.add({ type: "tool_call.start", ...on, ...tool });
  log.add({ type: "tool_call.delta", ...on, args: '{"text":"no peanuts"}' });
  log.add({ type: "tool_call.end", ...on });
  const result = log.place();
  log.add({ type: "tool_result.start", ...result, ...tool });
  log.endResult(result, "ok");
  return concluded(log, "I will not suggest peanuts.");
}

/** A picture that becomes sharper while the tool runs. */
export function toolWithPictures(): Story {
  const log = story("Draw the lake in the morning.");
  const call = log.call("generate_image", ['{"prompt":"a lake in the morning"}'], { label: "Drawing" });
  const on = log.startResult(call, "generate_image", { label: "Drawing" });
  const part = { type: "tool_result.delta", ...on, part: 0, media: "image" } as const;
  log.wait(1).add({ ...part, data: "https://img.example/lake-1.png", done: false });
  log.wait(1).add({ ...part, data: "https://img.example/lake.png", done: true });
  log.endResult(on, "a picture of a lake");
  return concluded(log, "Here is the lake.");
}
