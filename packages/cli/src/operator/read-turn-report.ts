/**
 * `readTurnReport` reads everything about the last turn of a session and explains its state. `explainTurn` decides; this
 * module only reads.
 *
 * Invariant: it changes nothing in the store or the log, and works while Redis is down: then the report has no events.
 * A report contains ids, names and times, and nothing that a user or a model wrote.
 */
import { listBlocks, parseCursor, type SessionState, type Turn } from "@turnstream/protocol";
import { unansweredCalls } from "@turnstream/protocol/writer";
import { type Log, readHistory, type SessionRef, type Store } from "@turnstream/server";
import { type Db, type RunningTurn, stringField } from "@turnstream/server/internal";
import { explainTurn, type TurnExplanation, type TurnFacts } from "./explain-turn.ts";
import { readRedisStatus, type RedisStatus } from "./read-redis-status.ts";
import {
  type AgentStatus,
  readAgent,
  readClaim,
  readDeaths,
  readQueuedAgent,
  readWorkers,
} from "./turn-rows.ts";

export interface OperatorBackend {
  readonly db: Db;
  readonly store: Store;
  readonly log: Log;
  readonly redisUrl: string;
}

export interface TurnReport extends SessionRef, TurnExplanation {
  readonly turn: string | null;
  readonly agent: string | null;
  readonly startedAt: number | null;
  /** Null if the turn doesn't run. */
  readonly attempts: number | null;
  /** How many processes have died while they ran the turn. */
  readonly deaths: number;
  readonly worker: { readonly name: string; readonly leaseUntil: number | null } | null;
  readonly lastEventAt: number | null;
  /** Kinds and keys of pending interactions, and names of running tools. */
  readonly waitsFor: readonly string[];
  /** The clock of the database. */
  readonly now: number;
}

/** How many pending interactions a report lists. */
const MAX_INTERACTIONS = 10;
/** Workers register their agents in one statement, so older rows are of another worker. */
const SAME_START_MS = 1_000;

/** @param ref a session that exists */
export async function readTurnReport(backend: OperatorBackend, ref: SessionRef): Promise<TurnReport> {
  const { db, store, redisUrl } = backend;
  const redis = await readRedisStatus(redisUrl);
  const { state, lastEventAt } = redis.isReachable ? await readEvents(backend, ref) : NO_EVENTS;
  const running = await store.running.get(ref);
  const queued = running === null ? await store.queuedMessages.list(ref) : [];
  const last = state?.turns.last() ?? null;
  const turn = running === null || last?.id === running.turn ? last : null;
  const agent =
    queued.length > 0
      ? await readQueuedAgent(db, ref)
      : (turn?.agent ?? stringField(running?.options ?? null, "agent"));
  const claim = running === null ? null : await readClaim(db, ref);
  const pending = running === null ? [] : await store.interactions.list(ref, PENDING);
  const waits = pending.filter((each) => each.turn === running?.turn);
  const openCalls = turn === null || running === null ? [] : listOpenCalls(turn);
  const workers = await readWorkers(db);
  const facts: TurnFacts = {
    now: workers.now,
    running: running === null ? null : toRunning(running),
    queuedSince: queued[0]?.at ?? null,
    workers,
    claim,
    redisProblem: describeRedis(redis),
    interactions: waits,
    openCalls,
    lastEventAt,
    agent: agent === null ? null : { name: agent, status: judgeAgent(await readAgent(db, agent)) },
    ended: running === null && turn !== null && turn.status !== "running" ? toEnded(turn) : null,
    deaths: running?.deaths ?? (turn === null ? 0 : await readDeaths(db, ref, turn.id)),
  };
  return {
    ...ref,
    ...explainTurn(facts),
    turn: running?.turn ?? turn?.id ?? null,
    agent,
    startedAt: running?.startedAt ?? turn?.started_at ?? null,
    attempts: running?.attempts ?? null,
    deaths: facts.deaths,
    worker: claim === null ? null : { name: claim.worker, leaseUntil: claim.leaseUntil },
    lastEventAt,
    waitsFor: [
      ...waits.map(({ kind, key }) => `${kind} ${key}`),
      ...openCalls.map(({ name }) => `tool ${name}`),
    ],
    now: workers.now,
  };
}

const PENDING = { pending: true, limit: MAX_INTERACTIONS } as const;
const NO_EVENTS = { state: null, lastEventAt: null };

interface Events {
  readonly state: SessionState | null;
  readonly lastEventAt: number | null;
}

/** A log that can't be read is reported by its cause, so the error itself is not needed. */
async function readEvents({ store, log }: OperatorBackend, ref: SessionRef): Promise<Events> {
  try {
    const { state, cursor } = await readHistory({ store, log }, ref, { turns: 1 });
    return { state, lastEventAt: await readLastEventAt(log, ref, cursor, state) };
  } catch {
    return NO_EVENTS;
  }
}

/** Reads the last entry alone if its predecessor has the same epoch; otherwise takes the last time in the state. */
async function readLastEventAt(
  log: Log,
  ref: SessionRef,
  cursor: string,
  state: SessionState,
): Promise<number | null> {
  const position = parseCursor(cursor);
  if (position === null || position.seq < 1) return null;
  const page = await log.read(ref, { after: `${position.epoch}-${position.seq - 1}`, limit: 1 });
  if (page.ok && page.entries[0] !== undefined) return page.entries[0].event.at;
  const turn = state.turns.last();
  return turn === undefined
    ? null
    : Math.max(turn.started_at, ...listBlocks(turn).map((block) => block.started_at));
}

function listOpenCalls(turn: Turn): { name: string; startedAt: number }[] {
  return unansweredCalls(turn)
    .filter(({ end }) => end !== null)
    .map(({ name, ended_at: endedAt, started_at: startedAt }) => ({ name, startedAt: endedAt ?? startedAt }))
    .toSorted((a, b) => a.startedAt - b.startedAt);
}

function toRunning({
  startedAt,
  attempts,
  attemptsWithoutProgress,
  stop,
}: RunningTurn): TurnFacts["running"] {
  return { startedAt, attempts, attemptsWithoutProgress, stopRequestedAt: stop?.at ?? null };
}

function toEnded(turn: Turn): TurnFacts["ended"] {
  const notice = listBlocks(turn).findLast((block) => block.kind === "notice");
  return { status: turn.status, errorCode: notice?.error?.code ?? null };
}

function judgeAgent({ registeredAt, newestAt }: AgentStatus): "known" | "unregistered" | "outdated" {
  if (registeredAt === null) return "unregistered";
  return (newestAt ?? 0) - registeredAt > SAME_START_MS ? "outdated" : "known";
}

/** The first word of a Redis error is its code; the rest can be long. */
function describeRedis(redis: RedisStatus): string | null {
  if (!redis.isReachable) return redis.problem;
  return redis.refusal === null ? null : `Redis refuses writes (${redis.refusal.split(" ")[0]})`;
}
