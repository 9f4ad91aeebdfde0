/** Tests what all commands share: migrations, errors for unusable database addresses, help and version. */
import { createDbosEngine, openDatabase, createPostgresStore } from "@turnstream/server";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { expect, test } from "vitest";
import { ran } from "./ran.ts";

test("migrate prepares a fresh database for the store and the engine", async () => {
  const url = await freshDatabaseUrl();
  const first = await ran(["migrate"], { DATABASE_URL: url });
  expect(first).toMatchObject({ code: 0, err: "" });
  expect(first.out).toContain("0001-core");
  const engine = await createDbosEngine({ databaseUrl: url, work: async () => undefined });
  await engine.close();
  const store = createPostgresStore(openDatabase({ url }));
  expect(await store.tenants.get("acme")).toBeNull();
  await store.close();
  expect(await ran(["migrate"], { DATABASE_URL: url })).toEqual({
    code: 0,
    out: "The database schema is up to date.\n",
    err: "",
  });
});

/** Runs a command with an unusable database address and returns its error. Fails if it contains the password. */
async function listKeysError(address: string): Promise<string> {
  const result = await ran(["keys", "list", "--tenant", "acme"], { DATABASE_URL: address });
  expect(result).toMatchObject({ code: 1, out: "" });
  expect(result.err).not.toContain("canary");
  return result.err;
}

test("each cause has its own message, with the host and port but without the password", async () => {
  const url = new URL(await freshDatabaseUrl());
  url.password = "canary";
  const at = (change: Partial<Pick<URL, "port" | "username" | "pathname">>) =>
    Object.assign(new URL(url), change).href;
  const closed = await freePort();
  expect(await listKeysError(at({ port: String(closed) }))).toBe(
    `turnstream: Nothing listens at ${url.hostname}:${closed}. Start PostgreSQL there, or correct the address.\n`,
  );
  expect(await listKeysError(at({ pathname: "/nowhere" }))).toBe(
    `turnstream: There is no database nowhere at ${url.host}. Create it, or correct the address.\n`,
  );
  expect(await listKeysError(at({ username: "missing" }))).toContain(
    `PostgreSQL at ${url.host} refuses the role missing: `,
  );
  for (const address of ["localhost/canary", "postgres://u:canary/x@host/name", "mysql://u:canary@host/name"])
    expect(await listKeysError(address)).toBe(
      "turnstream: DATABASE_URL must be a PostgreSQL address such as postgres://user@host/name.\n",
    );
});

test("migrate reports that the role may not create tables", async () => {
  const url = new URL(await freshDatabaseUrl());
  url.searchParams.set("options", "-c role=pg_monitor");
  const { code, err } = await ran(["migrate"], { DATABASE_URL: url.href });
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("may not do this in the database") });
});

test("prints the help of the command group, and the version", async () => {
  const help = (await ran(["keys", "--help"], {})).out;
  expect(await ran(["keys"], {})).toEqual({ code: 2, out: "", err: help });
  for (const args of [
    ["keys", "mkae"],
    ["keys", "create"],
    ["keys", "list", "--what"],
  ])
    expect(await ran(args, {})).toMatchObject({
      code: 2,
      err: expect.stringContaining("Try `turnstream keys --help`."),
    });
  expect((await ran(["nonsense"], {})).err).toContain("Try `turnstream --help`.");
  expect(await ran(["--version"], {})).toEqual({
    code: 0,
    out: expect.stringMatching(/^\d+[.]\d+[.]\d+/),
    err: "",
  });
});
