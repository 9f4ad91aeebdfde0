/**
 * When whoever shows something is told that it has changed: at most once per animation frame; while nobody can see the
 * page only of what matters then; and once when it is seen again. Never says what has changed.
 */
import { listPendingInteractions, type SessionState } from "@turnstream/protocol";
import type { ClientEnv } from "../env.ts";
import type { SessionView } from "./session.ts";

export interface NotifierOptions {
  readonly notify: () => void;
  readonly env: NotifierEnv;
}

interface NotifierEnv extends Pick<ClientEnv, "nextFrame" | "setTimer"> {
  readonly outside: Pick<ClientEnv["outside"], "isHidden" | "onChange">;
}

export interface Notifier {
  /** What is there now, after a change. */
  changed(view: SessionView): void;
  close(): void;
}

/** @param first what those who are told know already */
export function createNotifier(first: SessionView, { notify, env }: NotifierOptions): Notifier {
  const { outside } = env;
  let told = first;
  let now = first;
  let isPlanned = false;
  let cancel: (() => void) | undefined;

  const tell = (): void => {
    isPlanned = false;
    cancel = undefined;
    // Frames are not drawn while hidden, but one may have been planned before.
    if (told === now || (outside.isHidden() && !isNeeded(told, now))) return;
    told = now;
    notify();
  };
  const plan = (): void => {
    if (isPlanned || told === now) return;
    if (outside.isHidden()) {
      if (!isNeeded(told, now)) return;
      cancel = env.setTimer(tell, 0);
    } else cancel = env.nextFrame(tell);
    isPlanned = true;
  };
  const replan = (): void => {
    // What was planned for a frame isn't drawn once hidden, and what was left out is due once seen.
    cancel?.();
    isPlanned = false;
    plan();
  };
  const stopListening = outside.onChange(replan);
  return {
    changed(view) {
      now = view;
      plan();
    },
    close() {
      stopListening();
      cancel?.();
      told = now;
    },
  };
}

/** What people want to know of a page that they don't look at: it is done, it needs them, it has given up. */
function isNeeded(told: SessionView, now: SessionView): boolean {
  if (told.connection.phase !== now.connection.phase && now.connection.phase === "closed") return true;
  if (told.outbox !== now.outbox && failed(now) > failed(told)) return true;
  if (told.state === now.state) return false;
  return lastEnded(told.state) !== lastEnded(now.state) || waiting(now.state) > waiting(told.state);
}

function failed(view: SessionView): number {
  return view.outbox.filter(({ status }) => status === "failed").length;
}

function lastEnded(state: SessionState): string | undefined {
  return state.turns.findLast(({ status }) => status !== "running")?.id;
}

/** How much waits for a person in the newest turn. */
function waiting(state: SessionState): number {
  const turn = state.turns.last();
  return turn === undefined ? 0 : listPendingInteractions(turn).length;
}
