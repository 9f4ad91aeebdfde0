/**
 * `beginAttempt` starts an attempt at a turn: it reads the journal and the log under the epoch of the attempt, and claims
 * the log. The first event is `turn.start`, or a `turn.takeover` that supersedes every block that is not journaled.
 *
 * Invariant: the journal is read after the epoch is taken, when no older attempt can journal any more. After the claim,
 * no older attempt can write events. A worker without a lease claims nothing, and takes epochs only for turns that it
 * runs. Turn options come from clients, so invalid ones are ignored.
 */
import {
  canonicalLocale,
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
import { EngineError } from "../errors.ts";
import { Writer } from "../../log/writer/writer.ts";
import { publishCommitted } from "../../session/archive/relay-outbox.ts";
import { readHistory } from "../../session/history/read-history.ts";
import { type ClaimRequest, claimSession, type FirstEvent, IDLE } from "../../session/lifecycle/claim.ts";
import { sessionStart } from "../../session/lifecycle/create.ts";
import { StoreError } from "../../store/errors.ts";
import type { JournalEntry } from "../../store/journal.ts";
import type { RunningTurn } from "../../store/running-turn.ts";
import type { Session, SessionWithEpoch } from "../../store/sessions.ts";
import type { HeldTurn, StartedTurn } from "../../store/turn-queue.ts";
import { defined } from "../../util/defined.ts";
import { asJsonObject } from "../../util/json.ts";
import type { SessionRef } from "../../util/refs.ts";
import { TurnAttempt } from "../attempt/attempt.ts";
import type { TurnMemory } from "../attempt/turn-memory.ts";
import type { EngineContext } from "../attempt/context.ts";
import {
  type BlocksEntry,
  CALL_PREFIX,
  FILES_KEY,
  LOSS_KEY,
  runPath,
  STEP_PREFIX,
  START_PREFIX,
  type StepEntry,
  SUMMARY,
} from "../attempt/journal-keys.ts";
import { resolveJournal } from "../attempt/journaled-result.ts";
import { TurnWriter } from "../events/turn-writer.ts";
import type { TurnBodies } from "../turn-body.ts";
import { findSuperseded } from "./supersede.ts";

interface Prepared extends FirstEvent {
  readonly session: Session;
  readonly state: SessionState;
  readonly archived: SessionState;
  readonly entries: readonly JournalEntry[];
  readonly journal: Map<string, Json>;
  readonly shownCalls: ReadonlySet<string>;
}

interface TurnToAttempt extends Pick<StartedTurn, "held" | "row"> {
  readonly memory: TurnMemory;
  readonly bodies: () => TurnBodies;
}

export async function beginAttempt(
  context: EngineContext,
  { held, row, memory, bodies }: TurnToAttempt,
): Promise<TurnAttempt> {
  const ref: SessionRef = { tenant: row.tenant, session: row.session };
  // The sender has published the message of a new turn. If not, the claim below notices.
  if (row.attempts > 1) await publishCommitted(context, ref);
  const prepare = async (session: Session): Promise<Prepared> => {
    const [entries, { state, cursor: last, archived }] = await Promise.all([
      context.store.journal.read(ref, row.turn),
      readHistory(context, ref, { turns: 1 }),
    ]);
    const turn = findTurn(state, row.turn);
    const journal = resolveJournal(entries, turn);
    const event = firstEvent(bodies(), { row, session }, state, journal);
    const shownCalls = turn === undefined ? new Set<string>() : listShownCalls(turn);
    return { session, state, archived, entries, journal, event, last, shownCalls };
  };
  const takeEpoch = createTurnEpochs(context, held);
  const claim = () => claimSession(context, ref, { by: context.executor, event: prepare, takeEpoch });
  const { first, epoch, ...claimed } = await claim().catch(async (error: unknown) => {
    if (!(error instanceof MessageNotInLog)) throw error;
    await restoreMessage(context, ref, takeEpoch);
    return claim();
  });
  if (first === null) throw new Error("an attempt prepares its first event");
  const { session, state, event, last: _, ...read } = first;
  const { onEvent } = context;
  const logWriter = new Writer({
    log: context.log,
    ref,
    writer: claimed.writer,
    epoch,
    blobs: { put: async (of, blob) => void (await context.store.blobs.put(of, blob)) },
    newBlobId: () => context.env.id(),
    batchDelayMs: context.deltaBatchMs,
  });
  const writer = new TurnWriter({
    writer: logWriter,
    state: foldDraft(state, event, claimed.cursor, context.env.now()),
    calls: listJournaled(read.journal).requestedCalls,
    now: () => context.env.now(),
    ...(onEvent !== undefined && {
      onEvent: (written, turn) => onEvent({ ...ref, event: written, turn }),
    }),
  });
  if (event.type === "turn.start") onEvent?.({ ...ref, event, turn: writer.turn });
  const isFirst = isFirstAfterLoss(row.turn, state, claimed.lostAfter ?? session.lostAfter);
  const attempt = new TurnAttempt({
    context,
    row,
    epoch,
    writer,
    ...read,
    memory,
    isFirstAfterLoss: isFirst,
  });
  if (!context.lease.isFresh()) throw new EngineError("LEFT", `turn ${row.turn}`);
  return attempt;
}

/**
 * Returns a function that takes the epochs under which an attempt claims the log: first the one that it was started with,
 * then new ones, if the log has seen that one already or lost the claim. A process that freezes after it has looked at
 * its lease gets none, because the store refuses it.
 * @throws EngineError LEFT if this process no longer runs the turn, or StoreError NOT_FOUND if the session was erased
 */
function createTurnEpochs(
  { store, lease }: EngineContext,
  held: HeldTurn,
): (seen: number) => Promise<SessionWithEpoch> {
  let isUsed = false;
  return async (seen) => {
    if (!lease.isFresh()) throw new EngineError("LEFT", `session ${held.session}`);
    const isTaken = isUsed || seen >= held.epoch;
    const owns = !isTaken || (await store.queue.again(held, { seen, isCounted: false })) !== null;
    const session = await store.sessions.find(held);
    if (session === null) throw new StoreError("NOT_FOUND", `session ${held.session}`);
    if (!owns || session.epoch !== held.epoch) throw new EngineError("LEFT", `session ${held.session}`);
    isUsed = true;
    return session;
  };
}

/** Returns true if no other turn has started since the session has lost events. */
function isFirstAfterLoss(turn: string, { turns }: SessionState, lostAfter: number | null): boolean {
  if (lostAfter === null) return false;
  return turns.findLast(({ id, start }) => id !== turn && start > lostAfter) === undefined;
}

/** The message of the turn is not in the log, because the log was lost or the message is not published yet. */
class MessageNotInLog extends Error {}

async function restoreMessage(
  context: EngineContext,
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
  bodies: TurnBodies,
  { row, session }: TurnToStart,
  state: SessionState,
  journal: ReadonlyMap<string, Json>,
): EventDraft {
  const turn = state.turns.last();
  if (turn?.id !== row.turn) {
    const isInLog = row.message === null || state.waiting.some(({ id }) => id === row.message?.id);
    if (state.session === "" || !isInLog) throw new MessageNotInLog(`turn ${row.turn}`);
    return startOf(bodies, { row, session }, state);
  }
  // The log already has the end of the turn, so there is nothing to supersede.
  if (turn.status !== "running") return IDLE;
  const { journaledBlocks, journaledCalls, requestedCalls } = listJournaled(journal);
  const superseded = findSuperseded(turn, journaledBlocks, journaledCalls, requestedCalls);
  return { type: "turn.takeover", turn: turn.id, ...superseded };
}

function startOf(bodies: TurnBodies, { row, session }: TurnToStart, state: SessionState): EventDraft {
  const { agent = bodies.defaultName, mode, locale } = readTurnOptions(row.options);
  const body = bodies.byName.get(agent);
  const last = state.turns.last();
  return {
    type: "turn.start",
    turn: row.turn,
    number: (last?.number ?? 0) + 1,
    message_number: (last?.message_number ?? 0) + (row.message === null ? 0 : 1),
    agent,
    mode: mode ?? body?.displayMode ?? "agent",
    from_share: isFirstOfFork(session, last) || (row.retries !== null && last?.from_share === true),
    ...defined({
      message: row.message?.id,
      model: body?.model,
      retries: row.retries ?? undefined,
      resumes: row.message?.resumes ?? undefined,
      // Retries and forms name no language, so they continue in that of the session.
      locale: locale ?? last?.locale ?? undefined,
    }),
  };
}

interface TurnOptions {
  readonly agent: string | undefined;
  readonly mode: "agent" | "chat" | undefined;
  /** The language of the user, in canonical form. */
  readonly locale: string | undefined;
}

/** Ignores invalid values. The agent may be unknown to this worker. */
function readTurnOptions(options: Json): TurnOptions {
  const { agent, mode, locale } = asJsonObject(options);
  return {
    agent: typeof agent === "string" ? agent : undefined,
    mode: mode === "agent" || mode === "chat" ? mode : undefined,
    locale: typeof locale === "string" ? (canonicalLocale(locale) ?? undefined) : undefined,
  };
}

/** Returns true if the session is a fork and all of its turns were copied from the share. */
function isFirstOfFork({ forkedFromShare, forkedTurns }: Session, last: Turn | undefined): boolean {
  return forkedFromShare && (last?.number ?? 0) <= forkedTurns;
}

function listShownCalls(turn: Turn): Set<string> {
  return new Set(listBlocks(turn).flatMap((block) => (block.kind === "tool_result" ? [block.call] : [])));
}

/** The entries besides steps that have written blocks. */
const WITH_BLOCKS: readonly string[] = [FILES_KEY, LOSS_KEY, SUMMARY];

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
    const isStep = key.startsWith(STEP_PREFIX);
    if (key.startsWith(CALL_PREFIX)) journaledCalls.add(key.slice(CALL_PREFIX.length));
    else if (key.startsWith(START_PREFIX)) journaledCalls.add(key.slice(START_PREFIX.length));
    // The steps of a sub-agent are inside the result of the call that started it.
    else if (isStep) journaledCalls.add(runPath(key));
    if (!isStep && !WITH_BLOCKS.includes(key)) continue;
    const { blocks, calls = [] } = value as unknown as BlocksEntry & Partial<StepEntry>;
    for (const block of blocks) journaledBlocks.add(block);
    for (const { call } of calls) requestedCalls.add(call);
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
