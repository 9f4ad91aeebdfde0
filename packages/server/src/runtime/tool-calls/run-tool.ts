/**
 * `runTool` runs one tool with a context, a timeout and progress, and turns its return value or error into the outcome
 * of the call.
 *
 * Invariant: the lease is checked right before the tool runs. A stop or a lost lease throws, and any other error
 * becomes a failed result. Users see only the message of a `ToolError` or a timeout. Progress after the tool settled or
 * timed out is ignored.
 */
import { PausableTimer } from "../../util/pausable-timer.ts";
import type { Json } from "@turnstream/protocol";
import { type FormSpec, parseForm } from "../define/form.ts";
import { type Tool, type ToolContext, ToolError } from "../define/tool.ts";
import type { ToolCallRecord } from "../attempt/journal-entries.ts";
import { withHost } from "./tool-host.ts";
import { FormRequested, formRecord } from "../interactions/form-ending-turn.ts";
import { jobId } from "../attempt/job-id.ts";
import { MAX_TIMER_MS } from "../../util/sleep.ts";
import type { BlockRef } from "../events/turn-writer.ts";
import { attachReferences } from "./attach-references.ts";
import {
  stringifyContent,
  truncateForModel,
  failedResult,
  parseToolOutput,
  successResult,
} from "../attempt/tool-result.ts";
import type { RunContext } from "../attempt/run-context.ts";
import { offloadLargeOutput } from "./offload-output.ts";
import { ToolProgress } from "./progress.ts";
import type { StepCall } from "../events/step-writer.ts";
import { abortable } from "../../util/concurrency.ts";

export async function runTool(
  scope: RunContext,
  call: StepCall,
  tool: Tool,
  input: unknown,
  place: BlockRef,
): Promise<ToolCallRecord> {
  const { attempt, agent } = scope;
  const { context } = attempt;
  const timeoutMs = Math.min(tool.timeoutMs ?? agent.limits.toolTimeoutMs, MAX_TIMER_MS);
  // An idempotent tool is aborted immediately, because it can run again. Other tools get a grace period to finish.
  const stopSignal = tool.idempotent(input) ? attempt.signal : attempt.toolSignal;
  const timeout = new AbortController();
  const clock = new PausableTimer();
  clock.start(timeoutMs, () => timeout.abort(new ToolTimeout(timeoutMs)));
  const signal = AbortSignal.any([stopSignal, timeout.signal]);
  const progress = new ToolProgress(scope, call, place);
  try {
    const toolContext = contextOf({ ...scope, toolClock: clock }, call, signal, progress);
    const work = (async () => {
      // Check the lease right before the call, so that a process that was frozen until now stops here. A process that
      // freezes after this line still calls the tool when it wakes up; the idempotency key covers that case.
      attempt.requireLease();
      return tool.run(input, toolContext);
    })();
    const returned = parseToolOutput(await abortable(work, signal));
    const artifact = returned.artifact ?? progress.artifact;
    const { maxResultChars } = agent.limits;
    const whole = artifact === null ? returned : { ...returned, artifact };
    const output = await offloadLargeOutput(scope, call, whole);
    const content = truncateForModel(output.content, maxResultChars);
    const record = {
      ...successResult({ ...output, content }, await progress.end()),
      whole: output.whole as Json,
    };
    return attachReferences(record, output.references ?? [], attempt.references, maxResultChars);
  } catch (error) {
    if (stopSignal.aborted) throw stopSignal.reason;
    if (error instanceof FormRequested)
      return formRecord(scope, call, error.schema, {
        preview: context.strings.formRequested,
        parts: await progress.end(),
      });
    if (!context.holdsLease()) throw error;
    if (!(error instanceof ToolTimeout)) context.onError(error, { during: `the tool ${call.name}` });
    const shown = error instanceof ToolError || error instanceof ToolTimeout;
    const userMessage = error instanceof ToolError ? error.userMessage : messageOf(error);
    const why = stringifyContent(truncateForModel(messageOf(error), agent.limits.maxResultChars));
    return failedResult(why, shown ? userMessage : context.strings.toolFailed, await progress.end());
  } finally {
    clock.stop();
    progress.close();
  }
}

class ToolTimeout extends Error {
  constructor(ms: number) {
    super(`The tool took longer than ${Math.round(ms / 1000)} s and was stopped.`);
    this.name = "ToolTimeout";
  }
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message === "" ? "The tool failed." : message;
}

function contextOf(
  scope: RunContext,
  call: StepCall,
  signal: AbortSignal,
  progress: ToolProgress,
): ToolContext {
  const { tenant, session, turn, user } = scope.attempt.row;
  const context: ToolContext = {
    signal,
    idempotencyKey: `${jobId({ tenant, session, turn })}/${call.call}`,
    progress: (text) => progress.text(text),
    image: (image) => progress.image(image),
    artifact: (artifact) => progress.setArtifact(artifact),
    requestForm,
    tenant,
    session,
    turn,
    call: call.call,
    user,
  };
  return withHost(context, { scope, call });
}

function requestForm(form: FormSpec): never {
  const read = parseForm(form as unknown as Json);
  if (!read.ok) throw new TypeError(`requestForm got an invalid form: ${read.problem}`);
  throw new FormRequested(read.schema);
}
