/**
 * The contract of every entrance of the gateway: a user sends, stops, decides, answers, submits and uploads, in a session
 * with any legal id, wherever the connection comes from.
 */
import type { Question } from "@turnstream/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import type { Actor, SessionRef } from "../../src/util/refs.ts";
import { type HarnessBackend, TurnHarness } from "../engine/turn-harness.ts";
import { type Entrance, ENTRANCES } from "./entrances.ts";

const QUESTION = { question: "Which day?", options: [{ label: "Sat" }, { label: "Sun" }] };
const FORM = {
  title: "Contact",
  fields: [{ name: "email", label: "E-mail", type: "email", required: true }],
} as const;

const broker = defineAgent({
  name: "broker",
  title: false,
  askUser: true,
  requestForms: true,
  tools: {
    buy: tool({
      label: "Buying",
      input: z.object({ count: z.int() }),
      approval: { editable: true },
      run: ({ count }) => `bought ${count}`,
    }),
  },
  model: scriptedModel(({ text, step }) => {
    if (text === "hang") return [script.text("One moment"), script.hang()];
    if (step > 0) return [script.text("Done.")];
    if (text === "buy") return [script.toolCall("buy", { count: 1 })];
    if (text === "ask") return [script.toolCall("ask_user_question", { questions: [QUESTION] })];
    if (text === "form") return [script.toolCall("request_form", FORM)];
    return [script.text("Thanks.")];
  }),
});

/** Legal ids that break naive rules: a mail address, the longest id, and one that looks like a relative path. */
const IDS: readonly (readonly [name: string, toId: (unique: string) => string])[] = [
  ["a mail address", (unique) => `${unique}@example.com`],
  ["the longest id", (unique) => `${unique}:`.padEnd(200, "._-@:")],
  ["a name of dots", (unique) => `...${unique}..`],
];

/** Tenants and users can have mail addresses as ids too. */
const ACTOR: Actor = { tenant: "sales@example.com", user: "an@example.com" };

const DECISIONS = [
  [{ decision: "approve" }, "approved"],
  [{ decision: "edit", args: { count: 2 } }, "edited"],
  [{ decision: "reject", reason: "Too much." }, "rejected"],
] as const;

export function entrancesContract(name: string, makeBackend: () => Promise<HarnessBackend>): void {
  describe(`entrances on ${name}`, () => {
    let harness: TurnHarness;
    let auth: Readonly<Record<string, string>>;
    beforeAll(async () => {
      harness = (await TurnHarness.open(await makeBackend())).as(ACTOR);
      const { tenant, user } = ACTOR;
      await harness.backend.store.tenants.create({ id: tenant, name: "Test" });
      await harness.worker([broker]);
      const { secret } = await harness.backend.store.keys.create(tenant, { name: "test", scopes: [] });
      auth = { "x-api-key": secret, "x-user-id": user };
    });
    afterAll(() => harness.close());

    const pendingKey = (ref: SessionRef): Promise<string> =>
      harness.until(ref, 60_000, async () => {
        const [found] = await harness.backend.store.interactions.list(ref, { pending: true, limit: 1 });
        return found?.key ?? null;
      });
    const statusOf = async (ref: SessionRef, key: string) =>
      (await harness.backend.store.interactions.byKey(ref, key))?.status;
    /** Waits until no turn runs and no message waits. @returns the status of the last turn */
    const idle = async (ref: SessionRef) => {
      const { running, queuedMessages } = harness.backend.store;
      await harness.until(ref, 60_000, async () => {
        // In this order: a turn takes its message from the queue when it starts to run.
        const isIdle = (await queuedMessages.list(ref)).length === 0 && (await running.get(ref)) === null;
        return isIdle ? true : null;
      });
      return (await harness.state(ref)).turns.last()?.status;
    };

    describe.each(ENTRANCES)("%s", (entranceName, open) => {
      let entrance: Entrance;
      const errors: unknown[] = [];
      beforeAll(async () => {
        const { store, log, signals } = harness.backend;
        const secrets = ["s".repeat(32)] as const;
        entrance = await open({ store, log, signals, secrets, onError: (error) => errors.push(error) }, auth);
      });
      afterAll(() => entrance.close());

      test.concurrent.each(IDS)(
        "every command has its effect in a session named like %s",
        async (_, toId) => {
          const session = toId(entranceName.replaceAll(" ", "-"));
          await entrance.createSession(session);
          const ref = { tenant: harness.actor.tenant, session };

          const file = await entrance.upload(session, new TextEncoder().encode("some text"));
          expect(await harness.backend.store.uploads.get(ref, file)).toMatchObject({
            size: 9,
            isComplete: true,
          });

          for (const [decision, status] of DECISIONS) {
            // Without a stream, the reply comes when the approval waits.
            await entrance.send(session, "buy");
            const key = await pendingKey(ref);
            await entrance.decide(session, key, decision);
            expect(await idle(ref)).toBe("end_turn");
            expect(await statusOf(ref, key)).toBe(status);
          }

          await entrance.send(session, "ask");
          const question = await pendingKey(ref);
          const { request } = (await harness.backend.store.interactions.byKey(ref, question)) ?? {};
          const { questions } = request as unknown as { readonly questions: readonly Question[] };
          const answers = questions.map(({ id, options }) => ({
            question: id,
            selected: [options[1]?.id ?? ""],
          }));
          await entrance.answer(session, question, answers);
          expect(await idle(ref)).toBe("end_turn");
          expect(await statusOf(ref, question)).toBe("answered");

          await entrance.send(session, "form");
          const form = await pendingKey(ref);
          expect(await idle(ref)).toBe("requires_interaction");
          await entrance.submit(session, form, { email: "an@example.com" });
          expect(await idle(ref)).toBe("end_turn");
          expect(await statusOf(ref, form)).toBe("submitted");

          await entrance.send(session, "buy");
          const stopped = await pendingKey(ref);
          expect(await entrance.stop(session)).toBe("stopping");
          expect(await idle(ref)).toBe("user_stopped");
          expect(await statusOf(ref, stopped)).toBe("cancelled");

          const hanging = entrance.send(session, "hang");
          await harness.until(ref, 60_000, (state) =>
            state.turns.last()?.status === "running" ? true : null,
          );
          expect(await entrance.stop(session)).toBe("stopping");
          expect(await idle(ref)).toBe("user_stopped");
          await hanging;
          expect([...errors, ...harness.errors]).toEqual([]);
        },
      );
    });
  });
}
