/**
 * `askOnce` reads the answer of a step's model call: the one that this process keeps in memory, or else that of a new
 * call. `askForText` does so for calls that only need the text.
 *
 * Invariant: the call has its own slot and signal, so it outlives the attempt that started it. Its caller deletes the
 * cached answer once the step is journaled, or once the answer can't be used.
 */
import type { Usage } from "@turnstream/protocol";
import { askModel } from "../../models/ask-model.ts";
import type { Model, ModelRequest, Prompt, StreamPart } from "../../models/model.ts";
import { NO_USAGE } from "../../util/usage.ts";
import { usageOf } from "../../models/usage.ts";
import type { AgentTurn } from "./agent-turn.ts";

/**
 * @param key names the step in the turn; the same in every attempt
 * @param prompt what the step asks, without loaded images; the same in every attempt
 * @param createRequest called when the call has its slot, so that calls that wait for one hold no images
 */
export function askOnce(
  { attempt: { row, signal }, host, modelCalls }: AgentTurn,
  key: string,
  model: Model,
  prompt: Prompt,
  createRequest: () => ModelRequest | Promise<ModelRequest>,
): AsyncGenerator<StreamPart> {
  return modelCalls.read(key, prompt, signal, (callSignal, onPart) =>
    host.modelSlots.run(row, callSignal, async () => {
      for await (const part of askModel(model, await createRequest(), { signal: callSignal })) {
        const paused = onPart(part);
        if (paused !== undefined) await paused;
      }
    }),
  );
}

/** @param key names the call in the turn; the same in every attempt */
export async function askForText(
  turn: AgentTurn,
  key: string,
  model: Model,
  request: ModelRequest,
): Promise<{ readonly text: string; readonly usage: Usage }> {
  let text = "";
  let usage = NO_USAGE;
  for await (const part of askOnce(turn, key, model, request.prompt, () => request)) {
    if (part.type === "text-delta") text += part.delta;
    if (part.type === "finish") usage = usageOf(part.usage);
  }
  return { text, usage };
}
