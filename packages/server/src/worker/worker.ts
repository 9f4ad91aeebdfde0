/**
 * `createWorker` starts a worker: it starts and runs turns, renews its lease, recovers turns of dead workers, handles
 * stop requests, and hands over on shutdown.
 *
 * Invariant: a worker has one lifetime. Once its lease is lost, or it has given up its turns because it alone can't reach
 * the log, it runs no turn, polls no more and must be replaced.
 * Its agents are registered before it takes a turn, so that messages can name them. Signals only save
 * time: polling finds every message, stop and outbox row whose signal was lost.
 */
import { Lease, RECOVERED_CHANNEL } from "../engine/lease/lease.ts";
import { LogError } from "../log/errors.ts";
import { expireForms } from "../session/interactions/expire-forms.ts";
import { archiveLeftovers, LogRetention } from "../session/archive/log-retention.ts";
import { relayOutbox } from "../session/archive/relay-outbox.ts";
import { claimIdleSession } from "../session/lifecycle/claim.ts";
import { createLossReporter } from "../session/lifecycle/report-loss.ts";
import {
  DECISIONS_CHANNEL,
  decodeSessionRef,
  STOPS_CHANNEL,
  TURNS_CHANNEL,
} from "../session/signal-channels.ts";
import { WebhookSender } from "../session/webhooks/webhook-sender.ts";
import type { SessionRef } from "../util/refs.ts";
import { describeError } from "../util/describe-error.ts";
import { systemEnv } from "../util/env.ts";
import type { ErrorContext, ErrorHandler } from "../util/error-handler.ts";
import { PeriodicTask } from "../util/periodic-task.ts";
import { FairSemaphore } from "../util/fair-semaphore.ts";
import { requireFeatures } from "../store/features.ts";
import type { RunningTurn } from "../store/running-turn.ts";
import { createSecurityReporter } from "../util/security-event.ts";
import { sleep } from "../util/sleep.ts";
import { runAs } from "../util/work-owner.ts";
import type { EngineContext } from "../engine/attempt/context.ts";
import { agentBody } from "../agent/loop/agent-body.ts";
import type { AgentHost } from "../agent/run/agent-turn.ts";
import type { TurnBodies } from "../engine/turn-body.ts";
import { ModelCallMemory } from "../agent/run/model-calls.ts";
import { type Agent, LOOKUP_ATTACHMENTS } from "../agent/define/agent.ts";
import { PARALLEL_FETCHES, PARALLEL_FILES } from "../agent/define/file-limits.ts";
import type { TurnObserver } from "../engine/turn/turn-observer.ts";
import { lookupAttachments } from "../agent/files/lookup-tool.ts";
import { DecisionWaiters } from "../engine/attempt/decision-waiters.ts";
import { ToolSources } from "../agent/tool-calls/tool-sources.ts";
import { ActiveTurns } from "../engine/turn/active-turns.ts";
import { runTurn } from "../engine/turn/run-turn.ts";
import { LogProbe, PROBE_MS } from "../engine/worker/log-probe.ts";
import { StoreClock } from "../engine/attempt/store-clock.ts";
import { HANDOVER_MS, type ResolvedWorkerOptions, resolveOptions, type WorkerOptions } from "./options.ts";
import { formRequest } from "../agent/interactions/form-request.ts";
import { offerAgents } from "./offer-agents.ts";
import { pruneTables } from "../engine/worker/prune-tables.ts";
import { TurnLoop } from "../engine/worker/turn-loop.ts";

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
  const { store, agents, onError = warn } = options;
  await requireFeatures(store, settings.features, onError);
  await offerAgents(store, agents, toolsOf(settings));
  const worker = new RunningWorker(options, settings);
  await worker.start();
  return worker;
}

function toolsOf({ features }: ResolvedWorkerOptions): string[] {
  return features.flatMap(({ requestKinds = [] }) => requestKinds.flatMap(({ tool }) => tool?.name ?? []));
}

/** @param agents at least one. The first answers messages that name none */
function toBodies(agents: readonly Agent[], host: AgentHost): TurnBodies {
  const bodies = agents.map((agent) => [agent.name, agentBody(host, agent)] as const);
  return { byName: new Map(bodies), defaultName: agents[0]?.name ?? "" };
}

class RunningWorker implements Worker {
  readonly executor: string;
  readonly #options: WorkerOptions;
  readonly #settings: ResolvedWorkerOptions;
  readonly #onError: ErrorHandler;
  readonly #activeTurns = new ActiveTurns();
  readonly #decisionWaiters = new DecisionWaiters();
  readonly #draining = new AbortController();
  readonly #toolSources: ToolSources;
  readonly #storeClock: StoreClock;
  readonly #probe: LogProbe;
  readonly #sender: WebhookSender;
  readonly #context: EngineContext;
  readonly #host: AgentHost;
  readonly #loop: TurnLoop;
  readonly #lease: Lease;
  readonly #tasks: readonly PeriodicTask[];
  #bodies: TurnBodies;
  #unsubscribe: readonly (() => void)[] = [];

