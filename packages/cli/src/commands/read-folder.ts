/**
 * `readFolder` lists the files of a folder that a knowledge base accepts, sorted by path.
 * Invariant: it never reads outside the folder: it follows no symbolic links. It skips hidden files and `node_modules`.
 * A file is read only when the import reaches it, and fails above 20 MB. Ids are paths with `/` on every system.
 */
import { open, readdir } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import type { KnowledgeFile } from "@turnstream/knowledge";
import { CommandError } from "../cli-context.ts";

const ENDINGS = new Set([".md", ".markdown", ".txt", ".html", ".htm", ".csv", ".json"]);
const MAX_BYTES = 20_000_000;

/** @param urlPrefix prefix of the addresses where users can read the files; null for none */
export async function readFolder(folder: string, urlPrefix: string | null): Promise<KnowledgeFile[]> {
  const paths = (await pathsIn(folder, "")).toSorted();
  return paths.map((path) => ({
    id: path,
    ...(urlPrefix === null ? {} : { url: `${urlPrefix}${encodeURI(path)}` }),
    read: () => readWhole(join(folder, path)),
  }));
}

/** Does not follow symbolic links, because they can lead out of the folder. Skips hidden files and folders. */
async function pathsIn(folder: string, under: string): Promise<string[]> {
  const entries = await readdir(join(folder, under), { withFileTypes: true }).catch((error: unknown) => {
    throw new CommandError(`Can't read the folder ${join(folder, under)}: ${codeOf(error)}`);
  });
  const paths: string[] = [];
  for (const entry of entries) {
    const path = join(under, entry.name);
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    if (entry.isDirectory()) paths.push(...(await pathsIn(folder, path)));
    else if (entry.isFile() && ENDINGS.has(extname(entry.name).toLowerCase()))
      paths.push(path.split(sep).join("/"));
  }
  return paths;
}

async function readWhole(path: string): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new Error(`The file exceeds ${MAX_BYTES / 1_000_000} MB.`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "unknown";
}
