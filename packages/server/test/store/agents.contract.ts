/** The store contract of registered agents. */
import { expect, test } from "vitest";

import { MAX_AGENTS, type RegisteredAgent } from "../../src/store/agents.ts";
import { type MakeStore, unique } from "./harness.ts";
import { suite } from "./suite.ts";

const agent = (name: string, rest: Partial<RegisteredAgent> = {}): RegisteredAgent => ({
  name,
  label: "",
  description: "",
  inputs: ["text"],
  ...rest,
});

export function agentsContract(name: string, makeStore: MakeStore): void {
  suite(name, "agents", makeStore, (store) => {
    test("S12 lists agents by name, and the last registration of a name applies", async () => {
      const { agents } = store();
      const id = "550e8400-e29b-41d4-a716-446655440000";
      await agents.register([agent("market", { label: "Market" }), agent(id, { inputs: ["image", "text"] })]);
      await agents.register([
        agent("market", { label: "old" }),
        agent("market", { label: "Markets", description: "Prices", inputs: ["file", "text", "file"] }),
      ]);
      await agents.register([]);
      expect(await agents.list()).toEqual([
        { name: id, label: "", description: "", inputs: ["text", "image"] },
        { name: "market", label: "Markets", description: "Prices", inputs: ["text", "file"] },
      ]);
      expect([await agents.isKnown("market"), await agents.isKnown("Market")]).toEqual([true, false]);
      expect([await agents.remove("market"), await agents.remove("market")]).toEqual([true, false]);
      expect(await agents.isKnown("market")).toBe(false);
    });

    test("accepts registrations of many workers at the same time", async () => {
      const { agents } = store();
      const names = Array.from({ length: 5 }, () => unique("agent"));
      const workers = Array.from({ length: 8 }, (_, n) =>
        agents.register((n % 2 === 0 ? names : names.toReversed()).map((each) => agent(each))),
      );
      await Promise.all(workers);
      const known = (await agents.list()).map((each) => each.name);
      expect(names.filter((each) => !known.includes(each))).toEqual([]);
    });

    test("cuts long texts, and refuses too many agents and unknown inputs without a change", async () => {
      const { agents } = store();
      const long = unique("long");
      await agents.register([
        agent(long, { label: "é".repeat(600), description: `a\0${"x".repeat(20_000)}` }),
      ]);
      const cut = (await agents.list()).find((each) => each.name === long);
      expect([cut?.label.length, cut?.description.length]).toEqual([500, 10_000]);
      expect(cut?.description.slice(0, 2)).toBe("a\ufffd");
      const before = await agents.list();
      const many = Array.from({ length: MAX_AGENTS }, (_, n) => agent(`many-${n}`));
      await expect(agents.register(many)).rejects.toMatchObject({ code: "TOO_LARGE" });
      const odd = agent("odd", { inputs: ["sound" as never] });
      await expect(agents.register([odd])).rejects.toMatchObject({ code: "INVALID" });
      await expect(agents.register([agent("")])).rejects.toMatchObject({ code: "INVALID" });
      expect(await agents.list()).toEqual(before);
    });
  });
}
