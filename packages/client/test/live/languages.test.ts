/** Tests that texts of the server are in the language of the user, and that a lost worker is shown, over both channels. */
import { describe, expect, test } from "vitest";
import { listBlocks } from "@turnstream/protocol";
import { BUILT_IN_STRINGS } from "../../../server/src/strings/catalogs.ts";
import type { Session, SessionView } from "../../src/session/session.ts";
import { LiveGateway, isLive, isOver, until } from "./live-gateway.ts";

const LOCALES = ["en", "vi", "zh-CN", "zh-TW"] as const;

const isRunning = ({ state }: SessionView): boolean => {
  const last = state.turns.last();
  return last?.status === "running" && listBlocks(last).some(({ kind }) => kind === "text");
};

async function stopSlowTurn(session: Session, locale?: string) {
  const before = session.getSnapshot().state.turns.length;
  session.send({ text: "slow", ...(locale === undefined ? {} : { locale }) });
  await until(session, "running", (view) => view.state.turns.length > before && isRunning(view));
  await session.stop();
  const { state } = await until(session, "stopped", isOver("slow"));
  const turn = state.turns.last();
  const notice = turn === undefined ? undefined : listBlocks(turn).at(-1);
  if (turn === undefined || notice?.kind !== "notice") throw new Error("the turn has no notice");
  return { locale: turn.locale, text: notice.text, template: notice.template };
}

describe.for(["websocket", "sse"] as const)("over a %s", (channel) => {
  test.for(LOCALES)("U11 a user stops a turn in %s", async (locale) => {
    const gateway = await LiveGateway.open();
    const client = gateway.client({ channels: [channel] });
    const session = client.session((await client.createSession()).id);
    const stopped = { text: BUILT_IN_STRINGS[locale].stopped, template: { code: "STOPPED" } };
    expect(await stopSlowTurn(session, locale)).toEqual({ locale, ...stopped });
    // A message without a language continues in that of the session.
    expect(await stopSlowTurn(session)).toEqual({ locale, ...stopped });
  });

  test("W22 a turn whose worker was lost is shown as resuming until the next event", async () => {
    const gateway = await LiveGateway.open();
    const client = gateway.client({ channels: [channel] });
    const ref = await gateway.stage.session();
    const session = client.session(ref.session);
    session.send({ text: "slow" });
    await until(session, "running", isRunning);
    const { store } = gateway.stage.backend;
    expect(session.getSnapshot().connection.stalled).toBeNull();
    await store.leases.renew(gateway.worker.executor, 0);
    await until(session, "resuming", ({ connection }) => connection.stalled === "resuming");
    // A client that connects now learns it too.
    const late = gateway.client({ channels: [channel] }).session(ref.session);
    await until(late, "resuming", ({ connection }) => connection.stalled === "resuming");
    await session.stop();
    for (const one of [session, late]) {
      const { connection } = await until(one, "stopped", (view) => isOver("slow")(view) && isLive(view));
      expect(connection.stalled).toBeNull();
    }
  });
});

test("W22 a turn whose worker has left, with no other one, is shown as resuming", async () => {
  const gateway = await LiveGateway.open();
  const client = gateway.client();
  const ref = await gateway.stage.session();
  const session = client.session(ref.session);
  session.send({ text: "slow" });
  await until(session, "running", isRunning);
  expect(session.getSnapshot().connection.stalled).toBeNull();
  await gateway.worker.shutdown({ drainMs: 0 });
  await until(session, "resuming", ({ connection }) => connection.stalled === "resuming");
});

test("U11 a tag that is not a language is refused", async () => {
  const gateway = await LiveGateway.open();
  const client = gateway.client();
  const session = client.session((await client.createSession()).id);
  const { done } = session.send({ text: "hello", locale: "vi_VN" });
  await expect(done).rejects.toMatchObject({ code: "BAD_REQUEST" });
});
