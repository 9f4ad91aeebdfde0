/**
 * `createLossReporter` reports to the operator that events of a session are lost: as a security event, and as an error
 * that names the positions.
 *
 * Invariant: it never throws, and its texts contain positions and ids, never content.
 */
import { LogError } from "../../log/errors.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { SecurityEventHandler } from "../../util/security-event.ts";
import type { HistoryLoss } from "../backend.ts";

export function createLossReporter(
  report: SecurityEventHandler,
  onError: ErrorHandler,
): (loss: HistoryLoss) => void {
  return ({ tenant, session, archived, base, last, setAside }) => {
    report({ type: "history_lost", reason: "archive_behind", tenant, subject: session });
    const rest =
      setAside === null ? "" : `. Its events stay in Redis for seven days, as the stream ${setAside}`;
    const detail = `The archive of session ${session} ends at ${archived}, but its log started after ${base} and ended at ${last}${rest}`;
    onError(new LogError("LOST", { detail }), { during: `restarting the log of session ${session}` });
  };
}
