/**
 * `killTree`, `freezeTree` and `listDescendants` work on a process and all its descendants, as Linux lists them in
 * /proc.
 *
 * Invariant: signals go to single process ids, never to a name. Process groups would not work: each child of PostgreSQL
 * leads its own group.
 */
import { readdirSync, readFileSync } from "node:fs";

interface Listed {
  parent: number;
  /** One letter; Z is a zombie: a process that has ended and whose parent has not waited for it. */
  state: string;
}

function look(pid: number): Listed | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The process name before it is in parentheses and may contain any character.
  const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { parent: Number(parent), state };
}

export function isAlive(pid: number): boolean {
  const listed = look(pid);
  return listed !== undefined && listed.state !== "Z";
}

/** Returns all running processes that `root` has started, directly or indirectly. */
export function listDescendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    const listed = Number.isInteger(pid) ? look(pid) : undefined;
    if (listed === undefined || listed.state === "Z") continue;
    const siblings = children.get(listed.parent);
    if (siblings) siblings.push(pid);
    else children.set(listed.parent, [pid]);
  }
  const found = children.get(root) ?? [];
  // `found` grows during the loop.
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    const hasEnded = error instanceof Error && "code" in error && error.code === "ESRCH";
    if (!hasEnded) throw error;
  }
}

/** Stops the root first: otherwise it could start another child while the others are being stopped. */
export function freezeTree(root: number): void {
  signal(root, "SIGSTOP");
  for (const pid of listDescendants(root)) signal(pid, "SIGSTOP");
}

export function thawTree(root: number): void {
  for (const pid of listDescendants(root)) signal(pid, "SIGCONT");
  signal(root, "SIGCONT");
}

/** Returns the ids of all killed processes. They may take a moment to disappear. */
export function killTree(root: number): number[] {
  signal(root, "SIGSTOP");
  const pids = [root, ...listDescendants(root)];
  for (const pid of pids) signal(pid, "SIGKILL");
  return pids;
}
