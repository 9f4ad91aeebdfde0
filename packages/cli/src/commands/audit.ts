/**
 * `addAudit` adds `turnstream audit`: `verify` checks a tenant's audit for tampering, `export` writes it as JSON lines,
 * and `checkpoint` prints its signed end, to be stored outside the database.
 * Invariant: no command changes the audit. They read it page by page, so memory doesn't grow with it. The exit code of
 * `verify` is 1 for an audit that is not intact, and the message names the first faulty row.
 */
import { open, readFile } from "node:fs/promises";
import {
  readAuditKeys,
  type AuditHead,
  type AuditKey,
  type AuditRow,
  type AuditStart,
  EMPTY_AUDIT_HEAD,
  isStoreError,
  type Store,
} from "@turnstream/server/internal";
import type { Command } from "commander";
import { parseCheckpoints, signCheckpoint } from "../audit/audit-checkpoint.ts";
import {
  AuditChecker,
  type AuditFault,
  type AuditVerdict,
  type VerifyOptions,
  verifyTenantAudit,
} from "../audit/verify-audit.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { requireTenant, withStore } from "../open-backend.ts";

const PAGE = 1_000;

interface TenantOptions {
  readonly tenant: string;
}

interface VerifyCommandOptions extends TenantOptions {
  readonly checkpoint?: string;
  readonly file?: string;
}

export function addAudit(program: Command, context: CliContext): void {
  const audit = program
    .command("audit")
    .description("verify, export and checkpoint the audit of a tenant")
    .addHelpText("after", NOTES)
    .addHelpText("after", examples([VERIFY_EXAMPLE, EXPORT_EXAMPLE, CHECKPOINT_EXAMPLE]));
  const add = (name: string, description: string) =>
    audit.command(name).description(description).requiredOption("--tenant <id>", "the tenant");
  add("verify", "check every row; name the first one that was changed or removed")
    .option("--checkpoint <file>", "checkpoints of `turnstream audit checkpoint`, one per line")
    .option("--file <file>", "check an export instead of the database")
    .addHelpText("after", NOTES)
    .addHelpText(
      "after",
      examples([VERIFY_EXAMPLE, "turnstream audit verify --tenant acme --file acme.jsonl"]),
    )
    .action(action(context, verifyAudit));
  add("export", "write one JSON line per row, and a last line with the end of the audit")
    .addHelpText("after", examples([EXPORT_EXAMPLE]))
    .action(action(context, exportAudit));
  add("checkpoint", "print the signed end of the audit; store it outside the database")
    .addHelpText("after", examples([CHECKPOINT_EXAMPLE]))
    .action(action(context, printCheckpoint));
}

const NOTES = `
TURNSTREAM_AUDIT_KEY signs rows and checkpoints. With several keys, separated by commas, the first one signs and
all of them verify.`;
const VERIFY_EXAMPLE = "turnstream audit verify --tenant acme --checkpoint checkpoints.jsonl";
const EXPORT_EXAMPLE = "turnstream audit export --tenant acme > acme.jsonl";
const CHECKPOINT_EXAMPLE = "turnstream audit checkpoint --tenant acme >> checkpoints.jsonl";

async function verifyAudit(
  call: CommandCall,
  { tenant, checkpoint, file }: VerifyCommandOptions,
): Promise<void> {
  const keys = readAuditKeys(call.settings);
  const checkpoints = checkpoint === undefined ? [] : await readCheckpoints(checkpoint, tenant, keys);
  if (keys.length === 0)
    call.notice(
      "TURNSTREAM_AUDIT_KEY is not set: a chain that was rewritten as a whole is not detected. See docs/audit.md.",
    );
  const options = { keys, checkpoints };
  const verdict =
    file === undefined
      ? await withStore(call.settings, async (store) => {
          await requireAudit(store, tenant);
          return verifyTenantAudit(store.audit, tenant, options);
        })
      : await verifyFile(file, tenant, options);
  if (!verdict.ok) {
    call.print(verdict, []);
    throw new CommandError(`The audit of ${tenant} is not intact: ${describeFault(verdict.fault)}`);
  }
  const { head, start } = verdict;
  const rows = start === null ? `${head.n} rows` : `rows ${start.n + 1} to ${head.n}`;
  call.print(verdict, [`ok\t${rows}\t${head.hash}`]);
  if (start !== null)
    call.notice(
      `Rows up to ${start.n} were dropped because of their age, on ${new Date(start.at).toISOString()}.`,
    );
}

