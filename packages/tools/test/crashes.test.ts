/**
 * Kills a worker at every point of a turn that calls services. A request that must not be repeated is made at most once,
 * also if the user's edit made it such a request.
 */
import { isFull } from "@turnstream/conformance/support/cases.ts";
import { expect, it } from "vitest";
import { script } from "../../server/src/models/script-parts.ts";
import { scriptedModel } from "../../server/src/models/scripted-model.ts";
import { webTools } from "../src/web-tools.ts";
import { defineAgent } from "../../server/src/agent/define/agent.ts";
import { decideApproval } from "../../server/src/session/interactions/decide-approval.ts";
import { type LocalServer, localServer } from "../../server/test/agent/built-in/local-server.ts";
import { crashPoints } from "../../server/test/engine/crash-injection.ts";
import { startCrashingTurn } from "../../server/test/engine/crashing-turn.ts";
import { outline } from "../../server/test/engine/turn-harness.ts";

function agentFor({ origin }: LocalServer) {
  const allow = [
    { origin, paths: ["/keyed"], methods: ["POST"] as const, idempotencyHeader: "idempotency-key" },
    { origin, methods: ["GET", "POST"] as const },
  ];
  const { http_request } = webTools({ httpRequest: { allow } });
  const url = (path: string) => ({ url: `${origin}${path}` });
  const asked = { ...http_request, approval: { editable: true } };
  return defineAgent({
    name: "a",
    title: false,
    tools: { http_request, asked },
    model: scriptedModel([
      [
        script.toolCall("http_request", { ...url("/once"), method: "POST" }),
        script.toolCall("http_request", { ...url("/keyed"), method: "POST" }),
        script.toolCall("asked", { ...url("/edited"), method: "GET" }),
      ],
      [script.text("done")],
    ]),
  });
}

async function play(crash: { afterCalls: number; isExecuted: boolean }) {
  const server = await localServer((_, response) => void response.end("ok"));
  const agent = agentFor(server);
  const { parts, harness, ref, died, crashPoint } = await startCrashingTurn(() => agent, crash);
  const approver = setInterval(() => {
    void (async () => {
      const input = { url: `${server.origin}/edited`, method: "POST" };
      for (const { key } of await parts.store.interactions.list(ref, { pending: true }))
        await decideApproval(parts, ref, { key, decision: "edit", input, userId: harness.actor.user });
    })();
  }, 15);
  const turn = await harness.ended(ref, () => true);
  clearInterval(approver);
  await harness.close();
  await server[Symbol.asyncDispose]();
  return { turn, asked: server.asked, died, calls: crashPoint.calls };
}

it("S11: http_request repeats nothing that must not be repeated", async () => {
  const whole = await play({ afterCalls: Infinity, isExecuted: false });
  expect(whole.asked.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
    "POST /edited",
    "POST /keyed",
    "POST /once",
  ]);
  for (const afterCalls of crashPoints(2, whole.calls, isFull ? 1 : 3)) {
    const { turn, asked, died } = await play({ afterCalls, isExecuted: afterCalls % 2 === 0 });
    const what = `death after ${afterCalls} calls at ${died.join()}`;
    expect(outline(turn).at(-1), what).toBe("text final done");
    const keyed = asked.filter(({ path }) => path === "/keyed");
    expect(new Set(keyed.map(({ headers }) => headers["idempotency-key"])).size, what).toBe(1);
    for (const path of ["/once", "/edited"])
      expect(asked.filter((one) => one.path === path).length, `${path}, ${what}`).toBeLessThanOrEqual(1);
  }
});
