/**
 * `openPlayback` creates a session from a state, and `moveTo` moves it through its log.
 *
 * Invariant: the server's clock comes from the log, so that countdowns look the same every day. It is at the shown
 * event, or `leftSeconds` before the last deadline.
 */
import type { SessionView } from "@turnstream/client";
import { createStaticSession, type StaticSession } from "@turnstream/client/static";
import { emptyState, type SessionEvent, foldAll } from "@turnstream/protocol";
import { CONNECTING, type GalleryState, positionOf } from "../states/state.ts";
import type { ReceivedCommand } from "./handle.ts";

export interface Playback {
  readonly state: GalleryState;
  readonly session: StaticSession;
  readonly events: readonly SessionEvent[];
  readonly at: number;
  /** How many events arrive after the first render. */
  readonly live: number;
}

interface PlaybackOptions {
  readonly now: () => number;
  readonly onCommand: (commands: ReceivedCommand) => void;
}

export function openPlayback(
  state: GalleryState,
  at: number | null,
  { now, onCommand }: PlaybackOptions,
): Playback {
  const events = state.log();
  const position = at ?? positionOf(state, events);
  const live = at === null ? (state.live ?? 0) : 0;
  const session = createStaticSession([], {
    id: state.name,
    onCommand(name, args) {
      onCommand({ name, args });
      if (state.refusal !== undefined) throw state.refusal;
      return answerTo(name, args);
    },
  });
  const playback = { state, session, events, at: position - live, live };
  session.setView(viewAt(playback, playback.at, now()));
  return playback;
}

/** Moves forwards by appending events, as a connection would, and backwards by folding from the start. */
export function moveTo(playback: Playback, at: number, now: number): Playback {
  const { session, events } = playback;
  const next = { ...playback, at: Math.max(0, Math.min(at, events.length)), live: 0 };
  if (next.at >= playback.at) {
    const { state } = session.getSnapshot();
    session.setView({
      ...viewAt(next, next.at, now),
      state: foldAll(events.slice(playback.at, next.at), state),
    });
  } else session.setView(viewAt(next, next.at, now));
  return next;
}

function viewAt({ state, events }: Playback, at: number, now: number): Partial<SessionView> {
  const folded = events.slice(0, at);
  const connection = state.view?.connection ?? { ...CONNECTING, phase: "live", channel: "websocket" };
  const { retryAt } = connection;
  return {
    ...state.view,
    // A state gives `retryAt` as milliseconds from now, because it doesn't know when it is shown.
    connection: { ...connection, retryAt: retryAt === null ? null : now + retryAt },
    state: foldAll(folded, emptyState),
    skewMs: serverTime(state, folded, now) - now,
  };
}

function serverTime({ leftSeconds }: GalleryState, events: readonly SessionEvent[], now: number): number {
  if (leftSeconds === undefined) return events.at(-1)?.at ?? now;
  const last = events.findLast((event) => "deadline" in event);
  return last !== undefined && "deadline" in last ? last.deadline - leftSeconds * 1000 : now;
}

/** Returns a server's answer for commands whose result the components use. */
function answerTo(name: string, [first, second]: readonly unknown[]): unknown {
  if (name !== "uploadFile" || !(first instanceof Blob)) return undefined;
  const named = (second as { readonly name?: string } | undefined)?.name ?? "file";
  return {
    id: `up_${named}`,
    url: `turnstream:blob/${named}`,
    name: named,
    media_type: first.type,
    size: first.size,
  };
}
