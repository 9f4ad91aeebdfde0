/** Tests a client in Node against a real gateway: sessions, messages, commands and the list of sessions. */
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { turnstream } from "../../../server/src/turnstream/turnstream.ts";
import { createClient } from "../../src/client.ts";
import type { SessionView } from "../../src/session/session.ts";
import { agent as testAgent, LiveGateway, isLive, isOver, until } from "./live-gateway.ts";
import { shutSockets } from "./odd-sockets.ts";

describe.for(["websocket", "sse"] as const)("over a %s", (channel) => {
  test("U09 a message is sent once, and its answer arrives", async () => {
    const gateway = await LiveGateway.open();
    const client = gateway.client({ channels: [channel] });
    const { id } = await client.createSession({ title: "A walk" });
    const session = client.session(id);
    expect(client.session(id)).toBe(session);
    const live = await until(session, "live", isLive);
    const rest = { failures: 0, retryAt: null, error: null, stalled: null };
    expect(live.connection).toEqual({ phase: "live", channel, ...rest });
    expect(live.state.title).toBe("A walk");
    const sent = session.send({ text: "hello" });
    expect(session.getSnapshot().outbox).toMatchObject([{ id: sent.id, text: "hello", status: "sending" }]);
    await sent.done;
    const { state, outbox } = await until(session, "answered", isOver("hello"));
    expect(outbox).toEqual([]);
    expect(state).toEqual(await gateway.stage.state({ tenant: gateway.stage.actor.tenant, session: id }));
    expect(state.turns.last()?.message?.id).toBe(sent.id);
  });

  test("an approval is decided, and a turn is stopped", async () => {
    const gateway = await LiveGateway.open();
    const client = gateway.client({ channels: [channel] });
    const session = client.session((await gateway.stage.session()).session);
    session.send({ text: "book" });
    const asked = await until(session, "asked", (view) => pendingIn(view) !== null);
    await session.decideApproval(pendingIn(asked) ?? "", { decision: "approve" });
    await until(session, "booked", isOver("book"));
    session.send({ text: "slow" });
    await until(session, "running", (view) => view.state.turns.last()?.message?.text === "slow");
    await session.stop();
    await until(session, "stopped", isOver("slow"));
    expect(session.getSnapshot().state.turns.last()?.status).toBe("user_stopped");
    await expect(session.decideApproval("nothing", { decision: "reject" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});

test("on a host without sockets, the client uses event streams and tries no socket", async () => {
  const dataFolder = await createDataFolder();
  const app = turnstream({ agents: [testAgent], user: () => "an", print: false, dataFolder });
  onTestFinished(() => app.close());
  const request: typeof fetch = (url, init) => app.handle(new Request(url, init));
  const signedIn = await request("http://host.test/api/v1/sign-in", { method: "POST" });
  const { token } = (await signedIn.json()) as { token: string };
  const sockets = { opened: 0 };
  const env = { fetch: request, WebSocket: shutSockets(sockets) };
  const client = createClient({ url: "http://host.test", auth: () => ({ token }), env });
  onTestFinished(() => client.close());
  const session = client.session((await client.createSession()).id);
  session.send({ text: "hello" });
  const { connection } = await until(session, "answered", isOver("hello"));
  expect([connection.channel, sockets.opened]).toEqual(["sse", 0]);
});

test("a session that is created twice with the same id is one session", async () => {
  const gateway = await LiveGateway.open();
  const client = gateway.client();
  const id = "chosen-by-the-page";
  const first = await client.createSession({ id, title: "A walk" });
  expect(first).toMatchObject({ id, title: "A walk" });
  expect(await client.createSession({ id })).toEqual(first);
  expect((await client.listSessions()).sessions).toHaveLength(1);
});

test("sessions are listed page by page, renamed and deleted", async () => {
  const gateway = await LiveGateway.open();
  const client = gateway.client();
  const made = [await client.createSession(), await client.createSession({ title: "two" })];
  const first = await client.listSessions({ limit: 1 });
  const second = await client.listSessions({ limit: 1, before: first.nextBefore ?? "" });
  expect([...first.sessions, ...second.sessions].map(({ id }) => id).toSorted()).toEqual(
    made.map(({ id }) => id).toSorted(),
  );
  const id = made[0]?.id ?? "";
  const session = client.session(id);
  session.subscribe(() => {});
  await until(session, "live", isLive);
  expect(await client.renameSession(id, "A walk")).toMatchObject({ id, title: "A walk" });
  await until(session, "renamed", ({ state }) => state.title === "A walk");
  await client.deleteSession(id);
  await expect(client.renameSession(id, "too late")).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await client.listSessions()).sessions.map((one) => one.title)).toEqual(["two"]);
});

test("W23 S12 agents are listed, and a message chooses its agent and its display mode", async () => {
  const gateway = await LiveGateway.open();
  for (const channels of [["websocket"], ["sse"]] as const) {
    const client = gateway.client({ channels });
    const [agent, ...others] = await client.listAgents();
    expect([agent, others]).toEqual([
      { id: expect.any(String), label: "", description: "", inputs: ["text", "file"] },
      [],
    ]);
    const { id } = await client.createSession();
    const session = client.session(id);
    session.subscribe(() => {});
    await until(session, "live", isLive);
    session.send({ text: "hello", agentId: agent?.id ?? "", mode: "chat" });
    const { state } = await until(session, "answered", isOver("hello"));
    expect(state.turns.last()?.mode).toBe("chat");
    const refused = session.send({ text: "hello", agentId: "unknown" });
    await expect(refused.done).rejects.toMatchObject({ code: "BAD_REQUEST", canRetry: false });
    expect(session.getSnapshot().outbox).toMatchObject([{ status: "failed" }]);
  }
});

test("a session is also found by its number", async () => {
  const gateway = await LiveGateway.open();
  const client = gateway.client();
  const { number } = await client.createSession({ title: "by number" });
  const session = client.session(String(number));
  session.subscribe(() => {});
  await until(session, "live", isLive);
  session.send({ text: "hello" });
  const { state } = await until(session, "answered", isOver("hello"));
  expect([state.number, state.title]).toEqual([number, "by number"]);
});

test("without a subscriber, commands, uploads and queued messages are sent by HTTP", async () => {
  const gateway = await LiveGateway.open();
  const client = gateway.client();
  const { id } = await client.createSession();
  const session = client.session(id);
  const views: number[] = [];
  const file = await session.uploadFile(new Blob(["two beds"], { type: "text/plain" }), {
    name: "beds.txt",
    onProgress: (sent, all) => views.push(sent, all),
  });
  expect(file).toMatchObject({ name: "beds.txt", media_type: "text/plain", size: 8 });
  expect(views).toEqual([8, 8]);
  await session.send({ text: "slow" }).done;
  const waits = session.send({ text: "never mind" });
  await waits.done;
  await session.cancelMessage(waits.id);
  await session.stop();
  await session.refresh();
  await gateway.stage.ended({ tenant: gateway.stage.actor.tenant, session: id }, () => true);
  await session.refresh();
  const { state } = session.getSnapshot();
  expect(state.turns.toArray().map(({ status, message }) => [status, message?.text])).toEqual([
    ["user_stopped", "slow"],
  ]);
  await session.retry(state.turns.last()?.id ?? "");
  // A worker starts the turn after the command was accepted.
  const countTurns = async () => (await session.refresh(), session.getSnapshot().state.turns.length);
  await expect.poll(countTurns).toBe(2);
  await expect(session.loadFormDraft("none")).rejects.toMatchObject({ code: "NOT_FOUND" });
  await session.stop();
});

function pendingIn(view: SessionView): string | null {
  const items = view.state.turns.last()?.items.toArray() ?? [];
  for (const item of items) if (item?.kind === "approval" && item.status === "pending") return item.key;
  return null;
}
