/**
 * `createWorker` starts a worker: it starts and runs turns, renews its lease, recovers turns of dead workers, handles
 * stop requests, and hands over on shutdown.
 *
 * Invariant: a worker has one lifetime. Once its lease is lost, or it has given up its turns because it alone can't reach
 * the log, it runs no turn, polls no more and must be replaced.
 * Its agents are registered before it takes a turn, so that messages can name them. Signals only save
 * time: polling finds every message, stop and outbox row whose signal was lost.
 */
import { createExecutor, type Executor, RECOVERED_CHANNEL } from "../../engine/executor.ts";
import { LogError } from "../../log/errors.ts";
import { loadNamedModel } from "../../models/named-model.ts";
import { expireForms } from "../../session/interactions/expire-forms.ts";
import { checkDuePayments } from "../../session/payments/check-payments.ts";
import { archiveLeftovers, LogRetention } from "../../session/archive/log-retention.ts";
import { relayOutbox } from "../../session/archive/relay-outbox.ts";
import { claimIdleSession } from "../../session/lifecycle/claim.ts";
import { createLossReporter } from "../../session/lifecycle/report-loss.ts";
import {
  DECISIONS_CHANNEL,
  decodeSessionRef,
  STOPS_CHANNEL,
  TURNS_CHANNEL,
} from "../../session/signal-channels.ts";
import { WebhookSender } from "../../session/webhooks/webhook-sender.ts";
import type { RegisteredAgent } from "../../store/ports/agents.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { describeError } from "../../util/describe-error.ts";
import { systemEnv } from "../../util/env.ts";
import type { ErrorContext, ErrorHandler } from "../../util/error-handler.ts";
import { PeriodicTask } from "../../util/periodic-task.ts";
import { FairSemaphore } from "../../util/fair-semaphore.ts";
import { createSecurityReporter } from "../../util/security-event.ts";
import { sleep } from "../../util/sleep.ts";
import { runAs } from "../../util/work-owner.ts";
import type { RuntimeContext } from "../attempt/context.ts";
import { ModelCallMemory } from "../attempt/model-calls.ts";
import { type Agent, LOOKUP_ATTACHMENTS } from "../define/agent.ts";
import { PARALLEL_FETCHES, PARALLEL_FILES } from "../define/file-limits.ts";
import type { TurnObserver } from "../define/turn-observer.ts";
import { RuntimeError } from "../errors.ts";
import { lookupAttachments } from "../files/lookup-tool.ts";
import { DecisionWaiters } from "../interactions/decision-waiters.ts";
import { ToolSources } from "../tool-calls/tool-sources.ts";
import { ActiveTurns } from "../turn/active-turns.ts";
import { runTurn } from "../turn/run-turn.ts";
import { LogProbe } from "./log-probe.ts";
import { StoreClock } from "../attempt/store-clock.ts";
import { HANDOVER_MS, resolveOptions, type WorkerOptions } from "./options.ts";
import { pruneTables } from "./prune-tables.ts";
import { TurnLoop } from "./turn-loop.ts";

export interface Worker {
  readonly executor: string;
  /** Number of turns that run in this worker. */
  readonly running: number;
  /**
   * Replaces the agents for attempts that start afterwards. Running attempts continue with theirs. If an agent can't be
   * used, the earlier ones stay.
   * @throws RuntimeError BAD_AGENT or NO_AGENTS, or an error of the store
   */
  replaceAgents(agents: readonly Agent[]): Promise<void>;
  /**
   * Hands over the running turns to other workers, then closes. Call it on SIGTERM. No step or tool starts any more. Those
   * that run may end within `drainMs`, and are aborted after it.
   */
  shutdown(options?: ShutdownOptions): Promise<void>;
}

export interface ShutdownOptions {
  /** Default: the worker's option `drainMs`. 0 aborts running steps and tools at once. */
  readonly drainMs?: number;
}

const BATCH = 1_000;
const CLOSE_TIMEOUT_MS = 5_000;
/** How often a worker that can't reach the log asks whether others can. */
const GIVE_UP_CHECK_MS = 1_000;

/** A fault of an observer must not fail the turn that it observes. */
function guarded(observer: TurnObserver, onError: ErrorHandler): TurnObserver {
  return (activity) => {
    try {
      observer(activity);
    } catch (error) {
      onError(error, { during: "`onEvent`" });
    }
  };
}

