/**
 * The contract of elicitations: a server that asks during a call gets a form in the turn of the user who made the call.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listBlocks, type FormBlock } from "@turnstream/protocol";
import type { McpServerOptions } from "../src/options.ts";
import { mcpServer } from "../src/server.ts";
import { declineForm, submitForm } from "../../server/src/session/interactions/submit-form.ts";
import type { SessionRef } from "../../server/src/util/refs.ts";
import { outline, TurnHarness, type HarnessBackend } from "../../server/test/engine/turn-harness.ts";
import { Caller } from "./fake-call.ts";
import type { Reached } from "./connect.ts";

const ASK = "ev_trigger-elicitation-request";

export function elicitationContract(
  how: string,
  makeBackend: () => Promise<HarnessBackend>,
  reach: () => Promise<Reached>,
): void {
  describe(`elicitation over ${how}`, () => {
    let harness: TurnHarness;
    let reached: Reached;
    let caller: Caller;
    beforeEach(async () => {
      reached = await reach();
      harness = await TurnHarness.open(await makeBackend());
    });
    afterEach(async () => {
      await harness.close();
      await reached.close();
    });

    /**
     * Runs a first turn without a form, because the server offers this tool only once it knows the client's
     * capabilities.
     */
    async function warm(more: Partial<McpServerOptions>): Promise<SessionRef> {
      const options = { ...reached.options, ...more } as McpServerOptions;
      caller = new Caller(mcpServer(options), ({ turn, text }) =>
        turn === 1 && text === "warm" ? ["ev_echo", { message: "warm" }] : [ASK],
      );
      await harness.worker([caller.agent]);
      const ref = await harness.session();
      await harness.ask(ref, "warm");
      return ref;
    }
    const waiting = (ref: SessionRef): Promise<FormBlock> =>
      harness.until(ref, 40_000, async (state) => {
        const turn = state.turns.last();
        const form = turn && listBlocks(turn).find((block): block is FormBlock => block.kind === "form");
        const rows = await harness.backend.store.interactions.list(ref, { pending: true });
        return form?.status === "pending" && rows.length > 0 ? form : null;
      });

    it("becomes a form whose values are sent to the server", async () => {
      const ref = await start();
      const form = await waiting(ref);
      expect(form).toMatchObject({ waits: true, timeout_seconds: 300 });
      expect(form.schema.title).toBe("Everything");
      expect(form.schema.description).toBe("Please provide inputs for the following fields:");
      expect(
        form.schema.fields.map(({ name, type, required }) => `${name} ${type}${required ? " !" : ""}`),
      ).toEqual([
        "name text !",
        "check checkbox",
        "firstLine text",
        "email email",
        "homepage text",
        "birthdate date",
        "integer number",
        "number number",
        "untitledSingleSelectEnum select",
        "untitledMultipleSelectEnum multiSelect",
        "titledSingleSelectEnum select",
        "titledMultipleSelectEnum multiSelect",
        "legacyTitledEnum select",
      ]);
      expect(form.schema.fields.at(-1)?.options?.[1]).toEqual({ value: "pet-2", label: "Dogs" });
      const values = {
        name: "Ada",
        check: true,
        email: "ada@example.org",
        birthdate: "1815-12-10",
        integer: 7,
        titledMultipleSelectEnum: ["fish-1", "fish-3"],
        legacyTitledEnum: "pet-2",
      };
      await submitForm(harness.backend, ref, { form: form.form, values, userId: harness.actor.user });
      const turn = await harness.ended(ref, ({ number }) => number === 2);
      expect(turn.status).toBe("end_turn");
      expect(rawAnswer()).toEqual({
        action: "accept",
        content: {
          ...values,
          firstLine: "It was a dark and stormy night.",
          number: 3.14,
          untitledSingleSelectEnum: "Monica",
          untitledMultipleSelectEnum: ["Guitar"],
          titledSingleSelectEnum: "hero-1",
        },
      });
    });

    it("sends `decline` to the server when the user declines", async () => {
      const ref = await start();
      const { form } = await waiting(ref);
      await declineForm(harness.backend, ref, { form, userId: harness.actor.user });
      const turn = await harness.ended(ref, ({ number }) => number === 2);
      expect(turn.status).toBe("end_turn");
      expect(rawAnswer()).toEqual({ action: "decline" });
    });

    it("sends `cancel` to the server when the form times out", async () => {
      const ref = await start({ formSeconds: 1 });
      await harness.ended(ref, ({ number }) => number === 2);
      expect(rawAnswer()).toEqual({ action: "cancel" });
    });

    it("withdraws the form and continues the turn when the server dies", async () => {
      const ref = await start();
      const { form } = await waiting(ref);
      await reached.kill();
      await reached.begin();
      const turn = await harness.ended(ref, ({ number }) => number === 2);
      expect(turn.status).toBe("end_turn");
      expect(outline(turn)).toContain(`result ${ASK} error This did not work.`);
      const late = await submitForm(harness.backend, ref, { form, values: { name: "late" } });
      expect(late.applied).toBe(false);
    });

    it("shows the form only to the user whose call it is", async () => {
      const one = await start();
      const first = await waiting(one);
      const two = await harness.session();
      await harness.send(two, "go");
      const isStdio = "command" in reached.options;
      if (isStdio) {
        // Over stdio, the call is ambiguous while two turns call, so no user is asked.
        await harness.ended(two, () => true);
        expect(rawAnswer()).toEqual({ action: "decline" });
        expect(harness.errors.map(({ error }) => String(error)).join()).toContain(
          "not certain for which call",
        );
      } else {
        const second = await waiting(two);
        await submitForm(harness.backend, two, { form: second.form, values: { name: "Two" } });
        await harness.ended(two, () => true);
        expect(rawAnswer()).toMatchObject({ content: { name: "Two" } });
      }
      await submitForm(harness.backend, one, { form: first.form, values: { name: "One" } });
      await harness.ended(one, ({ number }) => number === 2);
      expect(rawAnswer()).toMatchObject({ content: { name: "One" } });
    });

    async function start(more: Partial<McpServerOptions> = {}): Promise<SessionRef> {
      const ref = await warm(more);
      await harness.send(ref, "ask");
      return ref;
    }

    /** Returns the response that the server received, as its tool reports it. */
    function rawAnswer(): unknown {
      const result = String(caller.results.at(-1));
      return JSON.parse(result.slice(result.indexOf("Raw result: ") + "Raw result: ".length));
    }
  });
}
