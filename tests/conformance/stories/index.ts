/** `STORIES` lists all stories; `writtenFrames` and `writtenEnd` read their files. Does not play stories. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chatMode } from "./chat-mode/script.ts";
import { contactFormDeclined } from "./contact-form-declined/script.ts";
import { contactForm } from "./contact-form/script.ts";
import { filesReport } from "./files-report/script.ts";
import { marketOverview } from "./market-overview/script.ts";
import { marketOrderApproved } from "./market-order-approved/script.ts";
import { marketOrderEdited } from "./market-order-edited/script.ts";
import { marketOrderReplanned } from "./market-order-replanned/script.ts";
import { marketOrderRejected } from "./market-order-rejected/script.ts";
import { marketOrderStopped } from "./market-order-stopped/script.ts";
import { marketOrderTimedOut } from "./market-order-timed-out/script.ts";
import { marketThought } from "./market-thought/script.ts";
import type { Frame } from "./normalise.ts";
import { parisCitations } from "./paris-citations/script.ts";
import { parisWeatherStopped } from "./paris-weather-stopped/script.ts";
import { parisWeather } from "./paris-weather/script.ts";
import { photoQuestion } from "./photo-question/script.ts";
import type { Part, Story, StoryAgent } from "./story.ts";
import { twoToolsStopped } from "./two-tools-stopped/script.ts";
import { twoTools } from "./two-tools/script.ts";
import { vnmError } from "./vnm-error/script.ts";
import { vnmStock } from "./vnm-stock/script.ts";

export const STORIES: readonly Story[] = [
  vnmStock,
  vnmError,
  twoTools,
  twoToolsStopped,
  marketOverview,
  marketThought,
  marketOrderApproved,
  marketOrderEdited,
  marketOrderRejected,
  marketOrderReplanned,
  marketOrderTimedOut,
  marketOrderStopped,
  parisWeather,
  parisWeatherStopped,
  parisCitations,
  contactForm,
  contactFormDeclined,
  filesReport,
  chatMode,
  photoQuestion,
];

/** The final state of a plain client of each dialect. */
export interface EndState {
  readonly blocks: unknown;
  readonly tasks: unknown;
  readonly responses: unknown;
}

export function writtenFrames({ name }: Story, dialect: keyof EndState): Frame[] {
  const lines = read(name, `${dialect}.ndjson`).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Frame);
}

export function writtenEnd({ name }: Story): EndState {
  return JSON.parse(read(name, "end.json")) as EndState;
}

/** The ids that the story itself defines: those of its calls. */
export function ownIds({ agent }: Story): Set<string> {
  const ids = new Set<string>();
  const visit = ({ answers, agents = {} }: StoryAgent): void => {
    for (const part of answers.flat()) if (isCall(part)) ids.add(part.id);
    Object.values(agents).forEach(visit);
  };
  visit(agent);
  return ids;
}

function isCall(part: Part): part is Extract<Part, { readonly call: string }> {
  return "call" in part;
}

function read(name: string, file: string): string {
  return readFileSync(join(import.meta.dirname, name, file), "utf8");
}
