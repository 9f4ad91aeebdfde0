/**
 * `ErrorHandler` is the callback that receives errors which the gateway, the worker and the engine survive.
 * `createReportOnce` passes mistakes in the setup to it, each once: clients repeat the requests that show them.
 * Invariant: `during` contains ids and names only, never content or secrets. The text of the error is for operators and
 * is never sent to clients, except the `userMessage` of a `ToolError`. At most `MAX_REPORTS` mistakes are reported,
 * because some texts contain what a client sent.
 */

export interface ErrorContext {
  /** The operation that failed, such as `the turn of session s1`. Contains ids and names only, no secrets. */
  readonly during: string;
}

export type ErrorHandler = (error: unknown, context: ErrorContext) => void;

/** @param problem what is wrong, and what to change */
export type ReportOnce = (problem: string, during: string) => void;

const MAX_REPORTS = 50;

export function createReportOnce(onError: ErrorHandler): ReportOnce {
  const seen = new Set<string>();
  return (problem, during) => {
    if (seen.has(problem) || seen.size >= MAX_REPORTS) return;
    seen.add(problem);
    onError(new Error(problem), { during });
  };
}
