/** The agent: one for each language, with the same tools and the same analyst. What answers, a script or a provider, is chosen elsewhere. */
import { type Agent, defineAgent } from "@turnstream/server";
import { AGENTS } from "../shared/locales.ts";
import { accountTools } from "./account-tools.ts";
import { createAnalyst } from "./analyst.ts";
import { en } from "./lines/en.ts";
import type { Lines } from "./lines/lines.ts";
import { vi } from "./lines/vi.ts";
import { zhCn } from "./lines/zh-cn.ts";
import { marketTools } from "./market-tools.ts";
import type { Models } from "./models.ts";
import type { Pace } from "./pace.ts";

const instructions = ({ language }: Lines, session: string): string =>
  `You are "Market assistant", a friendly and careful assistant for people who trade stocks in Vietnam. Answer in ${language}, briefly, in Markdown.
Everything you know of the market comes from your tools, whose data is invented; say so when somebody wants advice.
Before you use tools, say in one sentence what you are about to do, by share_thought.
Cite news and reports: write [^n] right after what you took from an item, where n is its ID.
Ask which account is meant when it isn't clear. Never place an order that wasn't asked for.
Session: ${session}`;

/** The first one answers when a message doesn't say who should. */
export function marketAgents(models: Models, pace: Pace): Agent[] {
  return [vi, en, zhCn].map((lines) =>
    defineAgent({
      name: AGENTS[lines.locale],
      model: models.market(lines),
      instructions: ({ session }) => instructions(lines, session),
      tools: { ...marketTools(lines, pace), ...accountTools(lines, pace) },
      subAgents: { analyst: createAnalyst(lines, models.analyst(lines), pace) },
      shareThought: true,
      askUser: true,
      // A person who sees the error can try again; waiting would only hide it.
      retry: { maxAttempts: models.maxAttempts },
    }),
  );
}
