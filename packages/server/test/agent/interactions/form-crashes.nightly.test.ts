/**
 * Kills a worker at every point of two turns, the first of which requests a form. The form is requested once, in the
 * log and in the store, and its values start one further turn that reads them.
 */
import { runInParallel } from "@turnstream/testkit/util/run-in-parallel.ts";
import { expect, it } from "vitest";
import { listBlocks } from "@turnstream/protocol";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { submitForm } from "../../../src/session/interactions/submit-form.ts";
import { crashPoints } from "../../engine/crash-injection.ts";
import { startCrashingTurn } from "../../engine/crashing-turn.ts";
import { outline } from "../../engine/turn-harness.ts";

const FORM = { title: "Contact", fields: [{ name: "email", label: "E-mail", type: "email" }] } as const;

function cast(by: "model" | "tool" | "sub-agent"): Agent {
  const look = tool({ idempotent: true, run: () => "seen" });
  const desk = tool({ idempotent: true, run: (_, context) => context.requestForm(FORM as never) });
  const asks = by === "tool" ? script.toolCall("desk") : script.toolCall("request_form", FORM);
  const clerk = defineAgent({
    name: "clerk",
    model: scriptedModel([[asks, script.toolCall("look")], [script.text("never")]]),
    tools: { look },
    requestForms: true,
  });
  const model = scriptedModel(({ prompt }) => {
    if (JSON.stringify(prompt).includes("an@example.org")) return [script.text("thanks")];
    return by === "sub-agent"
      ? [script.toolCall("clerk", { task: "ask" }), script.toolCall("look")]
      : [script.toolCall("look"), asks];
  });
  const tools = { look, desk };
  return defineAgent({ name: "a", model, tools, subAgents: { clerk }, requestForms: true, title: false });
}

async function play(by: Parameters<typeof cast>[0], crash: { afterCalls: number; isExecuted: boolean }) {
  const { parts, harness, ref, died, crashPoint } = await startCrashingTurn(() => cast(by), crash);
  const values = { email: "an@example.org" };
  const submitter = setInterval(() => {
    void (async () => {
      // As soon as the form can be submitted, even before its turn has ended.
      for (const { key } of await parts.store.interactions.list(ref, { pending: true }))
        await submitForm(parts, ref, { form: key, values, userId: harness.actor.user });
    })();
  }, 15);
  await harness.ended(ref, ({ number }) => number === 2);
  clearInterval(submitter);
  return { state: await harness.state(ref), died, calls: crashPoint.calls, harness, ref };
}

it.concurrent.each(["model", "tool", "sub-agent"] as const)(
  "a form of a %s is requested once and continued once, whichever worker dies",
  async (by) => {
    const whole = await play(by, { afterCalls: Infinity, isExecuted: false });
    await whole.harness.close();
    expect(whole.calls).toBeGreaterThan(12);
    await runInParallel(crashPoints(2, whole.calls), async (afterCalls) => {
      const one = await play(by, { afterCalls, isExecuted: afterCalls % 2 === 0 });
      const what = `death after ${afterCalls} calls at ${one.died.join()}`;
      const [first, second] = one.state.turns.toArray();
      expect(one.state.turns.length, what).toBe(2);
      if (first === undefined || second === undefined) throw new Error(what);
      const forms = listBlocks(first).filter((block) => block.kind === "form");
      expect(
        forms.map(({ status }) => status),
        what,
      ).toEqual(["submitted"]);
      expect(first.status, what).toBe("requires_interaction");
      expect(second.resumes, what).toBe(forms[0]?.form);
      expect(outline(second), what).toEqual(["text final thanks"]);
      expect(await one.harness.backend.store.interactions.list(one.ref), what).toHaveLength(1);
      expect(one.harness.errors, what).toEqual([]);
      await one.harness.close();
    });
  },
);
