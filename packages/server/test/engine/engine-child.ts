/**
 * A child process with a DBOS engine and its executor, for tests that kill or freeze it. Its jobs wait until the parent
 * ends them, and it reports everything that happens to the parent.
 */
import { createDbosEngine } from "../../src/engine/dbos.ts";
import { isEngineError } from "../../src/engine/errors.ts";
import { createExecutor, type Executor } from "../../src/engine/executor.ts";
import type { JobHandler } from "../../src/engine/engine.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { createPostgresStore } from "../../src/store/postgres/store.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";

export interface EngineSettings {
  readonly databaseUrl: string;
  /** The name of the executor. */
  readonly name: string;
  readonly ttlMs: number;
  /** Whether the engine asks the executor if its lease is valid. */
  readonly isGuarded: boolean;
}

export type EngineRequest =
  | { readonly start: readonly string[] }
  /** Lets all jobs return. */
  | { readonly end: true }
  | { readonly measureHeap: true }
  | { readonly signal: string };

export type EngineMessage =
  | { readonly ready: true }
  | { readonly job: string; readonly attempt: number; readonly at: number }
  | { readonly aborted: string }
  | { readonly returned: string }
  | { readonly started: number; readonly refused: number; readonly ms: number }
  | { readonly lost: true }
  | { readonly failed: string }
  | { readonly heapUsed: number }
  | { readonly signal: string };

const { databaseUrl, name, ttlMs, isGuarded } = readSettings() as EngineSettings;
const parent = connectParent<EngineRequest, EngineMessage>();
const ends = new Set<() => void>();
/** Set once the executor exists. The engine asks for it earlier. */
const created: { executor?: Executor } = {};

const work: JobHandler = async ({ id, attempt, signal }) => {
  parent.send({ job: id, attempt, at: Date.now() });
  await new Promise<void>((resolve) => {
    ends.add(resolve);
    signal.addEventListener("abort", () => resolve());
  });
  parent.send(signal.aborted ? { aborted: id } : { returned: id });
};

const engine = await createDbosEngine({
  databaseUrl,
  executor: name,
  work,
  ...(isGuarded ? { isFresh: () => created.executor?.isFresh() ?? false } : {}),
});
const store = createPostgresStore(openDatabase({ url: databaseUrl, max: 2, name }));
const listeners = new Set<(text: string) => void>();

process.on("SIGTERM", () => void shutDown());
parent.onMessage((request) => void handle(request));

created.executor = await createExecutor({
  engine,
  leases: store.leases,
  signals: {
    send: (_channel, text) => parent.send({ signal: text }),
    listen(_channel, listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: async () => listeners.clear(),
  },
  ttlMs,
  // The clock is frozen, so the executor learns of a takeover from the store alone, and late.
  ...(isGuarded ? {} : { env: { monotonic: () => 0, random: () => 0.5 } }),
  onLost: () => parent.send({ lost: true }),
  onError: (error) => parent.send({ failed: String(error) }),
});
parent.send({ ready: true });

async function handle(request: EngineRequest): Promise<void> {
  if ("signal" in request) for (const listener of listeners) listener(request.signal);
  else if ("end" in request) for (const end of ends) end();
  else if ("measureHeap" in request) measureHeap();
  else await start(request.start);
}

async function start(ids: readonly string[]): Promise<void> {
  const startedAt = performance.now();
  let refused = 0;
  await Promise.all(
    ids.map(async (id) => {
      try {
        await engine.start(id);
      } catch (error) {
        if (!isEngineError(error, "LEFT")) throw error;
        refused++;
      }
    }),
  );
  parent.send({ started: ids.length - refused, refused, ms: performance.now() - startedAt });
}

function measureHeap(): void {
  globalThis.gc?.();
  parent.send({ heapUsed: process.memoryUsage().heapUsed });
}

async function shutDown(): Promise<void> {
  await created.executor?.leave();
  await engine.close();
  await store.close();
  process.exit();
}
