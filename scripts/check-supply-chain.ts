/**
 * Checks the lockfile, without the network. `--audit` also checks licences, docs/licences.md and known vulnerabilities,
 * and writes the bill of materials to `.artefacts/sbom.cdx.json`. `npm run licences` (`--write`) writes docs/licences.md.
 *
 * Invariant: vulnerabilities are known only if the registry answers `npm audit`. If it doesn't, the output states it,
 * and the check passes. A finding of the severity high or critical in a dependency that is not a tool fails.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { packages } from "./pack-docs.ts";
import { root } from "./run-command.ts";
import {
  createLicencesPage,
  createSbom,
  lintLockfile,
  listLicenceProblems,
  listPublished,
  type Lockfile,
} from "./supply-chain.ts";

const AUDIT_TIMEOUT_MS = 8_000;

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const run = promisify(execFile);

/** Returns the standard output, also of a command that fails. */
async function outputOf(command: string, args: readonly string[], timeout: number): Promise<string> {
  const { stdout } = await run(command, args, { cwd: root, timeout, maxBuffer: 2 ** 26 }).catch(
    (error: unknown) => error as { stdout?: string },
  );
  return stdout ?? "";
}

interface AuditReport {
  readonly auditReportVersion?: number;
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly range: string }>>;
}

/** Returns the serious findings, or null if the registry doesn't answer. */
async function findVulnerabilities(): Promise<string[] | null> {
  const text = await outputOf("npm", ["audit", "--omit=dev", "--json"], AUDIT_TIMEOUT_MS);
  const report = parse(text) as AuditReport | null;
  if (report?.auditReportVersion === undefined) return null;
  return Object.entries(report.vulnerabilities ?? {})
    .filter(([, { severity }]) => severity === "high" || severity === "critical")
    .map(([name, { severity, range }]) => `${name} ${range} has a vulnerability of the severity ${severity}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const lock = JSON.parse(read("package-lock.json")) as Lockfile;
const published = listPublished(
  lock,
  packages.map((name) => `packages/${name}`),
);
const page = createLicencesPage(published);

function printProblems(problems: readonly string[]): void {
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

async function findLockfileProblems(): Promise<string[]> {
  const registry = await outputOf("npm", ["config", "get", "registry"], AUDIT_TIMEOUT_MS);
  return lintLockfile(lock, URL.parse(registry.trim())?.origin ?? "");
}

if (process.argv.includes("--write")) {
  writeFileSync(join(root, "docs/licences.md"), page);
} else if (process.argv.includes("--audit")) {
  const vulnerabilities = await findVulnerabilities();
  const { version } = JSON.parse(read("packages/server/package.json")) as { readonly version: string };
  mkdirSync(join(root, ".artefacts"), { recursive: true });
  const sbom = JSON.stringify(createSbom(published, version), null, 2);
  writeFileSync(join(root, ".artefacts/sbom.cdx.json"), `${sbom}\n`);
  if (vulnerabilities === null) console.log("npm audit: not available, the registry doesn't answer it");
  else console.log(`npm audit: ${vulnerabilities.length} serious findings`);
  console.log(`${published.length} published dependencies, listed in .artefacts/sbom.cdx.json`);
  printProblems([
    ...listLicenceProblems(lock, published),
    ...(read("docs/licences.md") === page ? [] : ["docs/licences.md is out of date; run npm run licences"]),
    ...(vulnerabilities ?? []),
  ]);
} else {
  printProblems(await findLockfileProblems());
}
