/**
 * Begins an attempt: takes the session's epoch, reads what is journaled and told, and claims the log with the turn's
 * start, or with a takeover that makes void what is not journaled. After that nobody else can journal or tell anything
 * of this turn.
 */
import {
  type Cursor,
  type EventDraft,
  fold,
  formatCursor,
  type SessionEvent,
  type Json,
  SCHEMA_VERSION,
  type SessionState,
} from "@turnstream/protocol";
import { EngineError } from "../../engine/errors.ts";
import { Writer } from "../../log/writer/writer.ts";
import { claimIdleSession, claimSession, type FirstEvent } from "../../session/lifecycle/claim.ts";
import { ensureSessionLog } from "../../session/lifecycle/create.ts";
import { readHistory } from "../../session/history/read-history.ts";
import { publishCommitted } from "../../session/archive/relay-outbox.ts";
import { StoreError } from "../../store/errors.ts";
import type { RunningTurn } from "../../store/ports/running.ts";
import type { SessionRef } from "../../store/refs.ts";
import { TurnAttempt, type StepAttempts } from "../attempt/attempt.ts";
import {
  CALL_PREFIX,
  type CompactionRecord,
  COMPACTION_KEY,
  FILES_KEY,
  runPath,
  STEP_PREFIX,
  START_PREFIX,
  type StepRecord,
} from "../attempt/journal-entries.ts";
import { parseTurnOptions } from "./turn-options.ts";
import type { RuntimeContext } from "../attempt/context.ts";
import { TurnWriter } from "../events/turn-writer.ts";
import { findSuperseded } from "./supersede.ts";

interface Seen {
  readonly state: SessionState;
  readonly journal: Map<string, Json>;
  readonly event: EventDraft;
}

export async function beginAttempt(
  parts: RuntimeContext,
  row: RunningTurn,
  tries: Map<string, StepAttempts>,
): Promise<TurnAttempt> {
  const ref: SessionRef = { tenant: row.tenant, session: row.session };
  await publishCommitted(parts, ref);
  let seen: Seen | null = null;
  const prepare = async (): Promise<FirstEvent> => {
    const entries = await parts.store.journal.read(ref, row.turn);
    const journal = new Map(entries.map(({ key, value }) => [key, value]));
    const { state, cursor } = await readHistory(parts, ref, { turns: 1 });
    const event = firstEvent(parts, row, state, journal);
    seen = { state, journal, event };
    return { event, last: cursor };
  };
  const reason = `attempt ${row.attempts} at turn ${row.turn}`;
  const claim = async () => {
    const session = await parts.store.sessions.find(ref);
    if (session === null) throw new StoreError("NOT_FOUND", `session ${ref.session}`);
    // A process that was frozen until here knows it. One that is frozen from here on finds another's epoch instead of
    // the one it has seen, and must not take the turn from its new owner.
    if (!parts.holdsLease()) throw new EngineError("LEFT", `turn ${row.turn}`);
    const { epoch: ifEpoch } = session;
    return claimSession(parts, ref, { by: parts.executor, reason, event: prepare, ifEpoch });
  };
  const claimed = await claim().catch(async (error: unknown) => {
    if (!(error instanceof NotTold)) throw error;
    await tellAgain(parts, ref);
    return claim();
  });
  const { state, journal, event } = seen as unknown as Seen;
  const after = foldDraft(state, event, claimed.cursor, parts.env.now());
  const writer = new Writer({
    log: parts.log,
    session: ref.session,
    writer: claimed.writer,
    epoch: claimed.epoch,
    blobs: { put: async (_, blob) => void (await parts.store.blobs.put(ref, blob)) },
    newBlobId: () => parts.env.id(),
  });
  const pen = new TurnWriter({ writer, state: after, now: () => parts.env.now() });
  const attempt = new TurnAttempt({ parts, row, epoch: claimed.epoch, pen, journal, tries });
  attempt.requireLease();
  return attempt;
}

/** A turn's start names its message, and that is not in the log: it was lost, or could not be told yet. */
class NotTold extends Error {}

async function tellAgain(parts: RuntimeContext, ref: SessionRef): Promise<void> {
  // Claiming it also brings back what was told and lost with the log.
  if (!(await ensureSessionLog(parts, ref))) await claimIdleSession(parts, ref, parts.executor);
  const { failure } = await publishCommitted(parts, ref);
  if (failure !== null) throw failure;
}

function firstEvent(
  parts: RuntimeContext,
  row: RunningTurn,
  state: SessionState,
  journal: ReadonlyMap<string, Json>,
): EventDraft {
  const turn = state.turns.last();
  if (turn?.id !== row.turn) {
    const isTold = row.message === null || state.waiting.some(({ id }) => id === row.message?.id);
    if (state.session === "" || !isTold) throw new NotTold(`turn ${row.turn}`);
    return startOf(parts, row, state);
  }
  // Its end was told, and only the rest of the work is missing.
  if (turn.status !== "running")
    return { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] };
  const { kept, keptCalls } = keptBy(journal);
  return { type: "turn.takeover", turn: turn.id, ...findSuperseded(turn, kept, keptCalls) };
}

function startOf(
  { agents, defaultAgent }: RuntimeContext,
  row: RunningTurn,
  state: SessionState,
): EventDraft {
  const { agent = defaultAgent, mode = "agent", fromShare = false } = parseTurnOptions(row.options);
  const model = agents.get(agent)?.model?.modelId;
  const last = state.turns.last();
  const resumes = row.message?.resumes ?? null;
  return {
    type: "turn.start",
    turn: row.turn,
    number: (last?.number ?? 0) + 1,
    message_number: (last?.message_number ?? 0) + (row.message === null ? 0 : 1),
    agent,
    mode,
    from_share: fromShare,
    ...(row.message === null ? {} : { message: row.message.id }),
    ...(model === undefined ? {} : { model }),
    ...(row.retries === null ? {} : { retries: row.retries }),
    ...(resumes === null ? {} : { resumes }),
  };
}

/** The blocks and calls that journaled work stands for. */
function keptBy(journal: ReadonlyMap<string, Json>): {
  readonly kept: ReadonlySet<string>;
  readonly keptCalls: ReadonlySet<string>;
} {
  const kept = new Set<string>();
  const keptCalls = new Set<string>();
  for (const [key, value] of journal) {
    if (key.startsWith(CALL_PREFIX)) keptCalls.add(key.slice(CALL_PREFIX.length));
    else if (key.startsWith(START_PREFIX)) keptCalls.add(key.slice(START_PREFIX.length));
    else if (key === FILES_KEY) for (const block of (value as { blocks: string[] }).blocks) kept.add(block);
    else if (key.startsWith(STEP_PREFIX) || key === COMPACTION_KEY) {
      for (const block of (value as unknown as StepRecord | CompactionRecord).blocks) kept.add(block);
      // A step of a sub-agent stands inside the result of the call that started it.
      if (key !== COMPACTION_KEY) keptCalls.add(runPath(key));
    }
  }
  return { kept, keptCalls };
}

function foldDraft(state: SessionState, draft: EventDraft, cursor: Cursor, at: number): SessionState {
  const event = { v: SCHEMA_VERSION, at, ...draft, id: cursor } as SessionEvent;
  const folded = fold(state, event);
  if (formatCursor(folded) !== cursor) throw new Error(`the claim at ${cursor} doesn't follow what was read`);
  return folded;
}
