/** Tests `turnstream audit` on a real database: what a role with all rights rewrites is found, also in an export. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPostgresStore, openDatabase } from "@turnstream/server";
import type { AuditEntry, AuditRow, ClosableStore } from "@turnstream/server/internal";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ran } from "./ran.ts";

const KEY = "k".repeat(32);
const NEW_KEY = "n".repeat(32);
/** More than a page. */
const ROWS = 1_003;
let url: string;
let store: ClosableStore;
let folder: string;
let tenant: string;
let count = 0;

beforeAll(async () => {
  url = await migratedDatabaseUrl();
  store = createPostgresStore(openDatabase({ url }), { auditKey: KEY });
  folder = await mkdtemp(join(tmpdir(), "turnstream-audit-"));
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  tenant = `acme${++count}`;
  await store.tenants.create({ id: tenant, name: tenant });
  for (let n = 1; n <= 6; n++) await decided(n);
});

const entryOf = (n: number): AuditEntry => ({
  actor: "an",
  action: n === 4 ? "approval.rejected" : "approval.approved",
  subject: { session: `s${n}` },
});
const decided = (n: number) => store.audit.add(tenant, entryOf(n));
const audit = (key: string | null, command: string, ...args: string[]) =>
  ran(["audit", command, "--tenant", tenant, ...args], {
    DATABASE_URL: url,
    ...(key === null ? {} : { TURNSTREAM_AUDIT_KEY: key }),
  });
const verify = (...args: string[]) => audit(KEY, "verify", ...args);
const fault = (text: string) => ({ code: 1, err: expect.stringContaining(text) as string });

async function save(name: string, text: string): Promise<string> {
  const path = join(folder, `${tenant}-${name}`);
  await writeFile(path, text);
  return path;
}

const triggers = (state: string) =>
  ["audit_log", "audit_heads"].map((name) => `alter table turnstream.${name} ${state} trigger user`);

/** Switches the triggers off, as the owner of the tables can. */
async function tamper(...statements: string[]): Promise<void> {
  await runSql(url, ...triggers("disable"), ...statements, ...triggers("enable"));
}

test("verify accepts an intact audit, and names the row of an edit", async () => {
  expect(await verify()).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^ok\t6 rows\t[0-9a-f]{64}\n$/),
  });
  await tamper(
    `update turnstream.audit_log set action = 'approval.approved' where tenant_id = '${tenant}' and n = 4`,
  );
  expect(await verify()).toMatchObject(
    fault(`The audit of ${tenant} is not intact: row 4 has a hash that does not fit`),
  );
  const { out } = await verify("--json");
  expect(JSON.parse(out)).toEqual({ ok: false, fault: { n: 4, why: "changed" } });
});

test("a checkpoint shows that the end was cut off, which the database alone doesn't", async () => {
  const { code, out } = await audit(KEY, "checkpoint");
  expect(code).toBe(0);
  const file = await save("checkpoints.jsonl", out);
  expect(await verify("--checkpoint", file)).toMatchObject({ code: 0 });
  const [row] = await store.audit.list(tenant, { after: 2, limit: 1 });
  await tamper(
    `delete from turnstream.audit_log where tenant_id = '${tenant}' and n > 3`,
    `update turnstream.audit_heads set n = 3, hash = '${row?.hash}' where tenant_id = '${tenant}'`,
  );
  expect(await verify()).toMatchObject({ code: 0 });
  expect(await verify("--checkpoint", file)).toMatchObject(fault("row 4 is missing."));
  const forged = await save("forged.jsonl", out.replace('"n":6', '"n":3'));
  expect(await verify("--checkpoint", forged)).toMatchObject(fault("wrong signature"));
  expect(await audit(null, "verify", "--checkpoint", file)).toMatchObject(fault("TURNSTREAM_AUDIT_KEY"));
  expect(await audit(null, "checkpoint")).toMatchObject(fault("TURNSTREAM_AUDIT_KEY"));
});

