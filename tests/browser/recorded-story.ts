/** `startedStory` and `withTool` are logs for recorded pages. `playEvents` shows a part of a log. */
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { Page } from "playwright-core";
import { append } from "./recorded-page.ts";

/** A log with the start of a first turn. */
export function startedStory(question = "How is VNM?"): Story {
  return new Story({ check: false }).session("ses_thread", 3).begin(question);
}

/** Returns the index after the nth event of a type, counted from 1. */
export function indexAfter(log: Story, type: string, nth = 1): number {
  const places = log.events.flatMap((event, n) => (event.type === type ? [n + 1] : []));
  const place = places[nth - 1];
  if (place === undefined) throw new Error(`the log has no ${type} number ${nth}`);
  return place;
}

/** Folds in the events between two indexes of a log. */
export async function playEvents(
  page: Page,
  log: Story,
  from: number,
  to = log.events.length,
): Promise<void> {
  await append(page, log.events.slice(from, to));
}

/** A turn with one call and an answer. */
export function withTool(): Story {
  const log = startedStory();
  const call = log.call("get_price", ['{"symbol":', '"VNM"}'], { label: "Reading the price" });
  log.endResult(log.startResult(call, "get_price", { label: "Reading the price" }), "82,000 VND");
  return log.text(["It stands at 82,000."], { final: true }).end();
}
