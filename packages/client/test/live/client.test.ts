/** A client as it is used, in Node, against a real gateway: sessions, messages, commands, the list. */
import { describe, expect, test } from "vitest";
import type { SessionView } from "../../src/session.ts";
import { House, isLive, isOver, until } from "./house.ts";

describe.for(["socket", "stream"] as const)("over a %s", (wire) => {
  test("a message is sent once, and its answer arrives", async () => {
    const house = await House.open();
    const client = house.client({ wires: [wire] });
    const { id } = await client.createSession({ title: "A walk" });
    const session = client.session(id);
    expect(client.session(id)).toBe(session);
    const live = await until(session, "live", isLive);
    expect(live.connection).toEqual({ phase: "live", wire, failures: 0, retryAt: null, error: null });
    expect(live.state.title).toBe("A walk");
    const sent = session.send({ text: "hello" });
    expect(session.getSnapshot().outbox).toMatchObject([{ id: sent.id, text: "hello", status: "sending" }]);
    await sent.done;
    const { state, outbox } = await until(session, "answered", isOver("hello"));
    expect(outbox).toEqual([]);
    expect(state).toEqual(await house.stage.state({ tenant: house.stage.actor.tenant, session: id }));
    expect(state.turns.last()?.message?.id).toBe(sent.id);
  });

  test("what waits for a person is decided, and a turn is stopped", async () => {
    const house = await House.open();
    const client = house.client({ wires: [wire] });
    const session = client.session((await house.stage.session()).session);
    session.send({ text: "book" });
    const asked = await until(session, "asked", (view) => pendingIn(view) !== null);
    await session.decide(pendingIn(asked) ?? "", { decision: "approve" });
    await until(session, "booked", isOver("book"));
    session.send({ text: "slow" });
    await until(session, "running", (view) => view.state.turns.last()?.message?.text === "slow");
    await session.stop();
    await until(session, "stopped", isOver("slow"));
    expect(session.getSnapshot().state.turns.last()?.status).toBe("user_stopped");
    await expect(session.decide("nothing", { decision: "reject" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});

function pendingIn(view: SessionView): string | null {
  const items = view.state.turns.last()?.items.toArray() ?? [];
  for (const item of items) if (item?.kind === "approval" && item.status === "pending") return item.key;
  return null;
}
