/** The store contract of arguments and results: changing them does not change the store. */
import { expect, test } from "vitest";

import { batchOf, chat } from "./archive-batch.ts";
import { type MakeStore, newSession } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { suite } from "./suite.ts";
import { startTurn } from "./start-turn.ts";

/** Changes everything that can be changed, on every level. */
function spoil(value: unknown): void {
  if (value instanceof Uint8Array) value.fill(0xff);
  else if (value instanceof Set) value.add("spoilt");
  else if (typeof value === "object" && value !== null) {
    for (const part of Object.values(value)) spoil(part);
    if (Array.isArray(value)) value.push("spoilt");
    else for (const name of Object.keys(value)) (value as Record<string, unknown>)[name] = "spoilt";
  }
}

export function aliasingContract(name: string, makeStore: MakeStore): void {
  suite(name, "arguments and results", makeStore, (store) => {
    test("changing an argument or a result does not change the store", async () => {
      const { actor, ref } = await newSession(store());
      const { tenant } = ref;
      await store().archive.write(ref, batchOf(chat(2)));
      const share = await store().shares.create(actor, ref.session);
      const scopes = ["read"];
      const { key, secret } = await store().keys.create(tenant, { name: "k", scopes });
      const request = { shown: { deep: ["a"] } };
      const body = { answer: { deep: ["a"] } };
      const asked = anInteraction("approval", { request });
      await store().interactions.request(ref, asked);
      await store().interactions.change(ref, { id: asked.id, to: "approved", by: "an", body });
      const bytes = new Uint8Array([1, 2, 3]);
      await store().blobs.put(ref, { id: "b", mediaType: "t", body: bytes });
      const text = ["piece"];
      const file = { id: "a", name: "n", url: "u", mediaType: "t", size: 1, isCut: false, turn: "t", text };
      await store().attachments.add(ref, file);
      await store().uploads.begin(ref, { id: "u", name: "n", mediaType: "t", by: null });
      await store().uploads.add(ref, "u", { attempt: 1, bytes });
      await store().uploads.complete(ref, "u", 1);
      const files = [{ url: "https://example.com/a" }];
      const options = { agent: ["a"] };
      await store().queuedMessages.add(ref, { id: "m0", text: "t", files, options });
      spoil((await startTurn(store(), ref))?.row);
      spoil(await store().running.requestStop(ref, { by: "an" }));
      await store().queuedMessages.add(ref, { id: "m", text: "t", files, options });
      const value = { done: ["a"] };
      await store().journal.write(ref, { turn: "t", key: "k", value, epoch: 1e14, isRetained: true });
      const subject = { session: ref.session };
      const detail = { counts: [1] };
      spoil(await store().audit.add(tenant, { actor: null, action: "memory.edit", subject, detail }));
      await store().usage.add(tenant, {
        key: "t",
        day: "2026-01-01",
        turns: 1,
        calls: 1,
        input_tokens: 1,
        output_tokens: 1,
        total_tokens: 2,
      });
      const draft = { type: "session.update", title: "t" } as const;
      await store().outbox.add(ref, { key: "k", draft });
      await store().keys.verify(secret);
      await expect.poll(async () => (await store().keys.list(tenant))[0]?.lastUsedAt).not.toBeNull();

      const reads = [
        () => store().tenants.get(tenant),
        () => store().sessions.find(ref),
        () => store().sessions.list(actor, { limit: 5 }),
        () => store().archive.window(ref, 5),
        () => store().archive.events(ref, { after: 0, limit: 100 }),
        () => store().turns.list(ref, { limit: 5 }),
        () => store().turns.get(ref, "t1"),
        () => store().shares.find(share.id),
        () => store().shares.list(actor, ref.session),
        () => store().shares.listOwn(actor, { limit: 5 }),
        () => store().keys.list(tenant),
        () => store().keys.verify(secret),
        () => store().keys.live([key.id]),
        () => store().interactions.get(ref, asked.id),
        () => store().interactions.list(ref),
        () => store().interactions.changes(ref, asked.id),
        () => store().blobs.get(ref, "b"),
        () => store().attachments.list(ref, { limit: 5 }),
        () => store().attachments.pieces(ref, "a", { from: 0, limit: 5 }),
        () => store().uploads.get(ref, "u"),
        () => store().uploads.chunk(ref, "u", 0),
        () => store().queuedMessages.list(ref),
        () => store().running.get(ref),
        () => store().journal.read(ref, "t"),
        () => store().journal.retained(ref, ["t"]),
        () => store().audit.list(tenant, { after: 0, limit: 5 }),
        () => store().usage.list(tenant, "2026-01-01", "2026-01-02"),
        () => store().outbox.undelivered(ref, 5),
      ];
      const before = structuredClone(await Promise.all(reads.map((read) => read())));
      for (const given of [scopes, request, body, bytes, text, file, files, options, value, subject, detail])
        spoil(given);
      for (const read of reads) spoil(await read());
      for (const [n, read] of reads.entries()) expect(await read(), read.toString()).toEqual(before[n]);
      expect(JSON.stringify(before)).not.toContain("spoilt");
    });

    test("additional fields of an argument are not stored", async () => {
      const { ref } = await newSession(store());
      const wide = { ...ref, secret: "canary" };
      const { interaction } = await store().interactions.request(wide, anInteraction("form"));
      expect(interaction).not.toHaveProperty("secret");
    });
  });
}