/** Throws BAD_OPTIONS, BAD_AGENT, NO_AGENTS, or an error of the store. */
export async function createWorker(options: WorkerOptions): Promise<Worker> {
  const settings = resolveOptions(options);
  const { store, log, signals, env = systemEnv, onError = warn } = options;
  const { leaseTtlMs, fileLimits, shutdownGraceMs, payments = null } = settings;
  let offered = await offerAgents(store, options.agents);
  const activeTurns = new ActiveTurns();
  const decisionWaiters = new DecisionWaiters();
  const toolSources = new ToolSources(options.agents, { env, onError });
  let executor: Executor | null = null;
  const reportSecurityEvent = createSecurityReporter([options.onSecurityEvent], onError);
  const logRetention = new LogRetention(
    { store, log },
    { trimAfterMs: settings.trimLogAfterMs, expireAfterMs: settings.expireLogAfterMs },
  );
  const holdsLease = (): boolean => executor?.isFresh() ?? true;
  const name = env.id();
  const draining = new AbortController();
  const probe = new LogProbe(log);
  const storeClock = new StoreClock(store.leases);
  const context: RuntimeContext = {
    store,
    log,
    env,
    storeClock,
    executor: name,
    get agents() {
      return offered.agents;
    },
    get defaultAgent() {
      return offered.defaultAgent;
    },
    toolSources,
    builtInTools: new Map([[LOOKUP_ATTACHMENTS, lookupAttachments]]),
    modelSlots: new FairSemaphore(settings.maxConcurrentModelCalls),
    toolSlots: new FairSemaphore(settings.maxConcurrentToolCalls),
    fetchPolicy: settings.fetchPolicy,
    fileLimits,
    payments,
    fileSlots: new FairSemaphore(PARALLEL_FILES),
    fetchSlots: new FairSemaphore(PARALLEL_FETCHES),
    decisionWaiters,
    catalogs: settings,
    shutdownGraceMs,
    parkAfterMs: settings.parkAfterMs,
    maxAttemptsWithoutProgress: settings.maxAttemptsWithoutProgress,
    showsProviderErrors: settings.showsProviderErrors,
    modelCallMemory: new ModelCallMemory(),
    draining: draining.signal,
    logRetention,
    deltaBatchMs: settings.deltaBatchMs,
    holdsLease,
    hasLostLease: () => executor?.isLost() ?? false,
    awaitLease: async (signal) => (await executor?.untilFresh(signal)) ?? true,
    confirmLease: async (signal) => (await executor?.confirm(signal)) ?? true,
    startNext: (agent) => loop.startNext(agent),
    onError,
    reportSecurityEvent,
    onLoss: createLossReporter(reportSecurityEvent, onError),
    ...(options.onEvent !== undefined && { onEvent: guarded(options.onEvent, onError) }),
  };
  const loop = new TurnLoop({
    executor: name,
    queue: store.queue,
    signals,
    run: (turn, signal) => runAs(turn.row, () => runTurn(context, activeTurns, turn, signal)),
    maxTurns: settings.maxConcurrentTurns,
    agents: () => [...offered.agents.keys()],
    mayStart: () => holdsLease() && probe.reachesLog,
    onError,
  });
  const polling = new PeriodicTask(
    settings.pollIntervalMs,
    env,
    (error) => onError(error, { during: "polling" }),
    async () => {
      await stopRequestedTurns(context, activeTurns);
      loop.poll();
      // Another look takes the woken turns.
      if ((await store.queue.wakeDue({ limit: BATCH })) > 0) loop.poll();
      await relayOutbox(context, { claim: (ref) => claimIfIdle(context, ref) });
      await expireForms({ store, log, signals }, onError);
    },
  );
  const sender = new WebhookSender({ store, env, onError }, settings.webhooks, settings.fetchPolicy);
  const sending = new PeriodicTask(
    settings.pollIntervalMs,
    env,
    (error) => onError(error, { during: "sending webhooks" }),
    () => sender.poll(),
  );
  // A task of its own, because a slow provider must not delay turns.
  const checkingPayments = new PeriodicTask(
    settings.pollIntervalMs,
    env,
    (error) => onError(error, { during: "checking payments" }),
    async () => {
      if (payments !== null) await checkDuePayments({ store, log, signals, payments, env, onError }, onError);
    },
  );
  const maintenance = new PeriodicTask(
    settings.maintenanceIntervalMs,
    env,
    (error) => onError(error, { during: "maintenance" }),
    async () => {
      await storeClock.sync();
      await archiveLeftovers(context, logRetention);
      await pruneTables(context, settings);
    },
  );
  const givingUp = new PeriodicTask(
    GIVE_UP_CHECK_MS,
    env,
    (error) => onError(error, { during: "comparing the reach of the log" }),
    async () => {
      if (!(await probe.isCutOff(store.leases, name))) return;
      onError(new LogError("UNAVAILABLE", { detail: "another worker reaches the log" }), {
        during: "giving up turns",
      });
      stopTasks();
      await executor?.leave();
      options.onLeaseLost?.();
    },
  );
  const tasks = [polling, sending, checkingPayments, maintenance, givingUp];
  const stopTasks = (): void => {
    probe.stop();
    for (const task of tasks) task.stop();
  };
  await Promise.all([probe.start(), storeClock.sync()]);
  executor = await createExecutor({
    executor: name,
    running: loop,
    queue: store.queue,
    leases: store.leases,
    signals,
    ttlMs: leaseTtlMs,
    graceMs: shutdownGraceMs + HANDOVER_MS,
    reachesLog: () => probe.reachesLog,
    onLost: () => {
      stopTasks();
      options.onLeaseLost?.();
    },
    onError: (error) => onError(error, { during: "the lease" }),
  });
  const unsubscribe = [
    log.onOutage?.((error) => onError(error, { during: "the log" })) ?? (() => undefined),
    signals.listen(TURNS_CHANNEL, (agent) => loop.onQueued(agent === "" ? null : agent)),
    signals.listen(RECOVERED_CHANNEL, () => loop.onQueued(null)),
    signals.listen(DECISIONS_CHANNEL, (text) => {
      const ref = decodeSessionRef(text);
      if (ref !== null) decisionWaiters.wake(ref);
    }),
    signals.listen(STOPS_CHANNEL, (text) => {
      const ref = decodeSessionRef(text);
      if (ref === null || !activeTurns.has(ref)) return;
      stopIfRequested(context, activeTurns, ref).catch((error: unknown) =>
        onError(error, { during: "stopping a turn" }),
      );
    }),
  ];
  for (const task of tasks) task.start();
  loop.open();
  return {
    executor: name,
    get running() {
      return loop.running;
    },
    async replaceAgents(agents) {
      const next = await offerAgents(store, agents);
      toolSources.replace(agents, activeTurns.untilEnded());
      offered = next;
      loop.poll();
    },
    async shutdown({ drainMs = settings.drainMs } = {}) {
      loop.close();
      stopTasks();
      draining.abort();
      await executor?.leave(drainMs);
      // Users can stop a turn and decide until it is handed over.
      for (const stop of unsubscribe) stop();
      logRetention.close();
      // Don't wait longer: with the database down, closing never finishes, and the turns are already handed over.
      await Promise.race([
        Promise.all([loop.handOver(), toolSources.close(), sender.close()]),
        sleep(CLOSE_TIMEOUT_MS, { unref: true }),
      ]);
    },
  };
}

