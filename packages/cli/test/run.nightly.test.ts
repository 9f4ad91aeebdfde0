/** Tests what all commands share: migrations, errors for unusable database addresses, help and version. */
import { openDatabase, createPostgresStore } from "@turnstream/server";
import { migrateDatabase } from "@turnstream/testkit/backend/migrate-database.ts";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import type { Command } from "commander";
import { expect, test } from "vitest";
import type { CliContext } from "../src/cli-context.ts";
import { createProgram } from "../src/create-program.ts";
import { ran } from "./ran.ts";

test("migrate prepares a fresh database", async () => {
  const url = await freshDatabaseUrl();
  const first = await ran(["migrate"], { DATABASE_URL: url });
  expect(first.code).toBe(0);
  expect(first.out).toContain("0001-baseline");
  expect(first.err).toMatch(/^Migrating the schema turnstream\n {2}0001-baseline-[0-9a-f]+\n/);
  const store = createPostgresStore(openDatabase({ url }));
  expect(await store.tenants.get("acme")).toBeNull();
  await store.close();
  expect(await ran(["migrate"], { DATABASE_URL: url })).toEqual({
    code: 0,
    out: "The database schema is up to date.\n",
    err: "Migrating the schema turnstream\n",
  });
  const { out } = await ran(["migrate", "--json", "--schema", "chat"], { DATABASE_URL: url });
  expect(JSON.parse(out)).toMatchObject({
    schema: "chat",
    applied: [expect.stringContaining("0001-baseline")],
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
    `turnstream: Nothing listens at ${url.hostname}:${closed}. Start PostgreSQL there, or correct the address. The address is in DATABASE_URL.\n`,
  );
  expect(await listKeysError(at({ pathname: "/nowhere" }))).toBe(
    `turnstream: There is no database nowhere at ${url.host}. Create it, or correct the address. The address is in DATABASE_URL.\n`,
  );
  expect(await listKeysError(at({ username: "missing" }))).toContain(
    `PostgreSQL at ${url.host} refuses the role missing: `,
  );
  for (const address of ["localhost/canary", "postgres://u:canary/x@host/name", "mysql://u:canary@host/name"])
    expect(await listKeysError(address)).toBe(
      "turnstream: DATABASE_URL is not an address of PostgreSQL. Set DATABASE_URL to the address of PostgreSQL, such as postgres://user@host/name.\n",
    );
});

test("migrate prints the statements for a role that may not create schemas", async () => {
  const url = new URL(await freshDatabaseUrl());
  url.searchParams.set("options", "-c role=pg_monitor");
  const { code, err } = await ran(["migrate"], { DATABASE_URL: url.href });
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining("create schema turnstream authorization pg_monitor;"),
  });
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
  expect((await ran(["help", "keys"], {})).out).toBe(help);
  expect((await ran(["nonsense"], {})).err).toContain("Try `turnstream --help`.");
  expect(await ran(["--version"], {})).toEqual({
    code: 0,
    out: expect.stringMatching(/^\d+[.]\d+[.]\d+/),
    err: "",
  });
});

/** Returns every command without subcommands, such as `keys create`. */
function leaves(command: Command, path: readonly string[] = []): string[][] {
  if (command.commands.length === 0) return [[...path]];
  return command.commands.flatMap((each) => leaves(each, [...path, each.name()]));
}

const PLAIN: CliContext = {
  env: {},
  folder: "/",
  loadEnv: () => undefined,
  isTerminal: false,
  columns: null,
  hasColors: false,
  nodeVersion: "24.0.0",
  now: () => 0,
  out: () => undefined,
  err: () => undefined,
  signal: new AbortController().signal,
};

test("the help of every command has examples and the global options, without colors, also in 60 columns", async () => {
  const commands = leaves(createProgram(PLAIN));
  expect(commands.length).toBeGreaterThan(20);
  for (const command of commands) {
    const { code, out, err } = await ran([...command, "--help"], {}, { columns: 60 });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(new RegExp(`Examples:\\n.*turnstream ${command.join(" ")}`));
    for (const option of ["--json", "--database-url", "--redis-url", "--schema"])
      expect(out).toContain(option);
    expect(out).not.toContain("\u001b");
  }
  expect((await ran(["keys", "--help"], {}, { hasColors: true })).out).toContain("\u001b[1m");
});

test("with --json, stdout is one JSON document, and notices are on stderr", async () => {
  const url = await freshDatabaseUrl();
  const json = async (...args: string[]): Promise<unknown> => {
    const { code, out } = await ran([...args, "--tenant", "acme", "--json"], { DATABASE_URL: url });
    expect(code).toBe(0);
    return JSON.parse(out);
  };
  await migrateDatabase(url);
  const created = await json("keys", "create", "--new-tenant", "--name", "n");
  expect(created).toMatchObject({ tenant: "acme", secret: expect.any(String) });
  expect(await json("keys", "list")).toMatchObject([{ name: "n" }]);
  expect(await json("knowledge", "list")).toEqual([]);
  expect(await json("payments", "list", "--flagged")).toEqual([]);
  expect(await json("webhooks", "create", "https://a.example/h")).toMatchObject({
    url: "https://a.example/h",
  });
  expect(await json("webhooks", "list")).toMatchObject([{ url: "https://a.example/h" }]);
  expect(await json("turns", "list")).toEqual([]);
});
