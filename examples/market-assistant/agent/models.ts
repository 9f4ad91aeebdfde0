/**
 * `createModels` selects the model: a provider's model if the environment has a key, otherwise the scripted one. Does
 * not call a model.
 */
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import type { Model } from "@turnstream/server";
import type { Lines } from "./lines/lines.ts";
import type { Pace } from "./pace.ts";
import { scriptedAnalyst, scriptedMarket } from "./script/script.ts";

export interface Models {
  /** The name for display. */
  readonly name: string;
  readonly market: (lines: Lines) => Model;
  readonly analyst: (lines: Lines) => Model;
  /** Maximum attempts of a failing model call. */
  readonly maxAttempts: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const ANTHROPIC = "claude-sonnet-4-6";
const OPENAI = "gpt-5.4-mini";

export function createModels(env: Environment, pace: Pace): Models {
  const real = realModel(env);
  if (real !== null)
    return {
      name: `${real.provider} ${real.modelId}`,
      market: () => real,
      analyst: () => real,
      maxAttempts: 3,
    };
  return {
    name: "scripted",
    market: (lines) => scriptedMarket(lines, pace),
    analyst: (lines) => scriptedAnalyst(lines, pace),
    maxAttempts: 1,
  };
}

function realModel(env: Environment): Model | null {
  const named = env["MARKET_MODEL"];
  if (isSet(env["ANTHROPIC_API_KEY"])) return anthropic(named ?? ANTHROPIC);
  if (isSet(env["OPENAI_API_KEY"])) return openai(named ?? OPENAI);
  return null;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== "";
}