const FAULTS: Readonly<Record<AuditFault["why"], string>> = {
  changed: "has a hash that does not fit: this row or the one before it was changed",
  missing: "is missing",
  cut: "and all before it were removed, without a valid signature that they had expired",
  unknown_key: "has a key that is not in TURNSTREAM_AUDIT_KEY",
  unkeyed:
    "has no keyed hash, and neither has a later row. It was rewritten, or a process has no TURNSTREAM_AUDIT_KEY. If the key is new, this ends with the next entry",
};

function describeFault({ n, why }: AuditFault): string {
  return `row ${n} ${FAULTS[why]}.`;
}

async function readCheckpoints(
  file: string,
  tenant: string,
  keys: readonly AuditKey[],
): Promise<readonly AuditHead[]> {
  if (keys.length === 0)
    throw new CommandError("Set TURNSTREAM_AUDIT_KEY to the key that signed the checkpoints.");
  const text = await readFile(file, "utf8").catch(() => {
    throw new CommandError(`${file} can't be read.`);
  });
  return parseSigned(text, tenant, keys, file);
}

function parseSigned(
  text: string,
  tenant: string,
  keys: readonly AuditKey[],
  file: string,
): readonly AuditHead[] {
  try {
    return parseCheckpoints(text, tenant, keys);
  } catch (error) {
    if (!isStoreError(error, "INVALID")) throw error;
    throw new CommandError(`${file}: ${error.message}`);
  }
}

/** One line of an export. */
type ExportLine = AuditRow | { readonly start: AuditStart } | { readonly head: AuditHead };

async function verifyFile(file: string, tenant: string, options: VerifyOptions): Promise<AuditVerdict> {
  const checker = new AuditChecker(tenant, options);
  let head: AuditHead | null = null;
  for await (const line of readLines(file)) {
    if (head !== null) throw new CommandError(`${file} has lines after the end of the audit.`);
    const parsed = parseLine(line, file);
    if ("head" in parsed) {
      ({ head } = parsed);
      const { keys = [] } = options;
      if ("signature" in head && keys.length > 0) parseSigned(JSON.stringify(head), tenant, keys, file);
      continue;
    }
    const fault = "start" in parsed ? checker.start(parsed.start) : checker.row(parsed);
    if (fault !== null) return checker.verdict(fault);
  }
  if (head === null)
    throw new CommandError(`${file} has no last line with the end of the audit: it is cut off.`);
  return checker.verdict(checker.end(head.n === 0 ? null : head));
}

async function* readLines(file: string): AsyncGenerator<string> {
  const handle = await open(file).catch(() => {
    throw new CommandError(`${file} can't be read.`);
  });
  try {
    for await (const line of handle.readLines()) if (line !== "") yield line;
  } finally {
    await handle.close();
  }
}

function parseLine(line: string, file: string): ExportLine {
  try {
    return JSON.parse(line) as ExportLine;
  } catch {
    throw new CommandError(`${file} has a line that is not JSON.`);
  }
}

async function exportAudit(call: CommandCall, { tenant }: TenantOptions): Promise<void> {
  const keys = readAuditKeys(call.settings);
  await withStore(call.settings, async (store) => {
    await requireAudit(store, tenant);
    // Rows that are added meanwhile are not part of this export.
    const head = (await store.audit.head(tenant)) ?? EMPTY_AUDIT_HEAD;
    const start = await store.audit.start(tenant);
    if (start !== null) call.context.out(`${JSON.stringify({ start })}\n`);
    for (let after = start?.n ?? 0; after < head.n;) {
      const rows = await store.audit.list(tenant, { after, limit: Math.min(PAGE, head.n - after) });
      for (const row of rows) call.context.out(`${JSON.stringify(row)}\n`);
      if (rows.length === 0) break;
      after = rows.at(-1)?.n ?? head.n;
    }
    const end = signed(call, tenant, head, keys[0]);
    call.context.out(`${JSON.stringify({ head: end })}\n`);
  });
}

async function printCheckpoint(call: CommandCall, { tenant }: TenantOptions): Promise<void> {
  const [key] = readAuditKeys(call.settings);
  if (key === undefined) throw new CommandError("Set TURNSTREAM_AUDIT_KEY: it signs the checkpoint.");
  await withStore(call.settings, async (store) => {
    await requireAudit(store, tenant);
    const head = (await store.audit.head(tenant)) ?? EMPTY_AUDIT_HEAD;
    call.context.out(`${JSON.stringify(signed(call, tenant, head, key))}\n`);
  });
}

function signed(call: CommandCall, tenant: string, { n, hash }: AuditHead, key: AuditKey | undefined) {
  const head = { tenant, n, hash, at: call.context.now() };
  return key === undefined ? head : signCheckpoint(head, key);
}

/** The audit outlives its tenant. */
async function requireAudit(store: Store, tenant: string): Promise<void> {
  if ((await store.audit.head(tenant)) === null) await requireTenant(store, tenant);
}
