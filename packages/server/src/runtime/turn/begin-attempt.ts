/**
 * `beginAttempt` starts an attempt at a turn: it reads the journal and the log under the epoch of the attempt, and claims
 * the log. The first event is `turn.start`, or a `turn.takeover` that supersedes every
 * block that is not journaled.
 *
 * Invariant: the journal is read after the epoch is taken, when no older attempt can journal any more. After the claim,
 * no older attempt can write events. A worker without a lease claims nothing.
 */
import {
  type Cursor,
  findTurn,
  fold,
  formatCursor,
  listBlocks,
  type SessionEvent,
  type Json,
  SCHEMA_VERSION,
  START_CURSOR,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { EngineError } from "../../engine/errors.ts";
import { Writer } from "../../log/writer/writer.ts";
import { type ClaimRequest, claimSession, type FirstEvent, IDLE } from "../../session/lifecycle/claim.ts";
import { sessionStart } from "../../session/lifecycle/create.ts";
import { readHistory } from "../../session/history/read-history.ts";
import { publishCommitted } from "../../session/archive/relay-outbox.ts";
import type { RunningTurn } from "../../store/running-turn.ts";
import type { StartedTurn } from "../../store/turn-queue.ts";
import type { Session } from "../../store/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { TurnAttempt, type TurnMemory } from "../attempt/attempt.ts";
import { listWholeResults, resolveJournal } from "../attempt/journaled-result.ts";
import {
  CALL_PREFIX,
  type CompactionRecord,
  COMPACTION_KEY,
  FILES_KEY,
  LOSS_KEY,
  runPath,
  STEP_PREFIX,
  START_PREFIX,
  type StepRecord,
} from "../attempt/journal-entries.ts";
import { parseTurnOptions } from "./turn-options.ts";
import type { RuntimeContext } from "../attempt/context.ts";
import { TurnWriter } from "../events/turn-writer.ts";
import { findSuperseded } from "./supersede.ts";
import { defined } from "../../util/defined.ts";
import { createTurnEpochs } from "./turn-epoch.ts";

interface Prepared extends FirstEvent {
  readonly session: Session;
  readonly state: SessionState;
  readonly archived: SessionState;
  readonly journal: Map<string, Json>;
  readonly wholeResults: Set<string>;
  readonly lastEntry: string | null;
  readonly shownCalls: ReadonlySet<string>;
}

export async function beginAttempt(
  context: RuntimeContext,
  { held, row }: Pick<StartedTurn, "held" | "row">,
  memory: TurnMemory,
): Promise<TurnAttempt> {
  const ref: SessionRef = { tenant: row.tenant, session: row.session };
  // The sender has published the message of a new turn. If not, the claim below notices.
  if (row.attempts > 1) await publishCommitted(context, ref);
  const prepare = async (session: Session): Promise<Prepared> => {
    const [entries, { state, cursor, archived }] = await Promise.all([
      context.store.journal.read(ref, row.turn),
      readHistory(context, ref, { turns: 1 }),
    ]);
    const turn = findTurn(state, row.turn);
    const journal = resolveJournal(entries, turn);
    const event = firstEvent(context, { row, session }, state, journal);
    return {
      session,
      state,
      archived,
      journal,
      event,
      last: cursor,
      wholeResults: listWholeResults(entries),
      lastEntry: entries.at(-1)?.key ?? null,
      shownCalls: turn === undefined ? new Set() : listShownCalls(turn),
    };
  };
  const takeEpoch = createTurnEpochs(context, held);
  const claim = () => claimSession(context, ref, { by: context.executor, event: prepare, takeEpoch });
  const claimed = await claim().catch(async (error: unknown) => {
    if (!(error instanceof MessageNotInLog)) throw error;
    await restoreMessage(context, ref, takeEpoch);
    return claim();
  });
  if (claimed.first === null) throw new Error("an attempt prepares its first event");
  const { session, state, archived, journal, wholeResults, lastEntry, shownCalls, event } = claimed.first;
  const lostAfter = claimed.lostAfter ?? session.lostAfter;
  const after = foldDraft(state, event, claimed.cursor, context.env.now());
  const logWriter = new Writer({
    log: context.log,
    ref,
    writer: claimed.writer,
    epoch: claimed.epoch,
    blobs: { put: async (of, blob) => void (await context.store.blobs.put(of, blob)) },
    newBlobId: () => context.env.id(),
    batchDelayMs: context.deltaBatchMs,
  });
  const { requestedCalls: calls } = listJournaled(journal);
  const { onEvent } = context;
  if (event.type === "turn.start") onEvent?.({ ...ref, event, turn: lastTurn(after) });
  const writer = new TurnWriter({
    writer: logWriter,
    state: after,
    calls,
    now: () => context.env.now(),
    ...(onEvent !== undefined && {
      onEvent: (written, turn) => onEvent({ ...ref, event: written, turn }),
    }),
  });
  const attempt = new TurnAttempt({
    context,
    row,
    epoch: claimed.epoch,
    writer,
    archived,
    journal,
    wholeResults,
    lastEntry,
    shownCalls,
    memory,
    isFirstAfterLoss: isFirstAfterLoss(row.turn, state, lostAfter),
  });
  if (!context.lease.isFresh()) throw new EngineError("LEFT", `turn ${row.turn}`);
  return attempt;
}

/** Returns true if no other turn has started since the session has lost events. */
function isFirstAfterLoss(turn: string, { turns }: SessionState, lostAfter: number | null): boolean {
  if (lostAfter === null) return false;
  return turns.findLast(({ id, start }) => id !== turn && start > lostAfter) === undefined;
}

function lastTurn({ turns }: SessionState): Turn {
  const turn = turns.last();
  if (turn === undefined) throw new Error("a claimed session has a turn");
  return turn;
}

/** The message of the turn is not in the log, because the log was lost or the message is not published yet. */
class MessageNotInLog extends Error {}

async function restoreMessage(
  context: RuntimeContext,
  ref: SessionRef,
  takeEpoch: NonNullable<ClaimRequest["takeEpoch"]>,
): Promise<void> {
  const event = async (session: Session): Promise<FirstEvent> => {
    const head = await context.log.head(ref);
    const isNew = head === null && session.archived === START_CURSOR;
    const last = head?.last ?? session.archived;
    return { event: isNew ? sessionStart(session) : IDLE, last };
  };
  // Claiming also restores events that were lost with the log.
  await claimSession(context, ref, { by: context.executor, event, takeEpoch });
  const { failure } = await publishCommitted(context, ref);
  if (failure !== null) throw failure;
}

interface TurnToStart {
  readonly row: RunningTurn;
  readonly session: Session;
}

function firstEvent(
  context: RuntimeContext,
  { row, session }: TurnToStart,
  state: SessionState,
  journal: ReadonlyMap<string, Json>,
): EventDraft {
  const turn = state.turns.last();
  if (turn?.id !== row.turn) {
    const isInLog = row.message === null || state.waiting.some(({ id }) => id === row.message?.id);
    if (state.session === "" || !isInLog) throw new MessageNotInLog(`turn ${row.turn}`);
    return startOf(context, { row, session }, state);
  }
  // The log already has the end of the turn, so there is nothing to supersede.
  if (turn.status !== "running")
    return { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] };
  const { journaledBlocks, journaledCalls, requestedCalls } = listJournaled(journal);
  const superseded = findSuperseded(turn, journaledBlocks, journaledCalls, requestedCalls);
  return { type: "turn.takeover", turn: turn.id, ...superseded };
}

