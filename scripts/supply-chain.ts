/**
 * `lintLockfile`, `listLicenceProblems`, `createLicencesPage` and `createSbom` check and describe the dependencies that
 * package-lock.json names. Pure: they read no files and make no requests.
 *
 * Invariant: "published" means what a user installs with our packages: their dependencies, with the dependencies of
 * those. Development tools and optional peers are not part of it. An unknown licence is refused, never ignored.
 */

export interface LockEntry {
  readonly name?: string;
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface Lockfile {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, LockEntry>>;
}

export interface Dependency {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly integrity: string;
  /** The published packages of this repository that need it. */
  readonly usedBy: readonly string[];
}

const MODULES = "node_modules/";

/** Returns true for an entry that npm downloads. The others are links and workspaces. */
function isDownloaded([path, { link = false }]: readonly [string, LockEntry]): boolean {
  return path.includes(MODULES) && !link;
}

function nameAt(path: string, { name }: LockEntry): string {
  return name ?? path.slice(path.lastIndexOf(MODULES) + MODULES.length);
}

/** Packages whose install scripts are known. `.npmrc` disables all install scripts. */
const INSTALL_SCRIPTS: ReadonlySet<string> = new Set(["esbuild"]);

/** A version, a range of versions, or an alias of another package with one. */
const REGISTRY_SPEC =
  /^(?:npm:(?:@[\w.-]+\/)?[\w.-]+@)?(?:[~^]|[<>]=?\s?)?\d[\w.+-]*(?:\s(?:\|\||-|[<>]=?\s?\d).*|\s\|\|.*)?$/;

/**
 * Returns what is wrong with a lockfile.
 * @param registry the origin of the configured registry. Other origins are refused.
 */
export function lintLockfile(lock: Lockfile, registry: string): string[] {
  const problems: string[] = [];
  if (lock.lockfileVersion < 3)
    problems.push(`lockfileVersion must be at least 3, got ${lock.lockfileVersion}`);
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (isDownloaded([path, entry])) problems.push(...lintDownload(path, entry, registry));
    else if (!path.includes(MODULES)) problems.push(...lintSpecs(path, entry));
  }
  return problems;
}

function lintDownload(path: string, entry: LockEntry, registry: string): string[] {
  const { integrity = "", resolved } = entry;
  const origin = resolved === undefined ? registry : (URL.parse(resolved)?.origin ?? resolved);
  return [
    ...(/^sha512-[\w+/]{86}==$/.test(integrity) ? [] : [`${path} has no sha512 integrity`]),
    ...(origin === registry ? [] : [`${path} is not from the configured registry`]),
    ...(entry.hasInstallScript === true && !INSTALL_SCRIPTS.has(nameAt(path, entry))
      ? [`${path} has an install script`]
      : []),
  ];
}

/** A dependency on a repository, an address or a tag could change without a change of the lockfile's hash. */
function lintSpecs(
  path: string,
  { dependencies, devDependencies, optionalDependencies }: LockEntry,
): string[] {
  const specs = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  return specs
    .filter(([, spec]) => spec !== "*" && !REGISTRY_SPEC.test(spec))
    .map(
      ([name, spec]) => `${path === "" ? "the root" : path} depends on ${name} ${spec}, which is no version`,
    );
}

/** @param roots the folders of the published packages */
export function listPublished(lock: Lockfile, roots: readonly string[]): Dependency[] {
  const users = new Map<string, Set<string>>();
  for (const root of roots) {
    const owner = lock.packages[root]?.name ?? root;
    const seen = new Set<string>([root]);
    for (const path of seen) {
      const { dependencies, optionalDependencies } = lock.packages[path] ?? {};
      for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
        const found = resolve(lock, path, name);
        if (found !== null) seen.add(found);
      }
    }
    for (const path of seen)
      if (path.includes(MODULES)) users.set(path, (users.get(path) ?? new Set()).add(owner));
  }
  return [...users]
    .map(([path, usedBy]) => toDependency(path, lock.packages[path] ?? {}, [...usedBy].toSorted()))
    .toSorted((a, b) => (a.name + a.version < b.name + b.version ? -1 : 1));
}

