/**
 * `withScriptedAnswers` returns an agent that answers with a text of its own while the provider has no API key. The
 * text names the variable to set. It lets a developer see a whole chat before the first key.
 * Invariant: only a missing key is replaced. A wrong key and every other error stay errors. A scripted answer calls
 * no tool. The provider looks for the key in each call, so the first call after the key is set gets a real answer.
 */
import { APICallError, LoadAPIKeyError } from "@ai-sdk/provider";
import type { Model } from "../models/model.ts";
import { script } from "../models/script-parts.ts";
import { scriptedModel } from "../models/scripted-model.ts";
import type { Agent } from "../agent/define/agent.ts";
import type { AiSdkPart, StreamBody } from "../agent/define/stream-body.ts";

/** @param variable the name of the variable to set, or null if the provider names none */
export type MissingKeyHandler = (variable: string | null) => void;

/** Returns the text of the answer instead of the error of a missing key. */
type ScriptedAnswer = (error: Error) => string;

/** So that the answer streams visibly. */
const PACE = { chunk: 4, paceMs: 10 };
const TEXT_ID = "scripted";

export function withScriptedAnswers(agent: Agent, onMissingKey: MissingKeyHandler): Agent {
  const { model, body, title, compaction, subAgents } = agent;
  const answer: ScriptedAnswer = (error) => {
    const variable = findVariable(error);
    onMissingKey(variable);
    return describeMissingKey(variable);
  };
  return {
    ...agent,
    model: model === null ? null : scriptModel(model, answer),
    body: body === null ? null : scriptBody(body, answer),
    // Without text, the title is the first line of the message.
    title: title === false || title.model === null ? title : { model: scriptModel(title.model, () => "") },
    compaction: {
      ...compaction,
      model: compaction.model === null ? null : scriptModel(compaction.model, answer),
    },
    subAgents: Object.fromEntries(
      Object.entries(subAgents).map(([name, sub]) => [name, withScriptedAnswers(sub, onMissingKey)]),
    ),
  };
}

/** Returns a proxy, because a model may be a class with private fields, and the worker asks for its class. */
function scriptModel(model: Model, answer: ScriptedAnswer): Model {
  const doStream: Model["doStream"] = async (options) => {
    try {
      return await model.doStream(options);
    } catch (error) {
      if (!isMissingKey(error)) throw error;
      const text = answer(error);
      return scriptedModel(() => [script.text(text, PACE)]).doStream(options);
    }
  };
  return new Proxy(model, {
    get(target, key) {
      if (key === "doStream") return doStream;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Replaces the error in a `streamText` stream. A body with events of its own handles its own errors. */
function scriptBody(body: StreamBody, answer: ScriptedAnswer): StreamBody {
  return {
    idempotent: body.idempotent,
    async run(context) {
      const result = await body.run(context);
      const isAiSdk = typeof result === "object" && result !== null && "fullStream" in result;
      return isAiSdk ? { fullStream: scriptStream(result.fullStream, answer) } : result;
    },
  };
}

async function* scriptStream(
  parts: AsyncIterable<AiSdkPart>,
  answer: ScriptedAnswer,
): AsyncGenerator<AiSdkPart> {
  for await (const part of parts) {
    const error = part.type === "error" ? part["error"] : null;
    if (!isMissingKey(error)) {
      yield part;
      continue;
    }
    yield { type: "text-start", id: TEXT_ID };
    yield { type: "text-delta", id: TEXT_ID, text: answer(error) };
    yield { type: "text-end", id: TEXT_ID };
    return;
  }
}

function isMissingKey(error: unknown): error is Error {
  if (LoadAPIKeyError.isInstance(error)) return true;
  // The AI Gateway uses one error for a missing and for a wrong key. Only a wrong key has a response.
  return (
    error instanceof Error &&
    error.name === "GatewayAuthenticationError" &&
    !APICallError.isInstance(error.cause)
  );
}

/** Providers name the variable only in the message. */
function findVariable({ message }: Error): string | null {
  return /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/.exec(message)?.[0] ?? null;
}

function describeMissingKey(variable: string | null): string {
  const advice =
    variable === null ? "Give the provider a key" : `Set ${variable}, for example in the file .env`;
  return `This answer is scripted, because the model has no API key. ${advice}, and send the message again.`;
}
