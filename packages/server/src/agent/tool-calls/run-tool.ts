/**
 * `runTool` runs one tool with a context, a timeout and progress, and turns its return value or error into the outcome
 * of the call.
 *
 * Invariant: the lease is checked right before the tool runs. A stop or a lost lease throws, and any other error
 * becomes a failed result. Users see only the message of a `ToolError` or a timeout. Progress after the tool settled or
 * timed out is ignored. Idempotency keys contain ids only, and their format must not change.
 */
import { EngineError } from "../../engine/errors.ts";
import { PausableTimer } from "../../util/pausable-timer.ts";
import type { Json } from "@turnstream/protocol";
import { checkTimeout, toSeconds } from "../define/answer-timeout.ts";
import { type FormSpec, parseForm } from "../define/form.ts";
import { type RequestFormOptions, type ToolContext, ToolError } from "../define/tool.ts";
import type { StoredImage } from "../../session/history/model-content.ts";
import type { ToolCallRecord, StepCall } from "../run/journal-entries.ts";
import { endingRecord, InteractionRequested } from "../interactions/ending-request.ts";
import { MAX_TIMER_MS } from "../../util/sleep.ts";
import type { BlockRef } from "../../engine/events/turn-writer.ts";
import { attachReferences } from "./attach-references.ts";
import { checkOutput } from "./check-output.ts";
import {
  stringifyContent,
  truncateForModel,
  failedResult,
  parseToolOutput,
  successResult,
} from "../run/tool-result.ts";
import type { CheckedCall, RunContext } from "../run/run-context.ts";
import { offloadLargeOutput, type StoredOutput } from "./offload-output.ts";
import { ToolProgress } from "./progress.ts";
import { showsResult } from "./write-result.ts";
import { UsageCollector } from "../run/usage-record.ts";
import type { ReportUsage } from "../define/report-usage.ts";
import { abortable } from "../../util/concurrency.ts";
import { defined } from "../../util/defined.ts";

/** @param place where the result is written */
export async function runTool(checked: CheckedCall, place: BlockRef): Promise<ToolCallRecord> {
  const { attempt, path } = checked.scope;
  const { name, call } = checked.call;
  const used = new UsageCollector(name);
  const countUsage = () => used.record(attempt, path, `tool/${call}`);
  const record = await perform(checked, place, used.report).catch(async (error: unknown) => {
    // A stopped tool has used its tokens too.
    if (attempt.context.lease.isFresh()) await countUsage();
    throw error;
  });
  const usage = await countUsage();
  return usage === null ? record : { ...record, usage };
}

async function perform(
  { scope, call, tool, input }: CheckedCall,
  place: BlockRef,
  reportUsage: ReportUsage,
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
  if (!showsResult(scope, call)) progress.close();
  try {
    const host: ToolHost = { scope: { ...scope, toolClock: clock }, call };
    const toolContext = contextOf(host, progress, { signal, reportUsage });
    const work = (async () => {
      // Check the lease right before the call, so that a process that was frozen until now stops here. Nothing else runs
      // between the last check and the call. A process that freezes there still calls the tool when it wakes up; the
      // idempotency key covers that case.
      while (!context.lease.isFresh()) await attempt.requireLease();
      return tool.run(input, toolContext);
    })();
    const returned = parseToolOutput(await abortable(work, signal));
    const structured = await checkOutput(tool, returned, (error) =>
      context.onError(error, { during: `the output of the tool ${call.name}` }),
    );
    const artifact = returned.artifact ?? progress.artifact;
    const { maxResultChars } = agent.limits;
    const whole = artifact === null ? returned : { ...returned, artifact };
    const output = await offloadLargeOutput(scope, call, whole);
    const content = truncateForModel(output.content, maxResultChars);
    const record = {
      ...successResult({ ...output, content }, await progress.end()),
      ...defined({ structured }),
      whole: output.whole as Json,
    };
    const cited = attachReferences(record, output.references ?? [], scope.references, maxResultChars);
    const images = scope.pinned.images === null ? [] : listImages(cited, output, progress);
    return images.length === 0 ? cited : { ...cited, images };
  } catch (error) {
    if (stopSignal.aborted) throw stopSignal.reason;
    if (error instanceof InteractionRequested) {
      const { request } = error;
      return endingRecord(scope, call, request, { parts: await progress.end() });
    }
    if (error instanceof EngineError) throw error;
    if (!(error instanceof ToolTimeout)) context.onError(error, { during: `the tool ${call.name}` });
    const shown = error instanceof ToolError || error instanceof ToolTimeout;
    const userMessage = error instanceof ToolError ? error.userMessage : messageOf(error);
    const why = stringifyContent(truncateForModel(messageOf(error), agent.limits.maxResultChars));
    return failedResult(why, shown ? userMessage : attempt.strings.toolFailed, await progress.end());
  } finally {
    clock.stop();
    progress.close();
  }
}

/** Returns the images of a result that a model can see, in the order in which the user sees them. */
function listImages(
  { blocks }: ToolCallRecord,
  { images }: Pick<StoredOutput, "images">,
  progress: ToolProgress,
): StoredImage[] {
  const shown = blocks.flatMap((block) => {
    const image = block.type === "image" ? images.get(block.url) : undefined;
    if (image === undefined) return [];
    return [block.reference === undefined ? image : { ...image, id: block.reference.id }];
  });
  return [...progress.images, ...shown];
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
  host: ToolHost,
  progress: ToolProgress,
  given: Pick<ToolContext, "signal" | "reportUsage">,
): ToolContext {
  const { scope, call } = host;
  const { tenant, session, turn, user } = scope.attempt.row;
  const context: ToolContext = {
    ...given,
    // Neither a session id nor an encoded tenant has a slash.
    idempotencyKey: `${session}/${encodeURIComponent(tenant)}/${turn}/${call.call}`,
    progress: (text) => progress.text(text),
    image: (image) => progress.image(image),
    artifact: (artifact) => progress.setArtifact(artifact),
    requestForm: (form, options) => requestForm(scope, form, options),
    tenant,
    session,
    turn,
    call: call.call,
    messages: scope.messages ?? [],
    user,
    locale: scope.attempt.locale,
  };
  hosts.set(context, host);
  return context;
}

/** The run and the call that a built-in tool works in. */
interface ToolHost {
  readonly scope: RunContext;
  readonly call: StepCall;
}

/** By the context of a call, so that the public context of developers doesn't expose them. */
const hosts = new WeakMap<ToolContext, ToolHost>();

/** @throws if the context was not created by the runtime: built-in tools only work in a turn */
export function hostOf(context: ToolContext): ToolHost {
  const host = hosts.get(context);
  if (host === undefined)
    throw new TypeError(
      "A built-in tool must be run by a Turnstream worker, got a context that no worker created",
    );
  return host;
}

function requestForm({ agent }: RunContext, form: FormSpec, { timeoutMs }: RequestFormOptions = {}): never {
  const read = parseForm(form as unknown as Json);
  if (!read.ok) throw new TypeError(`requestForm got an invalid form: ${read.problem}`);
  if (timeoutMs !== undefined) checkTimeout(timeoutMs, "timeoutMs");
  const timeoutSeconds = timeoutMs === undefined ? agent.answerTimeoutSeconds : toSeconds(timeoutMs);
  throw new InteractionRequested({ kind: "form", schema: read.schema, timeoutSeconds });
}
