/**
 * Tests the feature as its author would, with `turnstream()` in a folder and only with what packages export, and that
 * docs/features.md prints it.
 */
import { readFileSync } from "node:fs";
import { createKey, defineAgent, type Store, turnstream, type TurnstreamOptions } from "@turnstream/server";
import { scriptedModel } from "@turnstream/server/testing";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { expect, onTestFinished, test } from "vitest";
import { reactionPart, reactions } from "./reactions.ts";

const agents = [defineAgent({ name: "helper", title: false, model: scriptedModel([[]]) })];
const TENANT = "default";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

test("docs/features.md prints the feature", () => {
  const code = read("reactions.ts").replace(/^\/\*\*.*?\*\/\n/s, "");
  expect(read("../../docs/features.md")).toContain(`\`\`\`ts\n${code}\`\`\``);
});

async function open(options: Partial<TurnstreamOptions> = {}) {
  const dataFolder = await createDataFolder();
  const errors: string[] = [];
  const print = (line: string) => void (line.includes("error") && errors.push(line));
  const app = turnstream({ agents, features: [reactions], user: () => "an", print, dataFolder, ...options });
  onTestFinished(() => app.close());
  const { store } = await app.parts();
  const { id } = await app.sessions.create({ user: "an" });
  return { app, store, ref: { tenant: TENANT, session: id }, errors };
}

/** Creates a key and returns the headers of a user. */
async function headersOf(store: Store, tenant: string, user: string, scopes: string[] = []) {
  const { secret } = await createKey(store, tenant, { name: "k", scopes });
  return { "x-api-key": secret, "x-user-id": user };
}

test("a user reacts to a message, and users without access to its session or its scope don't", async () => {
  const { app, store, ref, errors } = await open();
  const url = await app.listen(0);
  const request = async (method: string, headers: Record<string, string>, body?: object, message = "m1") => {
    const response = await fetch(`${url}/api/v1/sessions/${ref.session}/messages/${message}/reactions`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return [response.status, text === "" ? null : (JSON.parse(text) as unknown)];
  };
  const an = await headersOf(store, TENANT, "an");
  expect(await request("PUT", an, { emojis: ["👍", "🎉", "👍"] })).toEqual([204, null]);
  const both = [
    { emoji: "👍", user: "an" },
    { emoji: "🎉", user: "an" },
  ];
  expect(await request("GET", an)).toEqual([200, { reactions: both }]);
  expect(await request("GET", an, undefined, "m2")).toEqual([200, { reactions: [] }]);

  const missing = [404, expect.objectContaining({ error: "NOT_FOUND" })];
  for (const stranger of [
    await headersOf(store, TENANT, "bo"),
    await headersOf(store, "other", "an"),
    await headersOf(store, "other", "bo"),
  ]) {
    expect(await request("PUT", stranger, { emojis: ["👎"] })).toEqual(missing);
    expect(await request("GET", stranger)).toEqual(missing);
  }
  const reader = await headersOf(store, TENANT, "an", ["read"]);
  expect(await request("GET", reader)).toEqual([200, { reactions: both }]);
  expect(await request("PUT", reader, { emojis: [] })).toMatchObject([403, { error: "FORBIDDEN" }]);
  const writer = await headersOf(store, TENANT, "an", ["write"]);
  expect(await request("GET", writer)).toMatchObject([403, { error: "FORBIDDEN" }]);
  expect(await request("GET", {})).toMatchObject([401, { error: "UNAUTHENTICATED" }]);
  for (const body of [{ emojis: ["no"] }, { emojis: "👍" }, { emojis: ["👍"], more: 1 }, {}])
    expect(await request("PUT", an, body)).toMatchObject([400, { error: "BAD_REQUEST" }]);
  // The store refuses an id that no message can have.
  for (const id of ["x".repeat(257), "%00"])
    expect(await request("PUT", an, { emojis: ["👎"] }, id)).toMatchObject([400, { error: "BAD_REQUEST" }]);

  expect(await request("GET", an)).toEqual([200, { reactions: both }]);
  expect(await request("PUT", writer, { emojis: [] })).toEqual([204, null]);
  expect(await request("GET", an)).toEqual([200, { reactions: [] }]);
  expect(errors).toEqual([]);
});

test("what a transaction changes is committed as a whole, or not at all", async () => {
  const { store, ref } = await open();
  const reacted = async () => (await store.use(reactionPart).list(ref, "m")).map(({ emoji }) => emoji);
  const change = (emoji: string, fails: boolean) =>
    store.transaction(async (tx) => {
      await tx.use(reactionPart).clear(ref, "m", "an");
      await tx.use(reactionPart).add(ref, "m", "an", emoji);
      expect(await tx.use(reactionPart).list(ref, "m")).toEqual([{ emoji, user: "an" }]);
      if (fails) throw new RangeError("no");
    });
  await change("👍", false);
  expect(await reacted()).toEqual(["👍"]);
  await expect(change("👎", true)).rejects.toThrow(RangeError);
  expect(await reacted()).toEqual(["👍"]);
  // A failed statement undoes the others, also if its error is caught.
  const caught = store.transaction(async (tx) => {
    await tx.use(reactionPart).clear(ref, "m", "an");
    const elsewhere = { ...ref, session: "none" };
    await tx
      .use(reactionPart)
      .add(elsewhere, "m", "an", "👍")
      .catch(() => undefined);
  });
  await expect(caught).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(await reacted()).toEqual(["👍"]);
});
