/**
 * Tests models by name: whole turns through @ai-sdk/gateway over HTTP, and the errors of a missing package, key or
 * provider.
 */
import { spawnSync } from "node:child_process";
import { createGateway } from "@ai-sdk/gateway";
import { startGatewayServer } from "@turnstream/testkit/model-servers/gateway-server.ts";
import type { ModelServer } from "@turnstream/testkit/model-servers/model-server.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { ModelError } from "../../src/models/errors.ts";
import { resolveModel } from "../../src/models/named-model.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { createMemoryBackend } from "../gateway/test-server.ts";
import { readParts } from "./read-parts.ts";
import { outline, TurnHarness } from "../engine/turn-harness.ts";

const NAME = "anthropic/claude-sonnet-4-6";
const readError = async (name: string) => (await readParts(resolveModel(name))).error as ModelError;

describe("a model by name", () => {
  let server: ModelServer;
  let harness: TurnHarness;
  beforeEach(async () => {
    server = await startGatewayServer(({ headers, body }) =>
      headers["ai-language-model-id"] === NAME && (body["prompt"] as unknown[]).length === 1
        ? { parts: [{ type: "call", id: "c1", name: "sky", input: '{"at":"Paris"}' }] }
        : { parts: [{ type: "text", text: "Blue." }] },
    );
    harness = await TurnHarness.open(createMemoryBackend());
    const provider = createGateway({ baseURL: server.baseUrl, apiKey: "gateway-key" });
    vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", provider);
  });
  afterEach(async () => {
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
    await harness.close();
    await server.close();
  });

  test("runs a turn with a tool call through the gateway package", async () => {
    const sky = tool({ input: z.object({ at: z.string() }), run: ({ at }) => `blue in ${at}` });
    await harness.worker([
      defineAgent({ name: "a", model: NAME, tools: { sky }, title: { model: "openai/gpt-x" } }),
    ]);
    const turn = await harness.ask(await harness.session(), "Which colour?");
    expect(outline(turn)).toEqual([
      "(",
      'call sky {"at":"Paris"}',
      "result sky success blue in Paris",
      ") Sky",
      "text final Blue.",
    ]);
    const models = () =>
      server.requests.map(({ headers }) => String(headers["ai-language-model-id"])).toSorted();
    await expect.poll(models).toEqual([NAME, NAME, "openai/gpt-x"]);
    expect(server.requests[0]?.headers["authorization"]).toBe("Bearer gateway-key");
  });

  test("a rejected key is an error of the model, with the gateway's advice as its cause", async () => {
    server.enqueue({ status: 401, error: { type: "authentication_error", message: "no" } });
    const error = await readError(NAME);
    expect(error).toMatchObject({ reason: "NOT_ALLOWED", isRetryable: false });
    expect(String(error.cause)).toContain("AI_GATEWAY_API_KEY");
  });

  test("without a default provider, uses the gateway package, which asks for a key", async () => {
    vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", undefined);
    for (const name of ["AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"]) vi.stubEnv(name, undefined);
    const error = await readError(NAME);
    expect(error).toBeInstanceOf(ModelError);
    expect(String(error.cause)).toContain("AI_GATEWAY_API_KEY");
    expect(server.requests).toEqual([]);
  });

  test("a worker refuses a name without a provider, also of a sub-agent, before it takes a turn", async () => {
    vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", undefined);
    const sub = defineAgent({ name: "sub", model: "claude" });
    const main = defineAgent({ name: "main", model: scriptedModel([]), subAgents: { sub } });
    await expect(harness.worker([main])).rejects.toMatchObject({
      code: "BAD_AGENT",
      message: expect.stringContaining(
        'the agent sub: the model "claude" must be a name of the AI Gateway',
      ) as string,
    });
  });

  test("a model of another specification is refused with what to update", async () => {
    const old = { languageModel: (modelId: string) => ({ modelId, specificationVersion: "v2" }) };
    vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", old);
    await expect(harness.worker([defineAgent({ name: "a", model: NAME })])).rejects.toThrow(
      "specification v4",
    );
  });
});

test("a worker without the package @ai-sdk/gateway names the package and the key", () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@turnstream/source", "--input-type=module-typescript", "-"],
    { cwd: new URL(".", import.meta.url), input: WITHOUT_PACKAGE, encoding: "utf8", timeout: 60_000 },
  );
  expect(stderr).toBe("");
  expect(stdout).toContain("BAD_AGENT");
  expect(stdout).toContain("npm install @ai-sdk/gateway");
  expect(stdout).toContain("AI_GATEWAY_API_KEY");
});

/** Node finds no package of this name, as in an app that did not install it. */
const WITHOUT_PACKAGE = `
import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    return next(specifier === "@ai-sdk/gateway" ? "@ai-sdk/not-installed" : specifier, context);
  },
});
const { defineAgent, startWorker } = await import("@turnstream/server");
const { createMemoryLog, createMemorySignals, createMemoryStore } = await import("@turnstream/testing");
const agents = [defineAgent({ name: "a", model: "${NAME}" })];
await startWorker({
  store: createMemoryStore(), log: createMemoryLog(), signals: createMemorySignals(), agents,
}).catch((error) => console.log(error.code, error.message));
`;
