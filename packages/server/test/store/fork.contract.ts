/** The store contract of forking a share. */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { foldAll, restore, SCHEMA_VERSION, snapshot } from "@turnstream/protocol";
import { blobUrl } from "@turnstream/protocol/writer";
import { expect, test } from "vitest";

import { forkShare } from "../../src/store/fork/fork-share.ts";
import { batchOf } from "./archive-batch.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { suite } from "./suite.ts";

export function forkContract(name: string, makeStore: MakeStore): void {
  suite(name, "forks of shares", makeStore, (store) => {
    test("a fork is an independent session with the history up to the share", async () => {
      const { actor, ref } = await newSession(store());
      const writer = new LogWriter().session().begin("one").text(["first"], { final: true }).end();
      const whole = { blob: "b", size: 5, media_type: "text/plain" };
      const files = [{ url: blobUrl("picture") }];
      writer.add({ type: "message.add", message: "m", text: "who", whole, files });
      writer.add({ type: "session.update", title: "Markets" });
      writer.begin("two").think(["hm"]);
      const shared = writer.events.length;
      await store().archive.write(ref, batchOf(writer.events));
      await store().blobs.put(ref, { id: "b", mediaType: "text/plain", body: Buffer.from("whole") });
      await store().blobs.put(ref, { id: "picture", mediaType: "image/png", body: Buffer.from("p") });
      await store().blobs.put(ref, { id: "later", mediaType: "text/plain", body: Buffer.from("secret") });
      await store().sessions.rename(actor, ref.session, "A secret title");
      const share = await store().shares.create(actor, ref.session);
      writer.text(["secret"], { final: true }).end();
      await store().archive.write(ref, batchOf(writer.events, share.upTo));

      const reader = { tenant: actor.tenant, user: "reader" };
      const id = unique("session");
      const fork = await forkShare(store(), reader, share.id, { id, firstEpoch: 300 });
      expect(fork).toMatchObject({ id, user: "reader", title: "Markets", forkedFromShare: true });
      const mine = { tenant: actor.tenant, session: id };
      const events = await store().archive.events(mine, { after: 0, limit: 1000 });
      expect(events[0]).toMatchObject({
        type: "session.start",
        session: id,
        number: fork.number,
        id: "300-1",
      });
      expect(JSON.stringify(events)).not.toContain("secret");
      expect(JSON.stringify(events)).not.toContain("ses_market");
      expect(Number(fork.archived.split("-")[1])).toBeGreaterThan(shared);
      const window = await store().archive.window(mine, 10);
      expect(window).toMatchObject({ archived: fork.archived, v: SCHEMA_VERSION, earlier: 0 });
      expect(window.turns.map((turn) => turn.status)).toEqual(["end_turn", "user_stopped"]);
      const { header } = window;
      if (header === null) throw new Error("the fork has no header");
      const restored = restore({ ...header, turns: window.turns, v: SCHEMA_VERSION });
      expect(snapshot(restored)).toEqual(snapshot(foldAll(events)));
      expect((await store().blobs.get(mine, "b"))?.mediaType).toBe("text/plain");
      expect((await store().blobs.get(mine, "picture"))?.mediaType).toBe("image/png");
      expect(await store().blobs.get(mine, "later")).toBeNull();
      expect(await store().epochs.next(mine, { seen: 0 })).toMatchObject({
        epoch: 301,
      });
    });

    test("a refused fork leaves nothing", async () => {
      const { actor, ref } = await newSession(store());
      const share = await store().shares.create(actor, ref.session);
      const id = unique("session");
      const foreign = { tenant: await newTenant(store()), user: "x" };
      const attempt = () => forkShare(store(), actor, share.id, { id });
      await expect(forkShare(store(), foreign, share.id, { id })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      await expect(forkShare(store(), actor, share.id, { id: ref.session })).rejects.toMatchObject({
        code: "EXISTS",
      });
      await store().shares.revoke(actor, share.id);
      await expect(attempt()).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await store().sessions.find({ tenant: actor.tenant, session: id })).toBeNull();
    });
  });
}
