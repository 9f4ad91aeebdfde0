/**
 * `createReportOnce` passes mistakes in the setup to `onError`, each once: clients repeat the requests that show them.
 * Invariant: it remembers at most `MAX_REPORTS` texts and then reports nothing more, because some texts contain what a
 * client sent.
 */
import type { ErrorHandler } from "../util/error-handler.ts";

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
