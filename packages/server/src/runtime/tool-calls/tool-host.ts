/**
 * `hostOf` gives built-in tools access to the run and the call that they work in.
 *
 * Invariant: it looks them up by the `ToolContext` object, so the public context of developers doesn't expose them.
 * `runTool` alone registers a context, with `withHost`.
 */
import type { ToolContext } from "../define/tool.ts";
import type { RunContext } from "../attempt/run-context.ts";
import type { StepCall } from "../attempt/journal-entries.ts";

export interface ToolHost {
  readonly scope: RunContext;
  readonly call: StepCall;
}

const hosts = new WeakMap<ToolContext, ToolHost>();

export function withHost(context: ToolContext, host: ToolHost): ToolContext {
  hosts.set(context, host);
  return context;
}

/** @throws if the context was not created by the runtime: built-in tools only work in a turn */
export function hostOf(context: ToolContext): ToolHost {
  const host = hosts.get(context);
  if (host === undefined)
    throw new TypeError(
      "A built-in tool must be run by a Turnstream worker, got a context that no worker created",
    );
  return host;
}
