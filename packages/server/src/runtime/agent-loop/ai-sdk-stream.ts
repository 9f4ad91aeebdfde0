/**
 * `AiSdkStreamReader` writes a `streamText` stream of the AI SDK to the log: text, thinking, calls, and the results of
 * tools that the SDK ran.
 *
 * Invariant: unknown parts are ignored, and an `error` or `abort` part ends the turn. Limits are checked when a step
 * starts, and usage is journaled when it ends. Steps and results are not journaled.
 */
import { modelErrorFrom } from "../../models/errors.ts";
import type { ModelUsage, StreamPart } from "../../models/model.ts";
import { usageOf } from "../../models/usage.ts";
import type { AiSdkPart } from "../define/stream-body.ts";
import { enforceLimits, enforceUsageLimits } from "./enforce-limits.ts";
import { TurnFailed } from "../attempt/outcomes.ts";
import { failedResult, parseToolOutput, successResult } from "../attempt/tool-result.ts";
import { type RunContext, createStepWriter } from "../attempt/run-context.ts";
import { offloadLargeOutput } from "../tool-calls/offload-output.ts";
import { toUsageRecord } from "../attempt/usage.ts";
import type { StepCall, StepWriter } from "../events/step-writer.ts";
import { writeToolResult } from "../tool-calls/write-result.ts";

export class AiSdkStreamReader {
  readonly #scope: RunContext;
  #step: StepWriter;
  /** Number of finished steps. */
  #steps = 0;
  readonly #calls = new Map<string, StepCall>();

  constructor(scope: RunContext) {
    this.#scope = scope;
    this.#step = createStepWriter(scope);
  }

  async read(part: AiSdkPart): Promise<void> {
    switch (part.type) {
      case "text-start":
      case "text-end":
      case "reasoning-start":
      case "reasoning-end":
      case "tool-input-start":
      case "tool-input-delta":
        return this.#step.writePart(part as unknown as StreamPart);
      case "text-delta":
      case "reasoning-delta":
        return this.#step.writePart({
          ...part,
          delta: part["text"] ?? part["delta"],
        } as unknown as StreamPart);
      case "tool-call":
        return this.#call(part);
      case "tool-result":
        return part["preliminary"] === true ? undefined : this.#output(part);
      case "tool-error":
        return this.#result(
          part,
          failedResult(errorText(part["error"]), this.#scope.attempt.strings.toolFailed),
        );
      case "abort":
        throw new TurnFailed("SERVER_ERROR", "the stream of the agent was aborted without a stop request", {
          canRetry: true,
        });
      case "start-step":
        enforceLimits(this.#scope, this.#steps);
        // The first step was checked before the body started.
        return this.#steps === 0 ? undefined : enforceUsageLimits(this.#scope.attempt);
      case "finish-step":
        return this.#endStep(part["usage"] as FlatUsage | undefined);
      case "error":
        throw modelErrorFrom(part["error"]);
      default:
        return;
    }
  }

  async end(): Promise<void> {
    await this.#step.finish();
  }

  async #call(part: AiSdkPart): Promise<void> {
    const toolCallId = String(part["toolCallId"]);
    const toolName = String(part["toolName"]);
    await this.#step.writePart({
      type: "tool-call",
      toolCallId,
      toolName,
      input: JSON.stringify(part["input"] ?? {}),
    });
    const call = this.#step.lastCall;
    if (call !== null) this.#calls.set(toolCallId, call);
  }

  /** Drops references, because the developer's code prompts this model and can't give it their ids. */
  async #output(part: AiSdkPart): Promise<void> {
    const call = this.#calls.get(String(part["toolCallId"]));
    if (call === undefined) return;
    const output = await offloadLargeOutput(this.#scope, call, parseToolOutput(part["output"]));
    await this.#result(part, { ...successResult(output, 0), whole: output.whole });
  }

  async #result(part: AiSdkPart, record: ReturnType<typeof failedResult>): Promise<void> {
    const id = String(part["toolCallId"]);
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (call !== undefined) await writeToolResult(this.#scope, call, record);
  }

  /** Ends a step and records its usage. Text before tool calls is not final; text of the last step is. */
  async #endStep(usage: FlatUsage | undefined): Promise<void> {
    await this.#step.finish();
    this.#step = createStepWriter(this.#scope);
    const { attempt, path, agent } = this.#scope;
    const used = usageOf(usage === undefined ? null : nested(usage));
    await attempt.recordUsage(path, `step/${this.#steps++}`, toUsageRecord(agent, agent.name, used));
  }
}

interface FlatUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

function nested({ inputTokens, outputTokens }: FlatUsage): ModelUsage {
  return { inputTokens: { total: inputTokens }, outputTokens: { total: outputTokens } } as ModelUsage;
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
