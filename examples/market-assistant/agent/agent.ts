/**
 * `marketAgents` defines one agent per language, with the same tools and the same analyst. `models.ts` chooses between
 * the scripted model and a provider.
 */
import { type Agent, defineAgent } from "@turnstream/server";
import { AGENTS } from "../shared/locales.ts";
import { accountTools } from "./account-tools.ts";
import { createAnalyst } from "./analyst.ts";
import { en } from "./lines/en.ts";
import type { Lines } from "./lines/lines.ts";
import { vi } from "./lines/vi.ts";
import { zhCn } from "./lines/zh-cn.ts";
import { zhTw } from "./lines/zh-tw.ts";
import { marketTools } from "./market-tools.ts";
import type { Models } from "./models.ts";
import type { Pace } from "./pace.ts";

const instructions = ({ language }: Lines, session: string): string =>
  `You are "Market assistant", a friendly and careful assistant for stock traders in Vietnam. Answer in ${language}, briefly, in Markdown.
All your market data comes from your tools and is invented. State this when the user asks for advice.
Before you use tools, describe in one sentence with share_thought what you are about to do.
Cite articles and reports: write [^n] right after each fact from an item, where n is the item's ID.
Ask which account the user means if it isn't clear. Never place an order that the user did not ask for.
Session: ${session}`;

/** The first agent answers messages that don't name one. */
export function marketAgents(models: Models, pace: Pace): Agent[] {
  return [vi, en, zhCn, zhTw].map((lines) =>
    defineAgent({
      name: AGENTS[lines.locale],
      model: models.market(lines),
      instructions: ({ session }) => instructions(lines, session),
      tools: { ...marketTools(lines, pace), ...accountTools(lines, pace) },
      subAgents: { analyst: createAnalyst(lines, models.analyst(lines), pace) },
      shareThought: true,
      askUser: true,
      // The scripted model has one attempt, so that the user sees its error and can retry.
      retry: { maxAttempts: models.maxAttempts },
    }),
  );
}
