/**
 * Tests the server of a Next.js app: what happens when Next.js evaluates the app's module again, and the
 * configuration. tests/browser/next.browser.nightly.test.ts tests a real Next.js app.
 */
import { listBlocks } from "@turnstream/protocol";
import { type Agent, defineAgent, type Turnstream } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { expect, onTestFinished, test } from "vitest";
import { createHandlers, createTurnstream, readSession } from "../src/index.ts";
import { withTurnstream } from "../src/config.ts";

function helper(answer: string): Agent {
  return defineAgent({ name: "helper", title: false, model: scriptedModel([[script.text(answer)]]) });
}

/** Creates the server as a module of the app does, and removes it after the test. */
async function evaluate(answer: string, user: string): Promise<Turnstream> {
  const dataFolder = await createDataFolder();
  const app = createTurnstream({ agents: [helper(answer)], user: () => user, print: false, dataFolder });
  onTestFinished(async () => {
    await app.close();
    Reflect.deleteProperty(globalThis, Symbol.for("@turnstream/next"));
  });
  return app;
}

async function call(
  app: Turnstream,
  path: string,
  token = "",
  body: object = {},
): Promise<Record<string, string>> {
  const { POST } = createHandlers(app);
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await POST(new Request(`http://app.test/api/v1${path}`, init));
  return (await response.json()) as Record<string, string>;
}

async function answers(app: Turnstream, session: string): Promise<string[]> {
  const { state } = await app.sessions.read(session);
  return state.turns
    .toArray()
    .filter(({ status }) => status !== "running")
    .flatMap((turn) => listBlocks(turn).map((block) => ("text" in block ? block.text : "")));
}

test("a module that is evaluated again has the same server and sessions, with its new agents and user", async () => {
  const first = await evaluate("Before.", "an");
  const { token = "", user_id } = await call(first, "/sign-in");
  expect(user_id).toBe("an");
  const { session_id = "" } = await call(first, "/sessions", token);
  await call(first, `/sessions/${session_id}/messages`, token, { text: "Hi" });
  await expect.poll(() => answers(first, session_id)).toEqual(["Before."]);
  const second = await evaluate("After.", "binh");
  expect(second).toBe(first);
  await call(second, `/sessions/${session_id}/messages`, token, { text: "Hi" });
  await expect.poll(() => answers(second, session_id)).toEqual(["Before.", "After."]);
  expect((await call(second, "/sign-in")).user_id).toBe("binh");
});

test("requests below a path of the app, as after a rewrite, are answered", async () => {
  const { POST } = createHandlers(await evaluate("Hello.", "an"));
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  const response = await POST(new Request("http://app.test/assistant/api/v1/sign-in", init));
  expect(await response.json()).toMatchObject({ user_id: "an" });
});

test("the configuration keeps its settings, and gets the package that must not be bundled", () => {
  expect(withTurnstream({ poweredByHeader: false })).toMatchObject({ poweredByHeader: false });
  const config = { poweredByHeader: false, serverExternalPackages: ["sharp"] };
  expect(withTurnstream(withTurnstream(config))).toEqual({
    poweredByHeader: false,
    serverExternalPackages: ["sharp", "@turnstream/server"],
  });
});

test.each(["basePath", "trailingSlash"])(
  "a configuration with %s is refused, because the API would move",
  (name) => {
    const config = { [name]: name === "basePath" ? "/docs" : true };
    expect(() => withTurnstream(config)).toThrow(`Remove \`${name}\``);
  },
);

test("a session is read for the user of a request, and for no other", async () => {
  const app = await evaluate("Hello.", "an");
  const { token = "" } = await call(app, "/sign-in");
  const { session_id = "" } = await call(app, "/sessions", token);
  await call(app, `/sessions/${session_id}/messages`, token, { text: "Hi" });
  await expect.poll(() => answers(app, session_id)).toEqual(["Hello."]);
  expect(await readSession(app, session_id, new Headers({ cookie: "x=1" }))).toContain("Hello.");
  expect(await readSession(app, "none", new Headers())).toBeNull();
  await evaluate("Hello.", "binh");
  expect(await readSession(app, session_id, new Headers())).toBeNull();
});
