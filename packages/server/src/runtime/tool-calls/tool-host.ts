/**
 * What tools of our own may use beyond what every tool is given: the run they work in, and their call. Found by the
 * context that the runtime made, so that nothing of it shows in what developers see.
 */
import type { ToolContext } from "../define/tool.ts";
import type { RunContext } from "../attempt/run-context.ts";
import type { StepCall } from "../events/step-writer.ts";

export interface ToolHost {
  readonly scope: RunContext;
  readonly call: StepCall;
}

const hosts = new WeakMap<ToolContext, ToolHost>();

export function withHost(context: ToolContext, host: ToolHost): ToolContext {
  hosts.set(context, host);
  return context;
}

/** Throws for a context that a program made itself: a tool of ours works in a turn only. */
export function hostOf(context: ToolContext): ToolHost {
  const host = hosts.get(context);
  if (host === undefined) throw new TypeError("this tool has to be run by a Turnstream worker");
  return host;
}
