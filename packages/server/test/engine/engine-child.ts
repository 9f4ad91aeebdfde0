/**
 * A program of its own, to be killed and frozen: an engine on DBOS with its executor, whose jobs wait until they are told
 * to end. It tells its parent what happens. Never starts a job that it wasn't told to.
 */
import { createDbosEngine } from "../../src/engine/dbos.ts";
import { isEngineError } from "../../src/engine/errors.ts";
import { createExecutor, type Executor } from "../../src/engine/executor.ts";
import type { JobHandler } from "../../src/engine/engine.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { createPostgresStore } from "../../src/store/postgres/store.ts";

export type Order =
  | { readonly start: readonly string[] }
  /** All jobs return. */
  | { readonly end: true }
  | { readonly weigh: true }
  | { readonly signal: string };

export type ChildReport =
  | { readonly ready: true }
  | { readonly job: string; readonly attempt: number; readonly at: number }
  | { readonly aborted: string }
  | { readonly returned: string }
  | { readonly started: number; readonly refused: number; readonly ms: number }
  | { readonly lost: true }
  | { readonly failed: string }
  | { readonly weight: number }
  | { readonly signal: string };

const [databaseUrl = "", name = "", ttlMs = "", guard = ""] = process.argv.slice(2);
const isGuarded = guard === "guarded";
const ends = new Set<() => void>();
const running: { executor?: Executor } = {};

function report(message: ChildReport): void {
  if (process.connected) process.send?.(message);
}

const work: JobHandler = async ({ id, attempt, signal }) => {
  report({ job: id, attempt, at: Date.now() });
  await new Promise<void>((resolve) => {
    ends.add(resolve);
    signal.addEventListener("abort", () => resolve());
  });
  report(signal.aborted ? { aborted: id } : { returned: id });
};

const engine = await createDbosEngine({
  databaseUrl,
  executor: name,
  work,
  ...(isGuarded ? { isFresh: () => running.executor?.isFresh() ?? false } : {}),
});
const store = createPostgresStore(openDatabase({ url: databaseUrl, max: 2, name }));
const listeners = new Set<(text: string) => void>();

process.on("disconnect", () => process.exit());
process.on("SIGTERM", () => void leave());
process.on("message", (order: Order) => void obey(order));

running.executor = await createExecutor({
  engine,
  leases: store.leases,
  signals: {
    send: (_channel, text) => report({ signal: text }),
    listen(_channel, listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: async () => listeners.clear(),
  },
  ttlMs: Number(ttlMs),
  // A clock that stands still: it learns from the store alone, and late, that it was taken over.
  ...(isGuarded ? {} : { env: { monotonic: () => 0, random: () => 0.5 } }),
  onLost: () => report({ lost: true }),
  onError: (error) => report({ failed: String(error) }),
});
report({ ready: true });

async function obey(order: Order): Promise<void> {
  if ("signal" in order) for (const listener of listeners) listener(order.signal);
  else if ("end" in order) for (const end of ends) end();
  else if ("weigh" in order) weigh();
  else await start(order.start);
}

async function start(ids: readonly string[]): Promise<void> {
  const started = performance.now();
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
  report({ started: ids.length - refused, refused, ms: performance.now() - started });
}

function weigh(): void {
  globalThis.gc?.();
  report({ weight: process.memoryUsage().heapUsed });
}

async function leave(): Promise<void> {
  await running.executor?.leave();
  await engine.close();
  await store.close();
  process.exit();
}