function startOf(
  { agents, defaultAgent }: RuntimeContext,
  { row, session }: TurnToStart,
  state: SessionState,
): EventDraft {
  const { agent = defaultAgent, mode, ...options } = parseTurnOptions(row.options);
  const definition = agents.get(agent);
  const model = definition?.model?.modelId;
  const last = state.turns.last();
  // Retries and forms name no language, so they continue in that of the session.
  const locale = options.locale ?? last?.locale;
  const resumes = row.message?.resumes ?? null;
  return {
    type: "turn.start",
    turn: row.turn,
    number: (last?.number ?? 0) + 1,
    message_number: (last?.message_number ?? 0) + (row.message === null ? 0 : 1),
    agent,
    mode: mode ?? definition?.displayMode ?? "agent",
    from_share: isFirstOfFork(session, last) || (row.retries !== null && last?.from_share === true),
    ...(row.message === null ? {} : { message: row.message.id }),
    ...defined({ model }),
    ...(row.retries === null ? {} : { retries: row.retries }),
    ...(resumes === null ? {} : { resumes }),
    ...(typeof locale === "string" ? { locale } : {}),
  };
}

/** Returns true if the session is a fork and all of its turns were copied from the share. */
function isFirstOfFork({ forkedFromShare, forkedTurns }: Session, last: Turn | undefined): boolean {
  return forkedFromShare && (last?.number ?? 0) <= forkedTurns;
}

function listShownCalls(turn: Turn): Set<string> {
  return new Set(listBlocks(turn).flatMap((block) => (block.kind === "tool_result" ? [block.call] : [])));
}

/** Returns the blocks and calls that journaled work has written, and the calls that journaled steps request. */
function listJournaled(journal: ReadonlyMap<string, Json>): {
  readonly journaledBlocks: ReadonlySet<string>;
  readonly journaledCalls: ReadonlySet<string>;
  readonly requestedCalls: ReadonlySet<string>;
} {
  const journaledBlocks = new Set<string>();
  const journaledCalls = new Set<string>();
  const requestedCalls = new Set<string>();
  for (const [key, value] of journal) {
    if (key.startsWith(CALL_PREFIX)) journaledCalls.add(key.slice(CALL_PREFIX.length));
    else if (key.startsWith(START_PREFIX)) journaledCalls.add(key.slice(START_PREFIX.length));
    else if (key === FILES_KEY || key === LOSS_KEY)
      for (const block of (value as { blocks: string[] }).blocks) journaledBlocks.add(block);
    else if (key.startsWith(STEP_PREFIX) || key === COMPACTION_KEY) {
      for (const block of (value as unknown as StepRecord | CompactionRecord).blocks)
        journaledBlocks.add(block);
      if (key === COMPACTION_KEY) continue;
      // The steps of a sub-agent are inside the result of the call that started it.
      journaledCalls.add(runPath(key));
      for (const { call } of (value as unknown as StepRecord).calls) requestedCalls.add(call);
    }
  }
  return { journaledBlocks, journaledCalls, requestedCalls };
}

function foldDraft(state: SessionState, draft: EventDraft, cursor: Cursor, at: number): SessionState {
  const event = { v: SCHEMA_VERSION, at, ...draft, id: cursor } as SessionEvent;
  const folded = fold(state, event);
  if (formatCursor(folded) !== cursor)
    throw new Error(`the claim must directly follow the history that was read, got cursor ${cursor}`);
  return folded;
}
