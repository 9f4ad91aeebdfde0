/**
 * When whoever shows something is told that it has changed: at most once per animation frame; while nobody can see the
 * page only of what matters then; and once when it is seen again. Never says what has changed.
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
  /** What is there now, after a change. */
  update(view: SessionView): void;
  close(): void;
}

/** @param first what those who are told know already */
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
    // Frames are not drawn while hidden, but one may have been planned before.
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
    // What was planned for a frame isn't drawn once hidden, and what was left out is due once seen.
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

/** What people want to know of a page that they don't look at: it is done, it needs them, it has given up. */
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

/** How much waits for a person in the newest turn. */
function countPendingInteractions(state: SessionState): number {
  const turn = state.turns.last();
  return turn === undefined ? 0 : listPendingInteractions(turn).length;
}
