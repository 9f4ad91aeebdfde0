/**
 * `raiseVersion` builds the next release: a copy of the sources in which the schema version is one higher. The copy
 * writes a new event type and a new optional field, and keeps both in new fields of a turn.
 *
 * Invariant: each edit matches exactly once, so a change of the sources can't leave the copy at the old version. The copy
 * shares the installed packages of this repository. `remove` deletes it.
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const REPOSITORY = join(import.meta.dirname, "../../..");
const FOLDERS = [
  "packages/protocol",
  "packages/server",
  "packages/testing",
  "packages/s3",
  "packages/knowledge",
  "packages/payments",
  "packages/client",
  "packages/dialects",
  "tests/conformance",
  "tests/kit",
  "tests/chaos",
];
/** The fields that only the raised version has in a turn. */
export const RAISED_FIELDS = ["note", "mood"] as const;

interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const EDITS: readonly Edit[] = [
  {
    file: "packages/protocol/src/version.ts",
    find: "SCHEMA_VERSION = 1;",
    replace: "SCHEMA_VERSION = 2;",
  },
  {
    file: "packages/protocol/src/fold/turn.ts",
    find: "    duration_ms: null,\n    usage: null,\n",
    replace: "    duration_ms: null,\n    usage: null,\n    note: null,\n    mood: null,\n",
  },
  {
    file: "packages/protocol/src/fold/turn.ts",
    find: "duration_ms: event.duration_ms,",
    replace: "duration_ms: event.duration_ms, mood: event.mood ?? null,",
  },
  {
    file: "packages/protocol/src/fold/fold.ts",
    find: '    case "turn.takeover":\n',
    replace: `    case "turn.note":
      return changeTurn(state, event.turn, (turn) => ({ ...turn, note: event.note }));
    case "turn.takeover":
`,
  },
  {
    file: "packages/server/src/engine/events/turn-writer.ts",
    find: "turn: this.turn.id }, draft) as EventDraft;\n    // Local",
    replace: `turn: this.turn.id }, draft, draft.type === "turn.end" ? { mood: "calm" } : {}) as EventDraft;
    // Local`,
  },
  {
    file: "packages/server/src/engine/events/turn-writer.ts",
    find: "    return this.#writer.write(whole);\n  }\n\n  /** Folds an event about",
    replace: `    const written = this.#writer.write(whole);
    if (draft.type !== "run.start" && draft.type !== "tool_result.end") return written;
    return written.then(() => this.write({ type: "turn.note", note: \`\${draft.type} at \${id}\` }));
  }

  /** Folds an event about`,
  },
];

/** An ended turn of this version has the mood "unknown" in the next one. */
const CONVERT_SNAPSHOT = `{
      turn: (turn) => ({ note: null, mood: turn["duration_ms"] === null ? null : "unknown", ...turn }),
      header: (header) => header,
    }`;

function addUpgradeStep(convertsSnapshots: boolean): Edit {
  return {
    file: "packages/protocol/src/events/upgrade.ts",
    find: "UPGRADE_STEPS: readonly UpgradeStep[] = [];",
    replace: `UPGRADE_STEPS: readonly UpgradeStep[] = [
  {
    event: (event) => (event["type"] === "turn.end" ? { mood: "unknown", ...event } : event),
    snapshot: ${convertsSnapshots ? CONVERT_SNAPSHOT : "null"},
  },
];`,
  };
}

export interface RaiseOptions {
  /** Whether the next version converts snapshots of this one. Otherwise it folds the events again. @default true */
  readonly convertsSnapshots?: boolean;
}

export interface RaisedVersion {
  /** The folder of the copy, with the same layout as this repository. */
  readonly root: string;
  remove(): Promise<void>;
}

export async function raiseVersion({ convertsSnapshots = true }: RaiseOptions = {}): Promise<RaisedVersion> {
  const root = await mkdtemp(join(tmpdir(), "turnstream-raised-"));
  const remove = () => rm(root, { recursive: true, force: true });
  try {
    await copySources(root);
    await linkPackages(root);
    for (const edit of [...EDITS, addUpgradeStep(convertsSnapshots)]) await applyEdit(root, edit);
    return { root, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function isSource(path: string): boolean {
  return !["node_modules", "dist", ".tsc"].includes(basename(path));
}

async function copySources(root: string): Promise<void> {
  for (const folder of FOLDERS)
    await cp(join(REPOSITORY, folder), join(root, folder), { recursive: true, filter: isSource });
  await cp(join(REPOSITORY, "package.json"), join(root, "package.json"));
}

async function linkPackages(root: string): Promise<void> {
  const installed = join(REPOSITORY, "node_modules");
  await mkdir(join(root, "node_modules/@turnstream"), { recursive: true });
  for (const name of await readdir(installed))
    if (name !== "@turnstream") await symlink(join(installed, name), join(root, "node_modules", name));
  for (const folder of FOLDERS) {
    const { name } = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8")) as {
      name: string;
    };
    await symlink(join(root, folder), join(root, "node_modules", name));
    const own = join(REPOSITORY, folder, "node_modules");
    const names = await readdir(own).catch(() => []);
    if (names.length > 0) await symlink(own, join(root, folder, "node_modules"));
  }
}

async function applyEdit(root: string, { file, find, replace }: Edit): Promise<void> {
  const text = await readFile(join(root, file), "utf8");
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(`${file} has ${parts.length - 1} times the text that is to be raised: ${find}`);
  await writeFile(join(root, file), parts.join(replace));
}