/** Checks the agents and registers them in the store. */
async function offerAgents(
  store: Store,
  agents: readonly Agent[],
): Promise<Pick<RuntimeContext, "agents" | "defaultAgent">> {
  const byName = new Map(agents.map((agent) => [agent.name, agent]));
  const [first] = agents;
  if (first === undefined || byName.size < agents.length)
    throw new RuntimeError(
      "NO_AGENTS",
      `a worker with the agents ${[...byName.keys()].join(", ") || "(none)"}`,
    );
  for (const agent of agents) await loadModels(agent);
  await store.agents.register(agents.map(toRegistration));
  return { agents: byName, defaultAgent: first.name };
}

/** Finds at startup that the name of a model can't be resolved. */
async function loadModels({ name, model, title, compaction, subAgents }: Agent): Promise<void> {
  try {
    for (const used of [model, title === false ? null : title.model, compaction.model])
      await loadNamedModel(used);
  } catch (error) {
    throw new RuntimeError("BAD_AGENT", `the agent ${name}: ${(error as Error).message}`, error);
  }
  for (const agent of Object.values(subAgents)) await loadModels(agent);
}

function toRegistration({ name, label, description, body, attachments, images }: Agent): RegisteredAgent {
  // The worker reads files for a stream agent only with `attachments`.
  const readsFiles = body === null || attachments;
  const inputs = [
    "text",
    ...(readsFiles ? ["file"] : []),
    ...(readsFiles && images !== null ? ["image"] : []),
  ];
  return { name, label, description, inputs: inputs as RegisteredAgent["inputs"] };
}

/** With DEBUG, the warning has the stack. Without it, the cause is more useful: it is the message of the provider. */
function warn(error: unknown, { during }: ErrorContext): void {
  const hasStack = process.env["DEBUG"] !== undefined && error instanceof Error;
  process.emitWarning(hasStack ? (error.stack ?? error.message) : describeError(error), { detail: during });
}

async function stopIfRequested(
  { store }: RuntimeContext,
  activeTurns: ActiveTurns,
  ref: SessionRef,
): Promise<void> {
  const row = await store.running.get(ref);
  if (row !== null && row.stop !== null) activeTurns.stop(row, row.stop.by);
}

/** Handles stop requests whose signal was lost. */
async function stopRequestedTurns({ store }: RuntimeContext, activeTurns: ActiveTurns): Promise<void> {
  if (activeTurns.size === 0) return;
  for (const row of await store.running.stopping({ limit: BATCH }))
    activeTurns.stop(row, row.stop?.by ?? null);
}

/** Restores a lost log only if no turn runs. A running turn restores the log itself. */
async function claimIfIdle(context: RuntimeContext, ref: SessionRef): Promise<void> {
  if ((await context.store.running.get(ref)) === null) await claimIdleSession(context, ref, context.executor);
}