test("an export is verified without the database, in pages, and a changed or cut export is refused", async () => {
  await store.transaction(async (tx) => {
    for (let n = 7; n <= ROWS; n++) await tx.audit.add(tenant, entryOf(n));
  });
  const { code, out } = await audit(KEY, "export");
  expect(code).toBe(0);
  const lines = out.trimEnd().split("\n");
  expect(lines).toHaveLength(ROWS + 1);
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ head: { tenant, n: ROWS } });
  const offline = async (text: string) =>
    ran(["audit", "verify", "--tenant", tenant, "--file", await save("export.jsonl", text)], {
      TURNSTREAM_AUDIT_KEY: KEY,
    });
  expect(await offline(out)).toMatchObject({ code: 0, out: expect.stringContaining(`${ROWS} rows`) });
  const edited = { ...(JSON.parse(lines[3] ?? "") as AuditRow), action: "approval.approved" };
  expect(await offline(lines.with(3, JSON.stringify(edited)).join("\n"))).toMatchObject(
    fault("row 4 has a hash that does not fit"),
  );
  expect(await offline(lines.toSpliced(9, 1).join("\n"))).toMatchObject(fault("row 10 is missing"));
  expect(await offline(lines.slice(0, -1).join("\n"))).toMatchObject(fault("cut off"));
  expect(await offline([...lines, lines[0]].join("\n"))).toMatchObject(fault("after the end"));
  const shorter = lines.slice(0, 5).concat(lines.at(-1) ?? "");
  expect(await offline(shorter.join("\n"))).toMatchObject(fault("row 6 is missing"));
  expect(await offline("{")).toMatchObject(fault("not JSON"));
  expect(await verify("--file", join(folder, "none"))).toMatchObject(fault("can't be read"));
  expect(out).not.toContain(KEY);
});

test("an audit whose first rows were dropped is verified from its start, which needs a signature with a key", async () => {
  const plain = createPostgresStore(openDatabase({ url }));
  const old = `${tenant}-old`;
  await plain.tenants.create({ id: old, name: old });
  for (let n = 1; n <= 6; n++) await plain.audit.add(old, entryOf(n));
  for (const of of [tenant, old]) {
    const [row] = await plain.audit.list(of, { after: 2, limit: 1 });
    await tamper(
      `delete from turnstream.audit_log where tenant_id = '${of}' and n <= 3`,
      `insert into turnstream.audit_starts (tenant_id, n, hash, at) values ('${of}', 3, '${row?.hash}', 1000)`,
    );
  }
  await plain.close();
  expect(await verify()).toMatchObject(
    fault("row 3 and all before it were removed, without a valid signature"),
  );
  tenant = old;
  expect(await audit(null, "verify")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^ok\trows 4 to 6\t[0-9a-f]{64}\n$/),
    err: expect.stringContaining("Rows up to 3 were dropped because of their age, on 1970-01-01"),
  });
  const { out } = await audit(null, "export");
  const lines = out.trimEnd().split("\n");
  expect(lines).toHaveLength(5);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ start: { tenant, n: 3 } });
  const file = await save("export.jsonl", out);
  expect(await audit(null, "verify", "--file", file)).toMatchObject({ code: 0 });
  const cut = await save("cut.jsonl", out.split("\n").slice(1).join("\n"));
  expect(await audit(null, "verify", "--file", cut)).toMatchObject(fault("row 1 is missing"));
});

test("after the key is replaced, old and new rows are verified with both keys", async () => {
  const both = `${NEW_KEY},${KEY}`;
  const newer = createPostgresStore(openDatabase({ url }), { auditKey: both });
  await newer.audit.add(tenant, { actor: null, action: "memory.edit", subject: {} });
  await newer.close();
  expect(await audit(both, "verify")).toMatchObject({ code: 0 });
  expect(await audit(NEW_KEY, "verify")).toMatchObject(
    fault("row 1 has a key that is not in TURNSTREAM_AUDIT_KEY"),
  );
  const { out } = await audit(both, "checkpoint");
  const old = (await audit(KEY, "checkpoint")).out;
  const file = await save("both.jsonl", old + out);
  expect(await audit(both, "verify", "--checkpoint", file)).toMatchObject({ code: 0 });
  expect(await readFile(file, "utf8")).not.toContain(NEW_KEY);
});

test("a process without the key leaves rows that verify names, until the next row with a key", async () => {
  const plain = createPostgresStore(openDatabase({ url }));
  await plain.audit.add(tenant, { actor: null, action: "memory.edit", subject: {} });
  await plain.close();
  expect(await verify()).toMatchObject(fault("row 7 has no keyed hash"));
  await decided(8);
  expect(await verify()).toMatchObject({ code: 0 });
});

test("an unknown tenant and a key that is too short are errors", async () => {
  for (const command of ["verify", "export", "checkpoint"])
    expect(
      await ran(["audit", command, "--tenant", "none"], { DATABASE_URL: url, TURNSTREAM_AUDIT_KEY: KEY }),
    ).toMatchObject(fault("There is no tenant none."));
  expect(await audit("short", "verify")).toMatchObject(fault("TURNSTREAM_AUDIT_KEY"));
  expect(await ran(["audit", "verify"], {})).toMatchObject({ code: 2 });
});
