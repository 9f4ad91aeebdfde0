/**
 * Tests that invalid worker options are refused before the worker starts, with the option, its value and what is
 * expected.
 */
import { describe, expect, it, test, vi } from "vitest";
import { createMemoryLog } from "../../src/log/memory.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { fileLimits } from "../../src/agent/define/file-limits.ts";
import { resolveOptions, type WorkerOptions } from "../../src/worker/options.ts";
import { createWorker } from "../../src/worker/worker.ts";
import { webhookOptions } from "../../src/session/webhooks/webhook-options.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";

const MAX_TIMER_MS = 2 ** 31 - 1;

const base = (): WorkerOptions => ({
  store: createMemoryStore(),
  log: createMemoryLog(),
  signals: createMemorySignals(),
  agents: [defineAgent({ name: "a", model: scriptedModel([]) })],
});

/** Options as a JavaScript program without types could pass them. */
const resolve = (options: object) => () => resolveOptions({ ...base(), ...options });

describe("worker options", () => {
  test.each<[message: string, options: object]>([
    ["`ttlMs` is not an option of the worker (did you mean `leaseTtlMs`?)", { ttlMs: 1_000 }],
    ["`polIntervalMs` is not an option of the worker (did you mean `pollIntervalMs`?)", { polIntervalMs: 1 }],
    ["`colour` is not an option of the worker (there are store, log,", { colour: {} }],
    ["`leaseTtlMs` of the worker must be an integer from 1 to 2147483647, got 0", { leaseTtlMs: 0 }],
    [`got ${MAX_TIMER_MS + 1}`, { leaseTtlMs: MAX_TIMER_MS + 1 }],
    ["`pollIntervalMs` of the worker must be an integer", { pollIntervalMs: MAX_TIMER_MS }],
    ["`maintenanceIntervalMs` of the worker must be an integer", { maintenanceIntervalMs: 0.5 }],
    ["`maxConcurrentTurns` of the worker must be an integer", { maxConcurrentTurns: 0 }],
    ["`parkAfterMs` of the worker must be an integer", { parkAfterMs: 0 }],
    ["`shutdownGraceMs` of the worker must be an integer", { shutdownGraceMs: -1 }],
    ["`drainMs` of the worker must be an integer", { drainMs: -1 }],
    ["`shutdownGraceMs` of the worker must be an integer", { shutdownGraceMs: MAX_TIMER_MS }],
    [
      '`sessionRetentionMs` of the worker must be an integer from 0 to 3153600000000, got "1h"',
      { sessionRetentionMs: "1h" },
    ],
    ["`sessionRetentionMs` of the worker must be an integer", { sessionRetentionMs: Infinity }],
    ["`auditRetentionMs` of the worker must be an integer from 2419200000", { auditRetentionMs: 0 }],
    ["`maxConcurrentToolCalls` of the worker must be an integer", { maxConcurrentToolCalls: 0 }],
    ["`maxAttemptsWithoutProgress` of the worker must be an integer", { maxAttemptsWithoutProgress: NaN }],
    [
      "`maxFile` is not an option of `fileLimits` of the worker (did you mean `maxFiles`?)",
      { fileLimits: { maxFile: 1 } },
    ],
    [
      "`fileTimeoutMs` of `fileLimits` of the worker must be an integer",
      { fileLimits: { fileTimeoutMs: 2 ** 31 } },
    ],
    ["`timeoutMs` of `fetchPolicy` of the worker must be an integer", { fetchPolicy: { timeoutMs: 0 } }],
    [
      "`allowed` is not an option of `fetchPolicy` of the worker (did you mean `allow`?)",
      { fetchPolicy: { allowed: [] } },
    ],
    [
      "`stoped` is not an option of `vi` of `strings` of the worker (did you mean `stopped`?)",
      { strings: { vi: { stoped: "" } } },
    ],
    [
      'a key of `strings` of the worker must be a canonical language tag such as "zh-TW", got "zh_TW"',
      { strings: { zh_TW: {} } },
    ],
    ["`defaultLocale` of the worker must be a canonical language tag", { defaultLocale: "zh_TW" }],
    ["`strings` of the worker must be an object, got null", { strings: null }],
    ["`store` of the worker is missing", { store: undefined }],
    [
      "`log` of the worker must be what `await createRedisLog({ url })` returns, got a promise",
      { log: Promise.resolve() },
    ],
    ["`maxAttempts` of `webhooks` of the worker must be an integer from 1", { webhooks: { maxAttempts: 0 } }],
    ["`onError` of the worker must be a function, got true", { onError: true }],
    ["`features` of the worker must be a list of features, got null", { features: null }],
  ])("are refused: %s", (message, options) => {
    expect(resolve(options)).toThrow(
      expect.objectContaining({ code: "BAD_OPTIONS", message: expect.stringContaining(message) }),
    );
  });

  it("have defaults", () => {
    const {
      store: _,
      log: __,
      signals: ___,
      agents: ____,
      ...settings
    } = resolve({ leaseTtlMs: undefined })();
    expect(settings).toEqual({
      features: [],
      leaseTtlMs: 15_000,
      maxConcurrentTurns: 100,
      parkAfterMs: 60_000,
      deltaBatchMs: 50,
      trimLogAfterMs: 120_000,
      expireLogAfterMs: 900_000,
      maxConcurrentModelCalls: 1_000,
      maxConcurrentToolCalls: 500,
      shutdownGraceMs: 5_000,
      drainMs: 30_000,
      maxAttemptsWithoutProgress: 50,
      pollIntervalMs: 1_000,
      maintenanceIntervalMs: 15_000,
      sessionRetentionMs: null,
      auditRetentionMs: null,
      fetchPolicy: {},
      fileLimits: fileLimits.parse({}),
      webhooks: webhookOptions.parse({}),
      strings: {},
      defaultLocale: "en",
      showsProviderErrors: false,
    });
  });

  it("can be as long as the longest timer", () => {
    const options = { leaseTtlMs: MAX_TIMER_MS, shutdownGraceMs: 0, sessionRetentionMs: 0 };
    expect(resolve(options)()).toMatchObject(options);
  });

  it("are checked before the worker calls anything", async () => {
    const options = base();
    const register = vi.spyOn(options.store.agents, "register");
    await expect(createWorker({ ...options, leaseTtlMs: -1 })).rejects.toMatchObject({ code: "BAD_OPTIONS" });
    expect(register).not.toHaveBeenCalled();
  });
});
