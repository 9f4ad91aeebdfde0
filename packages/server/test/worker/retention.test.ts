/** Tests what a worker deletes by age, in memory: closed shares, and sessions and audit entries if their retention is set. */
import { expect, it, vi } from "vitest";
import { createMemoryLog } from "../../src/log/memory.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { verifyTenantAudit } from "../../../cli/src/audit/verify-audit.ts";
import { systemEnv } from "../../src/util/env.ts";
import { TurnHarness } from "../engine/turn-harness.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

it("25 a worker with a retention erases older sessions and no others", async () => {
  let now = 0;
  const store = createMemoryStore({ ...systemEnv, now: () => systemEnv.now() + now });
  const log = createMemoryLog();
  const harness = await TurnHarness.open({ log, store, signals: createMemorySignals() });
  try {
    const agent = defineAgent({ name: "a", model: scriptedModel([[script.text("ok")]]), title: false });
    const prune = vi.spyOn(store.outbox, "prune");
    // The lease outlasts the jump of the clock and still fits a timer: at most 24.8 days.
    const tidy = { leaseTtlMs: 20 * DAY_MS, maintenanceIntervalMs: 10 };
    const keeps = await harness.worker([agent], tidy);
    const old = await harness.session();
    await harness.ask(old, "go");
    now = 11 * DAY_MS;
    const fresh = await harness.session();
    await harness.ask(fresh, "go");
    const before = prune.mock.calls.length;
    await vi.waitUntil(() => prune.mock.calls.length > before + 2, { timeout: 60_000 });
    expect(await store.sessions.find(old)).not.toBeNull();
    await keeps.shutdown();
    await harness.worker([agent], { ...tidy, sessionRetentionMs: 10 * DAY_MS });
    await vi.waitUntil(async () => (await store.sessions.find(old)) === null, { timeout: 60_000 });
    await vi.waitUntil(async () => (await log.head(old)) === null, { timeout: 60_000 });
    expect(await store.sessions.find(fresh)).not.toBeNull();
    expect(await log.head(fresh)).not.toBeNull();
  } finally {
    await harness.close();
  }
});

it("a worker with a retention of the audit drops older entries, and the audit stays intact", async () => {
  let now = 0;
  const store = createMemoryStore({ ...systemEnv, now: () => systemEnv.now() + now });
  const harness = await TurnHarness.open({ log: createMemoryLog(), store, signals: createMemorySignals() });
  try {
    const { tenant } = harness.actor;
    const add = () => store.audit.add(tenant, { actor: null, action: "memory.edit", subject: {} });
    const old = await add();
    now = 100 * DAY_MS;
    const recent = await add();
    const agent = defineAgent({ name: "a", model: scriptedModel([[script.text("ok")]]), title: false });
    await harness.worker([agent], { maintenanceIntervalMs: 10, auditRetentionMs: 30 * DAY_MS });
    const list = () => store.audit.list(tenant, { after: 0, limit: 100 });
    await vi.waitUntil(async () => (await list())[0]?.n === recent?.n, { timeout: 60_000 });
    expect(await verifyTenantAudit(store.audit, tenant)).toMatchObject({ ok: true, start: { n: old?.n } });
  } finally {
    await harness.close();
  }
});

it("H07 a worker deletes shares a day after they expired or were revoked, and no others", async () => {
  let now = 0;
  const store = createMemoryStore({ ...systemEnv, now: () => systemEnv.now() + now });
  const harness = await TurnHarness.open({ log: createMemoryLog(), store, signals: createMemorySignals() });
  try {
    const ref = await harness.session();
    const create = (id: string, expiresInMs?: number) =>
      store.shares.create(harness.actor, ref.session, {
        id,
        ...(expiresInMs === undefined ? {} : { expiresInMs }),
      });
    await create("expired", 1_000);
    await create("revoked");
    await create("open");
    await store.shares.revoke(harness.actor, "revoked");
    now = DAY_MS + 60_000;
    const agent = defineAgent({ name: "a", model: scriptedModel([[script.text("ok")]]), title: false });
    await harness.worker([agent], { leaseTtlMs: 20 * DAY_MS, maintenanceIntervalMs: 10 });
    // An id can be used again once its row is deleted.
    for (const id of ["expired", "revoked"])
      await vi.waitUntil(
        () =>
          create(id).then(
            () => true,
            () => false,
          ),
        { timeout: 60_000 },
      );
    expect(await store.shares.find("open")).not.toBeNull();
  } finally {
    await harness.close();
  }
});
