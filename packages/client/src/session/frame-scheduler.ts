/**
 * `createFrameScheduler` notifies subscribers about changes at most once per animation frame.
 * Invariant: while the page is hidden it notifies only about important changes, and it notifies once when the page is
 * visible again.
 */
import { listPendingInteractions, type SessionState } from "@turnstream/protocol";
import type { ClientEnv } from "../env.ts";
import type { SessionView } from "./session.ts";

export interface FrameSchedulerOptions {
  readonly notify: () => void;
  readonly env: FrameSchedulerEnv;
}

interface FrameSchedulerEnv extends Pick<ClientEnv, "nextFrame" | "setTimer"> {
  readonly page: Pick<ClientEnv["page"], "isHidden" | "onChange">;
}

export interface FrameScheduler {
  /** Passes the current view after a change. */
  update(view: SessionView): void;
  close(): void;
}

/** @param first the view that the subscribers already have */
export function createFrameScheduler(
  first: SessionView,
  { notify, env }: FrameSchedulerOptions,
): FrameScheduler {
  const { page } = env;
  let notified = first;
  let latest = first;
  let isScheduled = false;
  let cancel: (() => void) | undefined;

  const flush = (): void => {
    isScheduled = false;
    cancel = undefined;
    // A hidden page draws no frames, but one may have been scheduled before.
    if (notified === latest || (page.isHidden() && !isNeededWhileHidden(notified, latest))) return;
    notified = latest;
    notify();
  };
  const schedule = (): void => {
    if (isScheduled || notified === latest) return;
    if (page.isHidden()) {
      if (!isNeededWhileHidden(notified, latest)) return;
      cancel = env.setTimer(flush, 0);
    } else cancel = env.nextFrame(flush);
    isScheduled = true;
  };
  const reschedule = (): void => {
    // A scheduled frame is not drawn once the page is hidden, and skipped changes are due once it is visible.
    cancel?.();
    isScheduled = false;
    schedule();
  };
  const stopListening = page.onChange(reschedule);
  return {
    update(view) {
      latest = view;
      schedule();
    },
    close() {
      stopListening();
      cancel?.();
      notified = latest;
    },
  };
}

/**
 * Changes that matter on a hidden page: a turn ended, an interaction is pending, a message failed or the connection
 * closed.
 */
function isNeededWhileHidden(notified: SessionView, latest: SessionView): boolean {
  if (notified.connection.phase !== latest.connection.phase && latest.connection.phase === "closed")
    return true;
  if (notified.outbox !== latest.outbox && countFailed(latest) > countFailed(notified)) return true;
  if (notified.state === latest.state) return false;
  return (
    lastEndedTurn(notified.state) !== lastEndedTurn(latest.state) ||
    countPendingInteractions(latest.state) > countPendingInteractions(notified.state)
  );
}

function countFailed(view: SessionView): number {
  return view.outbox.filter(({ status }) => status === "failed").length;
}

function lastEndedTurn(state: SessionState): string | undefined {
  return state.turns.findLast(({ status }) => status !== "running")?.id;
}

/** Counts the pending interactions of the newest turn. */
function countPendingInteractions(state: SessionState): number {
  const turn = state.turns.last();
  return turn === undefined ? 0 : listPendingInteractions(turn).length;
}
