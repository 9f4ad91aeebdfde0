/**
 * Runs a tool: gives it its context, bounds its time, shows its progress, and takes what it returns or throws as the
 * outcome. What it says after that is not heard.
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
  const { parts } = attempt;
  const timeoutMs = Math.min(tool.timeoutMs ?? agent.limits.toolTimeoutMs, MAX_TIMER_MS);
  // One that can be run again is stopped at once; one that can't may have a little longer.
  const stop = tool.rerun(input) === "never" ? attempt.toolSignal : attempt.signal;
  const timeout = new AbortController();
  const clock = new PausableTimer();
  clock.start(timeoutMs, () => timeout.abort(new ToolTimeout(timeoutMs)));
  const signal = AbortSignal.any([stop, timeout.signal]);
  const show = new ToolProgress(scope, call, place);
  try {
    const context = contextOf({ ...scope, toolClock: clock }, call, signal, show);
    const work = (async () => {
      // The last thing before the call: a process that was frozen until here finds out. One that is frozen between this
      // line and the next still calls out when it wakes up; that is what the idempotency key is for.
      attempt.requireLease();
      return tool.run(input, context);
    })();
    const returned = parseToolOutput(await abortable(work, signal));
    const artifact = returned.artifact ?? show.artifact;
    const { maxResultChars } = agent.limits;
    const whole = artifact === null ? returned : { ...returned, artifact };
    const output = await offloadLargeOutput(scope, call, whole);
    const content = truncateForModel(output.content, maxResultChars);
    const fact = { ...successResult({ ...output, content }, await show.end()), whole: output.whole as Json };
    return attachReferences(fact, output.references ?? [], attempt.references, maxResultChars);
  } catch (error) {
    if (stop.aborted) throw stop.reason;
    if (error instanceof FormRequested)
      return formRecord(scope, call, error.schema, {
        preview: parts.words.formRequested,
        parts: await show.end(),
      });
    if (!parts.holdsLease()) throw error;
    if (!(error instanceof ToolTimeout)) parts.onError(error, `the tool ${call.name}`);
    const shown = error instanceof ToolError || error instanceof ToolTimeout;
    const people = error instanceof ToolError ? error.userMessage : messageOf(error);
    const why = stringifyContent(truncateForModel(messageOf(error), agent.limits.maxResultChars));
    return failedResult(why, shown ? people : parts.words.toolFailed, await show.end());
  } finally {
    clock.stop();
    show.close();
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

function contextOf(scope: RunContext, call: StepCall, signal: AbortSignal, show: ToolProgress): ToolContext {
  const { tenant, session, turn, user } = scope.attempt.row;
  const context: ToolContext = {
    signal,
    idempotencyKey: `${jobId({ tenant, session, turn })}/${call.call}`,
    progress: (text) => show.text(text),
    image: (picture) => show.image(picture),
    artifact: (artifact) => show.setArtifact(artifact),
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
  if (!read.ok) throw new TypeError(`a form that can't be shown: ${read.problem}`);
  throw new FormRequested(read.schema);
}
