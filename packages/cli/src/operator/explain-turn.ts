/**
 * `explainTurn` returns the state of a session's last turn and, in one sentence, the reason why it is in that state,
 * with what to do about it. Pure: rows and times come in as `TurnFacts`.
 *
 * Invariant: a cause that prevents all progress wins over one that it hides. Without a worker, a turn that waits for a
 * user stays as it is after the user decides. Sentences contain names and ages, and nothing that a user wrote.
 */

export interface TurnFacts {
  /** The clock of the database. All other times are compared with it. */
  readonly now: number;
  /** The unfinished turn, or null if the last turn has ended or none has started. */
  readonly running: {
    readonly startedAt: number;
    readonly attempts: number;
    readonly attemptsWithoutProgress: number;
    readonly stopRequestedAt: number | null;
  } | null;
  /** When the oldest message was sent that no turn answers yet, or null. */
  readonly queuedSince: number | null;
  readonly workers: { readonly live: number; readonly lastLeaseUntil: number | null };
  /** The worker whose attempt wrote last, or null. */
  readonly claim: { readonly worker: string; readonly leaseUntil: number | null } | null;
  /** Why Redis can't be used, such as "Redis refuses writes: OOM", or null if it can. */
  readonly redisProblem: string | null;
  /** What the turn waits for, the oldest first. */
  readonly interactions: readonly {
    readonly kind: string;
    readonly requestedAt: number;
    readonly deadline: number | null;
  }[];
  /** Tool calls without a result, the oldest first. */
  readonly openCalls: readonly { readonly name: string; readonly startedAt: number }[];
  readonly lastEventAt: number | null;
  /** The agent of the turn or of the queued message, and whether the newest worker has it; null if none is named. */
  readonly agent: { readonly name: string; readonly status: "known" | "unregistered" | "outdated" } | null;
  /** How the last turn ended; null while it runs, or without a turn. */
  readonly ended: { readonly status: string; readonly errorCode: string | null } | null;
  /** How many processes have died while they ran the turn. */
  readonly deaths: number;
}

export interface TurnExplanation {
  readonly state: "none" | "queued" | "running" | "waiting" | "stopping" | "failed" | "stopped" | "ended";
  /** One sentence. */
  readonly reason: string;
  /** What the operator can do, or null if nothing is wrong. */
  readonly fix: string | null;
}

/** A turn without an event for this long is described as waiting for its model. */
const SILENT_MS = 5_000;

export function explainTurn(facts: TurnFacts): TurnExplanation {
  const { running, queuedSince, ended } = facts;
  if (running === null && queuedSince === null)
    return ended === null ? explainNothing(facts) : explainEnd(facts, ended);
  const state = currentState(facts);
  const blocked = explainServers(facts);
  if (blocked !== null) return { state, ...blocked };
  if (running === null && isMissing(facts.agent))
    return { state, ...explainAgent("message", facts.agent, "A worker with it answers the message.") };
  if (running === null)
    return {
      state,
      reason: `The message has waited ${age(facts, queuedSince)} for a worker to take it.`,
      fix: "A live worker takes messages within seconds. If it doesn't, read the log of the workers.",
    };
  return { state, ...explainProgress(facts, running) };
}

/** A session without a known turn: the turns are in the events, which can't be read without Redis. */
function explainNothing({ redisProblem }: TurnFacts): TurnExplanation {
  if (redisProblem === null) return { state: "none", reason: "The session has no turn yet.", fix: null };
  const reason = `${redisProblem}, so the events of the session can't be read.`;
  return { state: "none", reason, fix: "Run `turnstream doctor` and correct what it reports about Redis." };
}

type Cause = Pick<TurnExplanation, "reason" | "fix">;

function currentState({ running, interactions }: TurnFacts): TurnExplanation["state"] {
  if (running === null) return "queued";
  if (running.stopRequestedAt !== null) return "stopping";
  return interactions.length > 0 ? "waiting" : "running";
}

/** Causes outside of the turn: nothing that runs in it can make progress. */
function explainServers({ now, workers, redisProblem }: TurnFacts): Cause | null {
  if (workers.live === 0) {
    const last = workers.lastLeaseUntil;
    const since = last === null ? "" : `: the last one stopped ${formatAge(now - last)} ago`;
    return {
      reason: `No worker is running${since}.`,
      fix: "Start a worker with the same DATABASE_URL and REDIS_URL. It continues the turn.",
    };
  }
  if (redisProblem === null) return null;
  return {
    reason: `${redisProblem}, so the worker can't write events.`,
    fix: "Run `turnstream doctor` and correct what it reports about Redis. The worker retries by itself.",
  };
}

