/** Tests `turnstream keys` on a real database: the printed key is valid until it is revoked. */
import { openDatabase, createPostgresStore, SCOPES } from "@turnstream/server";
import type { ClosableStore } from "@turnstream/server/internal";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ran } from "./ran.ts";

let url: string;
let store: ClosableStore;

beforeEach(async () => {
  url = await freshDatabaseUrl();
  store = createPostgresStore(openDatabase({ url }));
  await turnstream("migrate");
});
afterEach(() => store.close());

const turnstream = (...args: string[]) => ran(args, { DATABASE_URL: url });

const CREATE = ["keys", "create", "--tenant", "acme", "--name", "our backend"];

test("keys create prints the first key of a new tenant once, and the key is valid", async () => {
  const { code, out } = await turnstream(...CREATE, "--new-tenant");
  expect(code).toBe(0);
  const key = await store.keys.verify(out.trim());
  expect(key).toMatchObject({ tenant: "acme", scopes: [] });
  // `--new-tenant` for an existing tenant adds another key to it.
  expect(await turnstream(...CREATE, "--new-tenant", "--scope", "read", "--scope", "share")).toMatchObject({
    code: 0,
  });
  // `verify` doesn't wait for the update of `lastUsedAt`.
  await expect.poll(async () => (await store.keys.list("acme"))[0]?.lastUsedAt).not.toBeNull();
  const listed = (await turnstream("keys", "list", "--tenant", "acme")).out;
  expect(listed.trim().split("\n")).toEqual([
    expect.stringMatching(`^${key?.id}\tused .*Z\teverything\tour backend$`),
    expect.stringMatching(/\tnever used\tread,share\tour backend$/),
  ]);
  expect(listed).not.toContain(out.trim());
});

test("a revoked key is no longer valid", async () => {
  const { out } = await turnstream(...CREATE, "--new-tenant");
  const id = (await store.keys.verify(out.trim()))?.id ?? "";
  expect(await turnstream("keys", "revoke", "--tenant", "acme", id)).toMatchObject({ code: 0 });
  expect(await store.keys.verify(out.trim())).toBeNull();
  expect((await turnstream("keys", "list", "--tenant", "acme")).out).toContain(`${id}\trevoked\t`);
  expect(await turnstream("keys", "revoke", "--tenant", "acme", id)).toMatchObject({ code: 1 });
});

test("a mistyped command creates neither a tenant nor a key", async () => {
  expect(await turnstream(...CREATE)).toMatchObject({
    code: 1,
    out: "",
    err: "turnstream: There is no tenant acme. Create it with `--new-tenant`.\n",
  });
  const { code, err } = await turnstream(...CREATE, "--new-tenant", "--scope", "raed");
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("Unknown scope raed.") });
  expect(await store.tenants.get("acme")).toBeNull();
  expect(await turnstream("keys", "create")).toMatchObject({ code: 2 });
  expect(await turnstream("keys")).toMatchObject({ code: 2 });
  const help = (await turnstream("keys", "--help")).out;
  for (const scope of SCOPES) expect(help).toContain(scope);
});
