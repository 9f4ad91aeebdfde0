/**
 * The contract of a response without `stream` to a message behind a turn that waits for the user: it comes at once, and
 * contains that the message is queued and which requests it waits for.
 */
import { postMessageReply } from "../../../../protocol/src/commands/http.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { type HarnessBackend, TurnHarness } from "../../engine/turn-harness.ts";
import { openServer, type TestServer } from "../test-server.ts";

const broker = defineAgent({
  name: "broker",
  title: false,
  tools: { buy: tool({ approval: true, run: () => "bought" }) },
  model: scriptedModel(({ text, step }) => {
    if (step > 0) return [script.text("Done.")];
    if (text === "buy") return [script.text("Wait."), script.toolCall("buy")];
    if (text === "buy later") return [script.delay(500), script.toolCall("buy")];
    return [script.text(`You wrote ${text}.`)];
  }),
});

export function queuedResponseContract(name: string, makeBackend: () => Promise<HarnessBackend>): void {
  describe(`a message behind a turn that waits for the user, on ${name}`, () => {
    let harness: TurnHarness;
    let server: TestServer;
    beforeEach(async () => {
      harness = await TurnHarness.open(await makeBackend());
      await harness.worker([broker]);
      server = await openServer(harness.backend, { actor: harness.actor });
    });
    afterEach(async () => {
      await server.close();
      await harness.close();
    });

    const post = ({ session }: SessionRef, text: string, client_message_id = text) =>
      server.request("POST", `/sessions/${session}/messages`, { body: { text, client_message_id } });
    const decide = ({ session }: SessionRef, key: string) =>
      server.request("POST", `/sessions/${session}/interactions/${key}/decide`, {
        body: { decision: "approve" },
      });

    test("S01 gets 202 with the requests of that turn, and its answer after the decision", async () => {
      const ref = await harness.session();
      const asked = await post(ref, "buy");
      expect(asked).toMatchObject({ status: 200, json: { status: "requires_interaction" } });
      const { response_id, chat_id, interactions } = asked.json;
      const queued = await post(ref, "hello");
      expect(queued.status).toBe(202);
      expect(postMessageReply.safeParse(queued.json).error).toBeUndefined();
      const reply = { response_id, chat_id, status: "queued", final_text: "", interactions };
      expect(queued.json).toMatchObject(reply);
      // A repeat adds nothing. The messages stay queued, in their order.
      expect(await post(ref, "hello")).toMatchObject({ status: 202, json: reply });
      expect(await post(ref, "you")).toMatchObject({ status: 202, json: reply });
      const waiting = await harness.backend.store.queuedMessages.list(ref);
      expect(waiting.map(({ text }) => text)).toEqual(["hello", "you"]);
      expect((await decide(ref, interactions[0].approval_key)).status).toBe(200);
      for (const text of ["hello", "you"])
        expect(await post(ref, text)).toMatchObject({
          status: 200,
          json: { status: "completed", final_text: `You wrote ${text}.` },
        });
      expect(await post(ref, "buy")).toMatchObject({ json: { status: "completed", response_id } });
    });

    test("S01 gets 202 when the turn starts to wait after the message was sent", async () => {
      const ref = await harness.session();
      const asked = post(ref, "buy later");
      await harness.until(ref, 60_000, ({ turns }) => turns.last() ?? null);
      const queued = await post(ref, "buy", "again");
      expect(queued).toMatchObject({ status: 202, json: { status: "queued" } });
      const { response_id, interactions } = (await asked).json;
      expect(queued.json).toMatchObject({ response_id, interactions });
      await decide(ref, interactions[0].approval_key);
      // The next turn before the message waits too.
      const behind = await post(ref, "hello");
      expect(behind).toMatchObject({ status: 202, json: { status: "queued" } });
      expect(behind.json.response_id).not.toBe(response_id);
      expect((await post(ref, "buy", "again")).json).toMatchObject({
        status: "requires_interaction",
        response_id: behind.json.response_id,
        interactions: behind.json.interactions,
      });
    });
  });
}