function explainProgress(facts: TurnFacts, running: NonNullable<TurnFacts["running"]>): Cause {
  const { now, claim, interactions, openCalls, lastEventAt } = facts;
  const [asked] = interactions;
  // A turn that waits for a user may have no worker.
  if (asked !== undefined && running.stopRequestedAt === null)
    return {
      reason: `The turn has waited ${age(facts, asked.requestedAt)} for the user: ${withArticle(asked.kind)} is pending${until(now, asked.deadline)}.`,
      fix: "The user decides in the page. `turnstream turns stop` ends the turn without a decision.",
    };
  if (claim !== null && (claim.leaseUntil === null || claim.leaseUntil < now))
    return {
      reason: `The worker ${claim.worker} has stopped, and another worker has not taken over the turn yet.`,
      fix: "Another worker takes over within seconds. If it doesn't, read the log of the workers.",
    };
  if (running.stopRequestedAt !== null)
    return {
      reason: `A stop was requested ${age(facts, running.stopRequestedAt)} ago, and the turn has not ended yet.`,
      fix: "A tool that ignores its abort signal delays the stop.",
    };
  const [call] = openCalls;
  if (call !== undefined)
    return {
      reason: `The tool ${call.name} has run for ${age(facts, call.startedAt)} and has not returned.`,
      fix: "Check the service that the tool calls, or set a lower `limits.toolTimeoutMs` of the agent.",
    };
  if (running.attempts === 0)
    return {
      reason: `The turn began ${age(facts, running.startedAt)} ago, and no worker has attempted it yet.`,
      fix: "A live worker attempts it within seconds. If it doesn't, read the log of the workers.",
    };
  if (running.attemptsWithoutProgress > 1)
    return {
      reason: `The last ${running.attemptsWithoutProgress} attempts failed without progress, and the worker tries again.`,
      fix: "Read the log of the workers: it has the error of each attempt.",
    };
  const silentMs = now - (lastEventAt ?? running.startedAt);
  if (silentMs > SILENT_MS)
    return {
      reason: `The agent has waited ${formatAge(silentMs)} for its model.`,
      fix: "Check the model's provider. The turn fails when the agent's `limits.timeoutMs` is reached.",
    };
  return { reason: "A worker writes the answer right now.", fix: null };
}

function explainEnd({ agent, deaths }: TurnFacts, ended: NonNullable<TurnFacts["ended"]>): TurnExplanation {
  const { status, errorCode } = ended;
  if (status === "user_stopped") return { state: "stopped", reason: "The turn was stopped.", fix: RETRY };
  if (status === "requires_interaction")
    return { state: "waiting", reason: "The turn ended with a form or payment for the user.", fix: null };
  if (status !== "error") return { state: "ended", reason: `The turn has ended (${status}).`, fix: null };
  if (deaths > 0)
    return {
      state: "failed",
      reason: `The turn was ended because ${deaths} processes died while they ran it.`,
      fix: "Find out why they died, for example memory or a native module. Then run `turnstream turns retry`.",
    };
  if (errorCode === "SERVER_ERROR" && isMissing(agent))
    return { state: "failed", ...explainAgent("turn", agent, "Then run `turnstream turns retry`.") };
  return {
    state: "failed",
    reason: `The turn failed with ${errorCode ?? "an unknown error"}.`,
    fix: `The log of the workers has the cause. ${RETRY}`,
  };
}

type MissingAgent = NonNullable<TurnFacts["agent"]>;

function isMissing(agent: TurnFacts["agent"]): agent is MissingAgent {
  return agent !== null && agent.status !== "known";
}

function explainAgent(what: "message" | "turn", { name, status }: MissingAgent, next: string): Cause {
  const problem =
    status === "unregistered" ? "which no worker has registered" : "which the newest worker doesn't have";
  return {
    reason: `The ${what} needs the agent ${name}, ${problem}.`,
    fix: `Start the workers with an agent named ${name}. ${next}`,
  };
}

const RETRY = "`turnstream turns retry` answers the message again.";

function age({ now }: TurnFacts, since: number | null): string {
  return formatAge(now - (since ?? now));
}

/** Returns a duration in its two largest units, such as "42 s" or "3 h 5 min". */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function withArticle(kind: string): string {
  return `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;
}

function until(now: number, deadline: number | null): string {
  if (deadline === null) return " without a deadline";
  return deadline > now ? `, and times out in ${formatAge(deadline - now)}` : ", and has timed out";
}
