/** The contract of forms that a tool requests while it runs: shown in its open result, waited for, and decided once. */
import { afterEach, describe, expect, it } from "vitest";
import { listBlocks, type FormBlock, type FormSchema } from "@turnstream/protocol";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { hostOf } from "../../../src/agent/tool-calls/run-tool.ts";
import { awaitFormInTool } from "../../../src/agent/interactions/form-in-tool.ts";
import { declineForm, submitForm } from "../../../src/session/interactions/submit-form.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { outline, TurnHarness, type HarnessBackend } from "../../engine/turn-harness.ts";

const schema: FormSchema = {
  id: "login",
  title: "Who are you?",
  fields: [{ name: "email", label: "Email", type: "email", required: true }],
};

function agentThat(options: {
  timeoutSeconds?: number;
  timeoutMs?: number;
  idempotent?: boolean;
  times?: number;
}): Agent {
  const { timeoutSeconds = 60, timeoutMs = 60_000, idempotent = false, times = 1 } = options;
  const look = tool({
    label: "Looking",
    idempotent,
    timeoutMs,
    run: async (_, context) => {
      const { scope, call: own } = hostOf(context);
      const answers = [];
      for (let n = 0; n < times; n++)
        answers.push(await awaitFormInTool(scope, own, schema, { timeoutSeconds }));
      return answers;
    },
  });
  const model = scriptedModel([[script.toolCall("look")], [script.text("done")]]);
  return defineAgent({ name: "a", model, tools: { look }, title: false });
}

export function formInsideContract(makeBackend: () => Promise<HarnessBackend>): void {
  let harness: TurnHarness;
  const open = async (): Promise<void> => {
    harness = await TurnHarness.open(await makeBackend());
  };

  const waiting = (ref: SessionRef, nth = 0): Promise<FormBlock> =>
    harness.until(ref, 40_000, async (state) => {
      const turn = state.turns.last();
      const form = turn === undefined ? undefined : formsOf(listBlocks(turn))[nth];
      const rows = await harness.backend.store.interactions.list(ref, { pending: true });
      return form?.status === "pending" && rows.length > 0 ? form : null;
    });
  const values = { email: "an@example.org" };

  describe("form inside a turn", () => {
    afterEach(() => harness.close());

    it("is in the open result of its tool, and the turn continues with the values", async () => {
      await open();
      // The wait for the user counts neither against the tool's timeout nor against its concurrency slot.
      const stuck = defineAgent({
        name: "stuck",
        model: scriptedModel([[script.toolCall("hang")], [script.text("done")]]),
        tools: { hang: tool({ timeoutMs: 1_000, run: () => new Promise<string>(() => {}) }) },
        title: false,
      });
      const agents = [agentThat({ timeoutMs: 1_000, times: 2 }), stuck];
      await harness.worker(agents, { maxConcurrentToolCalls: 1 });
      const ref = await harness.session();
      await harness.send(ref, "go");
      const first = await waiting(ref);
      expect(first).toMatchObject({ waits: true, timeout_seconds: 60, schema });
      // A tool with the same timeout has timed out, so the form's tool would have too.
      await harness.ask(await harness.session(), "go", { agent: "stuck" });
      const { form } = first;
      await expect(submitForm(harness.backend, ref, { form, values: {} })).rejects.toMatchObject({
        code: "INVALID",
        problems: [{ field: "email", problem: "required" }],
      });
      const by = harness.actor.user;
      const many = await Promise.all([
        submitForm(harness.backend, ref, { form, values, userId: by }),
        declineForm(harness.backend, ref, { form, userId: by }),
        submitForm(harness.backend, ref, { form, values, userId: by }),
      ]);
      expect(many.filter(({ applied }) => applied)).toHaveLength(1);
      const second = await waiting(ref, 1);
      expect(second.form).not.toBe(form);
      await declineForm(harness.backend, ref, { form: second.form, userId: by, reason: "no" });
      const turn = await harness.ended(ref, () => true);
      expect(turn.status).toBe("end_turn");
      expect(outline(turn)[3]).toBe("form");
      expect(outline(turn).find((line) => line.startsWith("result"))).toContain('"declined"');
      // The turn continues by itself: no message starts another turn.
      expect((await harness.state(ref)).turns.length).toBe(1);
      expect(await harness.backend.store.queuedMessages.list(ref)).toEqual([]);
    });

    it("expires by itself", async () => {
      await open();
      await harness.worker([agentThat({ timeoutSeconds: 0 })]);
      const ref = await harness.session();
      const expired = await harness.ask(ref, "go");
      expect(formsOf(listBlocks(expired))[0]).toMatchObject({ status: "expired", by: null });
      expect(expired.status).toBe("end_turn");
    });

    it("is withdrawn by a stop", async () => {
      await open();
      await harness.worker([agentThat({})]);
      const ref = await harness.session();
      await harness.send(ref, "go");
      const { form } = await waiting(ref);
      await harness.stop(ref);
      const turn = await harness.ended(ref, () => true);
      expect(turn.status).toBe("user_stopped");
      expect(formsOf(listBlocks(turn))[0]?.status).toBe("cancelled");
      expect(await submitForm(harness.backend, ref, { form, values })).toMatchObject({
        applied: false,
        current: { status: "cancelled" },
      });
    });

    it.each([
      [true, "submitted"],
      [false, "cancelled"],
    ] as const)("survives its worker if the tool is idempotent: %s", async (idempotent, status) => {
      await open();
      const agent = agentThat({ idempotent });
      const first = await harness.worker([agent], { shutdownGraceMs: 0 });
      const ref = await harness.session();
      await harness.send(ref, "go");
      const { form } = await waiting(ref);
      await first.shutdown();
      await harness.worker([agent]);
      if (idempotent) {
        await harness.until(ref, 40_000, (state) => (state.turns.last()?.status === "running" ? true : null));
        await submitForm(harness.backend, ref, { form, values });
      }
      const turn = await harness.ended(ref, () => true);
      expect(turn.status).toBe("end_turn");
      expect(formsOf(listBlocks(turn)).map((block) => [block.form, block.status])).toEqual([[form, status]]);
    });
  });
}

function formsOf(blocks: ReturnType<typeof listBlocks>): FormBlock[] {
  return blocks.filter((block) => block.kind === "form");
}
