/** Tests `turnstream limits` and `turnstream usage` on a real database. */
import { createPostgresStore, openDatabase } from "@turnstream/server";
import { limitNames, toWireName, type ClosableStore } from "@turnstream/server/internal";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ran } from "./ran.ts";

let url: string;
let store: ClosableStore;

beforeAll(async () => {
  url = await migratedDatabaseUrl();
  store = createPostgresStore(openDatabase({ url }));
  await store.tenants.create({ id: "acme", name: "acme" });
});
afterAll(() => store.close());

const turnstream = (...args: string[]) => ran(args, { DATABASE_URL: url });
const LINH = ["--tenant", "acme", "--user", "linh"];

test("limits set keeps other limits, show lists them with their source, and clear removes those of operators", async () => {
  const set = (...values: string[]) => turnstream("limits", "set", ...LINH, ...values);
  expect(await set("requests_per_minute=60", "tokens_per_day=none")).toMatchObject({ code: 0 });
  expect(await set("requests_per_minute=50", "cost_per_day=1.5")).toMatchObject({
    code: 0,
    out: "requests_per_minute\t50\ntokens_per_day\tnone\ncost_per_day\t1.5\n",
  });
  await store.limits.replace("acme", { scope: "user", user: "linh" }, "admin", { sockets: 3 });
  expect((await turnstream("limits", "set", "--tenant", "acme", "--each-user", "sockets=9")).code).toBe(0);
  expect((await turnstream("limits", "show", ...LINH)).out).toBe(
    [
      "user linh\tcost_per_day\t1.5\toperator\tdefault none",
      "user linh\trequests_per_minute\t50\toperator\tdefault 3000",
      "user linh\tsockets\t3\tadmin\tdefault 100",
      "user linh\ttokens_per_day\tnone\toperator\tdefault 50000000",
      "",
    ].join("\n"),
  );
  expect((await turnstream("limits", "show", "--tenant", "acme")).out).toContain("each user\tsockets\t9");
  expect(await turnstream("limits", "clear", ...LINH)).toMatchObject({ code: 0, out: "Cleared.\n" });
  expect(await store.limits.find({ tenant: "acme", user: "linh" })).toHaveLength(2);
  const actions = (await store.audit.list("acme", { after: 0, limit: 10 })).map(({ action }) => action);
  expect(actions).toEqual(["limits.set", "limits.set", "limits.set", "limits.set"]);
});

test("a mistyped limit, value or tenant changes nothing, and the help lists every limit", async () => {
  for (const value of ["nothing=1", "sockets=-1", "sockets=many", "sockets", "connections=1"])
    expect(await turnstream("limits", "set", "--tenant", "acme", "--user", "ann", value)).toMatchObject({
      code: 2,
      err: expect.stringContaining("requests_per_minute") as string,
    });
  expect(await store.limits.find({ tenant: "acme", user: "ann" })).not.toContainEqual(
    expect.objectContaining({ target: { scope: "user", user: "ann" } }),
  );
  expect(await turnstream("limits", "show", "--tenant", "amce")).toMatchObject({ code: 1 });
  const help = (await turnstream("limits", "--help")).out;
  for (const name of limitNames("user")) expect(help).toContain(toWireName(name));
});

test("usage prints the days of a user, of an API key or of the tenant", async () => {
  const used = {
    turns: 1,
    calls: 2,
    input_tokens: 3,
    output_tokens: 4,
    total_tokens: 7,
    cost: 0.25,
    model: "m",
  };
  for (const user of ["linh", "ann"])
    await store.usage.add("acme", { key: user, user, apiKey: `key-of-${user}`, day: "2026-11-02", ...used });
  const range = ["--from", "2026-11-01", "--to", "2026-11-30"];
  expect((await turnstream("usage", ...LINH, ...range)).out).toBe("2026-11-02\tm\t1\t7\t0.25\n");
  const ofKey = ["--tenant", "acme", "--key", "key-of-ann"];
  expect((await turnstream("usage", ...ofKey, ...range)).out).toBe("2026-11-02\tm\t1\t7\t0.25\n");
  expect(await turnstream("usage", ...ofKey, "--user", "ann", ...range)).toMatchObject({ code: 2 });
  expect((await turnstream("usage", "--tenant", "acme", ...range)).out).toBe("2026-11-02\tm\t2\t14\t0.5\n");
});
