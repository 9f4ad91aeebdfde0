/**
 * Verifies handoff vectors: our functions produce them from the snapshot or cursor of a client. Plain clients, which
 * share no code with our functions, end with the same display, cut or uncut.
 */
import {
  type SessionEvent,
  foldAll,
  formatCursor,
  restore,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import { coalesce, type Dialect, isHandoffPoint } from "@turnstream/protocol/writer";
import { blocks, toHistory, eachResyncFrame } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import { BlocksClient } from "../../clients/blocks-client.ts";
import type { DialectVector, FoldVector, Frame, HandoffVector, Rest } from "../vector-types.ts";
import { type DialectName, displayOf, fed, shownBy } from "./plain-clients.ts";
import type { Report } from "./report.ts";

export type DialectVectors = Readonly<Record<DialectName, DialectVector>>;

function restOf<Item>(cut: Rest<Item>, replay: readonly Item[]): Item[] {
  if (cut.replay_from > replay.length) throw new Error(`the replay ends before ${cut.replay_from}`);
  return [...cut.rest, ...replay.slice(cut.replay_from)];
}

export function verifyHandoff(
  report: Report,
  vector: HandoffVector,
  log: FoldVector,
  dialects: DialectVectors,
): void {
  verifyNative(report, vector, log);
  verifyReload(report, vector, log, dialects.blocks);
  verifyResync(report, vector, log, dialects.blocks);
  for (const name of ["blocks", "tasks", "responses"] as const) {
    verifyReplay(report, vector, log, name);
    verifyResume(report, vector, name, dialects[name]);
  }
}

function verifyNative(report: Report, vector: HandoffVector, log: FoldVector): void {
  report.same("native replay", coalesce(log.events), vector.replay.native);
  report.same("replay folds to the state", snapshot(foldAll(vector.replay.native)), log.state);
  for (const cut of vector.native) {
    const state = foldAll(log.events.slice(0, cut.k));
    report.same(`snapshot at ${cut.k}`, snapshot(state), cut.snapshot);
    report.same(`cursor at ${cut.k}`, formatCursor(state), cut.cursor);
    const rest: SessionEvent[] = restOf(cut, vector.replay.native);
    report.same(`rest at ${cut.k}`, coalesce(log.events.slice(cut.k)), rest);
    report.same(`snapshot and rest at ${cut.k}`, snapshot(foldAll(rest, restore(cut.snapshot))), log.state);
    const overlap = [...log.events.slice(Math.max(0, cut.k - 2)), ...rest];
    const folded = snapshot(foldAll(overlap, restore(cut.snapshot)));
    report.same(`snapshot and overlap at ${cut.k}`, folded, log.state);
  }
}

/** Leaves out user messages, which only history has, and turns that show nothing. */
function withoutUsers(client: BlocksClient): unknown {
  const shown = Object.entries(client.display()).flatMap(([id, message]) => {
    const items = message.items.filter((item) => (item as Frame).type !== "user");
    return items.length + message.half.length === 0 ? [] : [[id, { ...message, items }]];
  });
  return Object.fromEntries(shown);
}

function verifyReload(report: Report, vector: HandoffVector, log: FoldVector, whole: DialectVector): void {
  const uncut = fed(new BlocksClient(), whole.frames.flat());
  for (const point of vector.reload) {
    const seq = seqOf(point.last_event_id);
    const handoff = foldAll(log.events.slice(0, seq));
    report.same(`history at ${point.last_event_id}`, toHistory(handoff), point.history);
    report.same("cursor of the history", formatCursor(handoff), point.last_event_id);
    for (const k of point.k) report.same(`handoff point of ${k}`, findLatestHandoff(log.events, k), seq);
    const rest = restOf(point, vector.replay.blocks);
    report.same(`rest after ${point.last_event_id}`, framesAfter("blocks", handoff, log.events), rest);
    const client = new BlocksClient();
    client.load(point.history);
    fed(client, rest);
    report.same(`problems after ${point.last_event_id}`, client.problems, []);
    report.same(`reload at ${point.last_event_id}`, withoutUsers(client), withoutUsers(uncut));
  }
}

function verifyResync(report: Report, vector: HandoffVector, log: FoldVector, whole: DialectVector): void {
  const uncut = fed(new BlocksClient(), whole.frames.flat());
  for (const point of vector.resync) {
    const state = foldAll(log.events.slice(0, point.k));
    const again = [...eachResyncFrame(state, point.since)];
    report.same(`frames of the resync at ${point.k}`, again, point.frames);
    const rest = restOf(point, vector.replay.blocks);
    report.same(`rest after the resync at ${point.k}`, framesAfter("blocks", state, log.events), rest);
    const client = fed(new BlocksClient(), whole.frames.slice(0, point.since).flat());
    fed(fed(client, point.frames), rest);
    report.same(`problems after the resync at ${point.k}`, client.problems, []);
    report.same(`resync at ${point.k}`, client.display(), uncut.display());
  }
}

function verifyReplay(report: Report, vector: HandoffVector, log: FoldVector, name: DialectName): void {
  report.same(`${name} replay`, framesAfter(name, foldAll([]), log.events), vector.replay[name]);
  for (const point of vector.resume[name]) {
    const state = foldAll(log.events.slice(0, seqOf(point.cursor)));
    const rest = restOf(point, vector.replay[name]);
    report.same(`${name} rest after ${point.cursor}`, framesAfter(name, state, log.events), rest);
  }
}

/** Cuts after every frame up to the next cursor: the client can have received some frames of the next event. */
function verifyResume(report: Report, vector: HandoffVector, name: DialectName, whole: DialectVector): void {
  const all = whole.frames.flat();
  const uncut = displayOf(shownBy(name), all);
  report.same(`${name} replayed`, displayOf(shownBy(name), vector.replay[name]), uncut);
  for (const point of vector.resume[name]) {
    const rest = restOf(point, vector.replay[name]);
    const seen = all.findIndex((frame) => frame.event_id === point.cursor) + 1;
    const next = all.findIndex((frame, at) => at >= seen && frame.event_id !== undefined);
    for (let cut = seen; cut <= Math.max(seen, next); cut++) {
      const resumed = displayOf(shownBy(name), [...all.slice(0, cut), ...rest]);
      report.same(`${name} resumed after ${point.cursor}, ${cut - seen} frames on`, resumed, uncut);
    }
    for (const k of point.k) report.same(`${name} cursor at ${k}`, cursorAt(whole, k), point.cursor);
  }
}

function cursorAt(whole: DialectVector, k: number): string {
  const seen = whole.frames.slice(0, k).flat();
  return seen.findLast((frame) => frame.event_id !== undefined)?.event_id ?? "0-0";
}

/** The seq of a cursor. The logs of scenarios have no gaps, so it is also the number of events up to it. */
function seqOf(cursor: string): number {
  return Number(cursor.split("-")[1]);
}

function findLatestHandoff(events: readonly SessionEvent[], k: number): number {
  for (let at = k; at > 0; at--) if (isHandoffPoint(foldAll(events.slice(0, at)))) return at;
  return 0;
}

function framesAfter(
  name: DialectName,
  state: SessionState,
  events: readonly SessionEvent[],
): readonly unknown[] {
  const rest = coalesce(events.slice(state.seq));
  if (name === "blocks") return encoded(blocks, state, rest);
  return name === "tasks" ? encoded(tasks, state, rest) : encoded(responses, state, rest);
}

function encoded<E, F, O>(
  dialect: Dialect<E, F, O>,
  state: SessionState,
  events: readonly SessionEvent[],
): F[] {
  const frames: F[] = [];
  let encoder = dialect.attach(state);
  for (const event of events) {
    const step = dialect.encode(encoder, event);
    encoder = step.encoder;
    frames.push(...step.frames);
  }
  return frames;
}