function toDependency(path: string, entry: LockEntry, usedBy: readonly string[]): Dependency {
  const { version = "", license: licence = "none", integrity = "" } = entry;
  return { name: nameAt(path, entry), version, licence, integrity, usedBy };
}

/** Finds a dependency as Node does: in the folder of the package, or in one above it. Links lead to workspaces. */
function resolve({ packages }: Lockfile, from: string, name: string): string | null {
  for (let folder: string | null = from; folder !== null; folder = parentOf(folder)) {
    const path = folder === "" ? MODULES + name : `${folder}/${MODULES}${name}`;
    const entry = packages[path];
    if (entry?.link === true) return entry.resolved ?? null;
    if (entry !== undefined) return path;
  }
  // An optional dependency for another platform.
  return null;
}

function parentOf(folder: string): string | null {
  if (folder === "") return null;
  const at = folder.lastIndexOf(`/${MODULES}`);
  return at < 0 ? "" : folder.slice(0, at);
}

const PERMISSIVE = ["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0"];
const PUBLISHED: ReadonlySet<string> = new Set([...PERMISSIVE, "CC0-1.0", "Zlib"]);
/** Tools are not part of what we publish, so a licence that applies to changed copies is allowed too. */
const TOOLS: ReadonlySet<string> = new Set([...PUBLISHED, "MPL-2.0"]);
/** Only tests run these: a server that names a licence file it doesn't contain, and what Mermaid depends on. */
const TESTED_ONLY: ReadonlySet<string> = new Set([
  "@modelcontextprotocol/server-everything",
  "elkjs",
  "khroma",
  "robust-predicates",
]);

/** Understands the expressions that occur: one licence, or several joined by OR or by AND. */
function isAllowed(expression: string, allowed: ReadonlySet<string>): boolean {
  const plain = expression.replaceAll(/[()]/g, "");
  if (plain.includes(" AND ")) return plain.split(" AND ").every((part) => isAllowed(part, allowed));
  return plain.split(" OR ").some((licence) => allowed.has(licence.trim()));
}

export function listLicenceProblems(lock: Lockfile, published: readonly Dependency[]): string[] {
  const refused = published.filter(({ licence }) => !isAllowed(licence, PUBLISHED));
  const tools = Object.entries(lock.packages)
    .filter(isDownloaded)
    .map(([path, entry]) => toDependency(path, entry, []))
    .filter(({ name, licence }) => !TESTED_ONLY.has(name) && !isAllowed(licence, TOOLS));
  return [...refused, ...tools].map(
    ({ name, version, licence }) => `${name} ${version} has the licence ${licence}, which is not allowed`,
  );
}

export function createLicencesPage(published: readonly Dependency[]): string {
  const counts = new Map<string, number>();
  for (const { licence } of published) counts.set(licence, (counts.get(licence) ?? 0) + 1);
  const sums = [...counts].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  const rows = published.map(
    ({ name, version, licence, usedBy }) => `| ${name} | ${version} | ${licence} | ${usedBy.join(", ")} |`,
  );
  return `# Licences

Turnstream has the licence Apache-2.0. This page lists what you install with its packages: their dependencies, and the dependencies of those. Optional peers and development tools are not part of it. \`npm run licences\` writes this page from package-lock.json, and CI fails if it is out of date.

A dependency must have one of these licences: ${[...PUBLISHED].join(", ")}. Development tools may also have MPL-2.0.

| Licence | Packages |
| --- | --- |
${sums.map(([licence, count]) => `| ${licence} | ${count} |`).join("\n")}

| Package | Version | Licence | Used by |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}

/** Returns a bill of materials in the format CycloneDX 1.6. It has no time and no random id, so it can be compared. */
export function createSbom(published: readonly Dependency[], version: string): object {
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "framework", name: "turnstream", version, "bom-ref": "turnstream" } },
    components: published.map((dependency) => {
      const { name, licence, integrity } = dependency;
      const purl = `pkg:npm/${name.replace("@", "%40")}@${dependency.version}`;
      const content = Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex");
      return {
        type: "library",
        name,
        version: dependency.version,
        "bom-ref": purl,
        purl,
        licenses: [{ expression: licence }],
        hashes: [{ alg: "SHA-512", content }],
      };
    }),
  };
}