  constructor(options: WorkerOptions, settings: ResolvedWorkerOptions) {
    const { store, log, signals, env = systemEnv, onError = warn } = options;
    this.executor = env.id();
    this.#options = options;
    this.#settings = settings;
    this.#onError = onError;
    this.#toolSources = new ToolSources(options.agents, { env, onError });
    this.#host = this.#createHost();
    this.#bodies = toBodies(options.agents, this.#host);
    this.#storeClock = new StoreClock(store.leases);
    this.#probe = new LogProbe(log);
    this.#sender = new WebhookSender({ store, env, onError }, settings.webhooks, settings.fetchPolicy);
    this.#loop = new TurnLoop({
      executor: this.executor,
      queue: store.queue,
      signals,
      run: (turn, signal) =>
        runAs(turn.row, () => runTurn(this.#context, () => this.#bodies, this.#activeTurns, turn, signal)),
      maxTurns: settings.maxConcurrentTurns,
      agents: () => [...this.#bodies.byName.keys()],
      mayStart: () => this.#lease.isFresh() && this.#probe.reachesLog,
      onError,
    });
    this.#lease = new Lease({
      executor: this.executor,
      running: this.#loop,
      queue: store.queue,
      leases: store.leases,
      signals,
      ttlMs: settings.leaseTtlMs,
      graceMs: settings.shutdownGraceMs + HANDOVER_MS,
      reachesLog: () => this.#probe.reachesLog,
      onLost: () => this.#end(),
      onError: (error) => onError(error, { during: "the lease" }),
    });
    this.#context = this.#createContext();
    this.#tasks = this.#createTasks();
  }

  async start(): Promise<void> {
    await Promise.all([this.#probe.probe(), this.#storeClock.sync()]);
    await this.#lease.begin();
    this.#unsubscribe = this.#listen();
    for (const task of this.#tasks) task.start();
    this.#loop.open();
  }

  get running(): number {
    return this.#loop.running;
  }

  async replaceAgents(agents: readonly Agent[]): Promise<void> {
    await offerAgents(this.#options.store, agents, toolsOf(this.#settings));
    this.#toolSources.replace(agents, this.#activeTurns.untilEnded());
    this.#bodies = toBodies(agents, this.#host);
    this.#loop.poll();
  }

  async shutdown({ drainMs = this.#settings.drainMs }: ShutdownOptions = {}): Promise<void> {
    this.#loop.close();
    this.#stopTasks();
    this.#draining.abort();
    await this.#lease.leave(drainMs);
    // Users can stop a turn and decide until it is handed over.
    for (const stop of this.#unsubscribe) stop();
    this.#context.logRetention.close();
    // Don't wait longer: with the database down, closing never finishes, and the turns are already handed over.
    await Promise.race([
      Promise.all([this.#loop.handOver(), this.#toolSources.close(), this.#sender.close()]),
      sleep(CLOSE_TIMEOUT_MS, { unref: true }),
    ]);
  }

  #createHost(): AgentHost {
    const settings = this.#settings;
    return {
      toolSources: this.#toolSources,
      builtInTools: new Map([[LOOKUP_ATTACHMENTS, lookupAttachments]]),
      modelSlots: new FairSemaphore(settings.maxConcurrentModelCalls),
      toolSlots: new FairSemaphore(settings.maxConcurrentToolCalls),
      fetchPolicy: settings.fetchPolicy,
      fileLimits: settings.fileLimits,
      fileSlots: new FairSemaphore(PARALLEL_FILES),
      fetchSlots: new FairSemaphore(PARALLEL_FETCHES),
      showsProviderErrors: settings.showsProviderErrors,
      modelCallMemory: new ModelCallMemory(),
    };
  }

  #createContext(): EngineContext {
    const { store, log, env = systemEnv, onEvent, onSecurityEvent } = this.#options;
    const settings = this.#settings;
    const onError = this.#onError;
    const kinds = [formRequest, ...settings.features.flatMap(({ requestKinds = [] }) => requestKinds)];
    const reportSecurityEvent = createSecurityReporter([onSecurityEvent], onError);
    return {
      store,
      log,
      env,
      storeClock: this.#storeClock,
      executor: this.executor,
      requestKinds: new Map(kinds.map((kind) => [kind.kind, kind])),
      decisionWaiters: this.#decisionWaiters,
      catalogs: settings,
      shutdownGraceMs: settings.shutdownGraceMs,
      parkAfterMs: settings.parkAfterMs,
      maxAttemptsWithoutProgress: settings.maxAttemptsWithoutProgress,
      draining: this.#draining.signal,
      logRetention: new LogRetention(
        { store, log },
        { trimAfterMs: settings.trimLogAfterMs, expireAfterMs: settings.expireLogAfterMs },
      ),
      deltaBatchMs: settings.deltaBatchMs,
      lease: this.#lease,
      startNext: (agent) => this.#loop.startNext(agent),
      onError,
      reportSecurityEvent,
      onLoss: createLossReporter(reportSecurityEvent, onError),
      ...(onEvent !== undefined && { onEvent: guarded(onEvent, onError) }),
    };
  }

  /** Each task runs alone: a slow provider or endpoint must not delay turns. */
  #createTasks(): readonly PeriodicTask[] {
    const { pollIntervalMs, maintenanceIntervalMs } = this.#settings;
    const tasks: readonly (readonly [during: string, everyMs: number, run: () => Promise<void>])[] = [
      ["polling", pollIntervalMs, () => this.#poll()],
      ["sending webhooks", pollIntervalMs, () => this.#sender.poll()],
      ["maintenance", maintenanceIntervalMs, () => this.#maintain()],
      ["probing the log", PROBE_MS, () => this.#probe.probe()],
      ["comparing the reach of the log", GIVE_UP_CHECK_MS, () => this.#giveUpIfCutOff()],
      ...this.#settings.features.flatMap(({ tasks: own = [] }) =>
        own.map((task) => {
          const everyMs = task.every === "poll" ? pollIntervalMs : maintenanceIntervalMs;
          const run = () => task.run({ ...this.#context, signals: this.#options.signals });
          return [task.name, everyMs, run] as const;
        }),
      ),
    ];
    const { env } = this.#context;
    return tasks.map(
      ([during, everyMs, run]) =>
        new PeriodicTask(everyMs, env, (error) => this.#onError(error, { during }), run),
    );
  }

  async #poll(): Promise<void> {
    const context = this.#context;
    const { store, log } = context;
    if (this.#activeTurns.size > 0)
      for (const row of await store.running.stopping({ limit: BATCH })) this.#stopIfRequested(row);
    this.#loop.poll();
    // Another look takes the woken turns.
    if ((await store.queue.wakeDue({ limit: BATCH })) > 0) this.#loop.poll();
    await relayOutbox(context, { claim: (ref) => claimIfIdle(context, ref) });
    await expireForms({ store, log, signals: this.#options.signals }, this.#onError);
  }

  async #maintain(): Promise<void> {
    await this.#storeClock.sync();
    await archiveLeftovers(this.#context, this.#context.logRetention);
    await pruneTables(this.#context, this.#settings);
  }

  async #giveUpIfCutOff(): Promise<void> {
    if (!(await this.#probe.isCutOff(this.#context.store.leases, this.executor))) return;
    this.#onError(new LogError("UNAVAILABLE", { detail: "another worker reaches the log" }), {
      during: "giving up turns",
    });
    this.#stopTasks();
    await this.#lease.leave();
    this.#options.onLeaseLost?.();
  }

  #listen(): readonly (() => void)[] {
    const { log, signals } = this.#options;
    return [
      log.onOutage?.((error) => this.#onError(error, { during: "the log" })) ?? (() => undefined),
      signals.listen(TURNS_CHANNEL, (agent) => this.#loop.onQueued(agent === "" ? null : agent)),
      signals.listen(RECOVERED_CHANNEL, () => this.#loop.onQueued(null)),
      signals.listen(DECISIONS_CHANNEL, (text) => {
        const ref = decodeSessionRef(text);
        if (ref !== null) this.#decisionWaiters.wake(ref);
      }),
      signals.listen(STOPS_CHANNEL, (text) => {
        const ref = decodeSessionRef(text);
        if (ref === null || !this.#activeTurns.has(ref)) return;
        this.#context.store.running
          .get(ref)
          .then((row) => this.#stopIfRequested(row))
          .catch((error: unknown) => this.#onError(error, { during: "stopping a turn" }));
      }),
    ];
  }

  #stopIfRequested(row: RunningTurn | null): void {
    if (row !== null && row.stop !== null) this.#activeTurns.stop(row, row.stop.by);
  }

  /** Ends what starts work. Other workers may have the turns by now. */
  #end(): void {
    this.#stopTasks();
    this.#options.onLeaseLost?.();
  }

  #stopTasks(): void {
    for (const task of this.#tasks) task.stop();
  }
}

/** With DEBUG, the warning has the stack. Without it, the cause is more useful: it is the message of the provider. */
function warn(error: unknown, { during }: ErrorContext): void {
  const hasStack = process.env["DEBUG"] !== undefined && error instanceof Error;
  process.emitWarning(hasStack ? (error.stack ?? error.message) : describeError(error), { detail: during });
}

/** Restores a lost log only if no turn runs. A running turn restores the log itself. */
async function claimIfIdle(context: EngineContext, ref: SessionRef): Promise<void> {
  if ((await context.store.running.get(ref)) === null) await claimIdleSession(context, ref, context.executor);
}
