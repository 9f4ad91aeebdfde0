/**
 * Writes the handoffs of a log at its cuts: the snapshot with open blocks, history at the handoff point, the resync of
 * a slow client, and the resume in each dialect. Common parts are written once: the replay of the complete log, which
 * is the tail of every rest, and the data of one cursor.
 */
import {
  emptyState,
  type SessionEvent,
  formatCursor,
  type SessionState,
  snapshot,
  START_CURSOR,
} from "@turnstream/protocol";
import { coalesce, type Dialect, foldWithHandoffPoint, trackHandoffPoint } from "@turnstream/protocol/writer";
import { blocks, toHistory, eachResyncFrame } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import { framesFrom, positionOf, resumeFrames, statesOf } from "../../support/replay.ts";
import type { Frame, HandoffVector, Rest, ResumePoint } from "../vector-types.ts";
import { findCuts, situation } from "./cuts.ts";

interface Log {
  readonly events: readonly SessionEvent[];
  /** `states[k]` is the state after k events. */
  readonly states: readonly SessionState[];
  readonly cuts: readonly number[];
}

/** How many events a slow client has missed before its resync. */
const MISSED = 4;

export function handoffVector(
  scenario: string,
  description: string,
  events: readonly SessionEvent[],
): HandoffVector {
  const states = statesOf(events);
  const log: Log = { events, states, cuts: findCuts(states) };
  const replay = {
    native: coalesce(events),
    blocks: after(log, blocks, 0),
    tasks: after(log, tasks, 0),
    responses: after(log, responses, 0),
  };
  return {
    description,
    scenario,
    replay,
    native: log.cuts.map((k) => ({
      k,
      where: situation(stateAt(log, k)),
      cursor: formatCursor(stateAt(log, k)),
      snapshot: snapshot(stateAt(log, k)),
      ...shortened(coalesce(events.slice(k)), replay.native),
    })),
    reload: reloads(log, replay.blocks),
    resync: log.cuts.map((k) => {
      const since = Math.max(0, k - MISSED);
      return {
        k,
        since,
        frames: [...eachResyncFrame(stateAt(log, k), since)],
        ...shortened(after(log, blocks, k), replay.blocks),
      };
    }),
    resume: {
      blocks: resumePoints(log, blocks, replay.blocks),
      tasks: resumePoints(log, tasks, replay.tasks),
      responses: resumePoints(log, responses, replay.responses),
    },
  };
}

function stateAt(log: Log, k: number): SessionState {
  return log.states[k] ?? emptyState;
}

/** The frames after a resume at position k. */
function after<E, F extends Frame, O>(log: Log, dialect: Dialect<E, F, O>, k: number): F[] {
  return resumeFrames(dialect, log.states, log.events, k);
}

/** Removes from a rest the part that it shares with the end of the replay. */
function shortened<Item>(rest: readonly Item[], replay: readonly Item[]): Rest<Item> {
  let same = 0;
  while (same < rest.length && same < replay.length && isSame(rest.at(-1 - same), replay.at(-1 - same)))
    same++;
  return { rest: rest.slice(0, rest.length - same), replay_from: replay.length - same };
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function reloads(log: Log, replay: readonly Frame[]): HandoffVector["reload"] {
  let track = trackHandoffPoint(emptyState);
  const handoffs = [
    track.handoff,
    ...log.events.map((event) => (track = foldWithHandoffPoint(track, event)).handoff),
  ];
  return [...grouped(log.cuts, (k) => handoffs[k] ?? emptyState)].map(([from, k]) => ({
    k,
    last_event_id: formatCursor(from),
    history: toHistory(from),
    ...shortened(after(log, blocks, from.seq), replay),
  }));
}

/** Resumes a client that has the frames of the first k events, from the last cursor of these frames. */
function resumePoints<E, F extends Frame, O>(
  log: Log,
  dialect: Dialect<E, F, O>,
  replay: readonly Frame[],
): ResumePoint[] {
  const cursorAt = (k: number): string => {
    const seen = framesFrom(dialect, emptyState, log.events.slice(0, k));
    return seen.findLast((frame) => frame.event_id !== undefined)?.event_id ?? START_CURSOR;
  };
  return [...grouped(log.cuts, cursorAt)].map(([cursor, k]) => ({
    k,
    cursor,
    ...shortened<Frame>(after(log, dialect, positionOf(cursor)), replay),
  }));
}

function grouped<Key>(cuts: readonly number[], keyOf: (k: number) => Key): Map<Key, number[]> {
  const groups = new Map<Key, number[]>();
  for (const k of cuts) {
    const key = keyOf(k);
    groups.set(key, [...(groups.get(key) ?? []), k]);
  }
  return groups;
}
