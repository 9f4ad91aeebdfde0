/**
 * `FairQueue` decides which waiting task starts next: tenants take turns, and within a tenant its users take turns. It
 * is a state machine without promises or timers; fair-semaphore.ts and time-slicer.ts run it. Invariant: at most
 * `width` tasks run, and tasks of one user start in the order of their calls. A tenant that waits starts a task within
 * one round, unless it runs its share. The share is a part of `width`, three quarters by default and at least 1, while
 * another tenant runs, waits, or used the queue in the last ten minutes. A lone tenant may use the whole width; the
 * process itself is no other tenant. The same rule holds for the users within the share of their tenant. Every
 * operation takes constant time. A user without tasks is removed. A tenant without tasks is removed after those ten
 * minutes, and earlier if there are more than 1,000 of them.
 */

/** The user on whose behalf a task runs. Work of the process itself has the empty name as its tenant and user. */
export interface Owner {
  readonly tenant: string;
  readonly user: string;
}

/**
 * How long a tenant or user counts as present after its last task. Without this, one tenant would take all slots
 * between two tasks of another one, and each of those would wait until a long task ends.
 */
const PRESENT_MS = 10 * 60_000;
/** How many tenants without tasks stay in memory, because their users count as present. */
const MAX_IDLE = 1_000;

/** A task that waits or runs. */
export class QueuedTask<T> {
  readonly item: T;
  readonly share: Share<T>;
  next: QueuedTask<T> | null = null;
  previous: QueuedTask<T> | null = null;
  state: "waiting" | "running" | "over" = "waiting";

  constructor(item: T, share: Share<T>) {
    this.item = item;
    this.share = share;
  }
}

interface Linked<N> {
  next: N | null;
  previous: N | null;
}

/** A doubly linked list, because an array takes linear time to remove an aborted task. */
class LinkedList<N extends Linked<N>> {
  first: N | null = null;
  #last: N | null = null;

  push(node: N): void {
    node.previous = this.#last;
    node.next = null;
    if (this.#last === null) this.first = node;
    else this.#last.next = node;
    this.#last = node;
  }

  remove(node: N): void {
    if (node.previous === null) this.first = node.next;
    else node.previous.next = node.next;
    if (node.next === null) this.#last = node.previous;
    else node.next.previous = node.previous;
    node.next = null;
    node.previous = null;
  }
}

/** The tenant and the user of the process itself. */
const PROCESS = "";

/** What the whole queue, one tenant or one user runs and waits for. */
class Share<T> {
  readonly key: string;
  readonly parent: Share<T> | null;
  readonly children = new Map<string, Share<T>>();
  /** The children with waiting tasks, in the order of their turns. */
  readonly ring = new LinkedList<Share<T>>();
  /** The waiting tasks of a user. */
  readonly tasks = new LinkedList<QueuedTask<T>>();
  next: Share<T> | null = null;
  previous: Share<T> | null = null;
  running = 0;
  waiting = 0;
  /** When the last task of a tenant without tasks ended. */
  idleSince: number | null = null;
  /** The child that used the queue last, and when. */
  #latest = "";
  #latestAt = -Infinity;
  /** When a child other than `#latest` used the queue. */
  #otherAt = -Infinity;

  constructor(key: string, parent: Share<T> | null) {
    this.key = key;
    this.parent = parent;
  }

  child(key: string): Share<T> {
    const child = this.children.get(key) ?? new Share(key, this);
    this.children.set(key, child);
    return child;
  }

  /** Notes that a child uses the queue now. */
  note(key: string, now: number): void {
    if (key === PROCESS) return;
    if (key !== this.#latest) this.#otherAt = this.#latestAt;
    this.#latest = key;
    this.#latestAt = now;
  }

  /** Returns true if the child must leave some slots to its siblings. */
  hasOthers(child: Share<T>, now: number): boolean {
    const usedAt = child.key === this.#latest ? this.#otherAt : this.#latestAt;
    if (now - usedAt < PRESENT_MS) return true;
    const own = child.key === PROCESS ? undefined : this.children.get(PROCESS);
    const others = this.running + this.waiting - child.running - child.waiting;
    return others > (own === undefined ? 0 : own.running + own.waiting);
  }

  addWaiting(count: 1 | -1): void {
    const wasWaiting = this.waiting > 0;
    this.waiting += count;
    if (this.parent === null) return;
    if (!wasWaiting) this.parent.ring.push(this);
    else if (this.waiting === 0) this.parent.ring.remove(this);
  }
}

const THREE_QUARTERS = 0.75;

/** @returns how many tasks a share may run if its parent may run `limit` */
export function shareOf(limit: number, part: number = THREE_QUARTERS): number {
  return Math.max(1, Math.floor(limit * part));
}

export class FairQueue<T> {
  readonly #width: number;
  readonly #part: number;
  readonly #root = new Share<T>("", null);
  /** Tenants without tasks, the longest idle first. */
  readonly #idle = new LinkedList<Share<T>>();
  #idleCount = 0;

  /**
   * @param width how many tasks run at the same time
   * @param part which part of them one tenant may run while there are others
   */
  constructor(width: number, part: number = THREE_QUARTERS) {
    this.#width = width;
    this.#part = part;
  }

  get running(): number {
    return this.#root.running;
  }

  get waiting(): number {
    return this.#root.waiting;
  }

  /** The number of tenants with a running or waiting task. */
  get tenants(): number {
    return this.#root.children.size - this.#idleCount;
  }

  /** The number of tenants that stay in memory without a task. */
  get idleTenants(): number {
    return this.#idleCount;
  }

  add({ tenant, user }: Owner, item: T, now: number): QueuedTask<T> {
    const own = this.#root.child(tenant);
    if (own.idleSince !== null) this.#wake(own);
    const share = own.child(user);
    const task = new QueuedTask(item, share);
    share.tasks.push(task);
    for (let at: Share<T> | null = share; at !== null; at = at.parent) {
      at.addWaiting(1);
      at.parent?.note(at.key, now);
    }
    return task;
  }

  /** Starts the next task. Returns null if none waits, or if all slots or shares are used up. */
  take(now: number): QueuedTask<T> | null {
    const task = this.#pick(this.#root, this.#width, now);
    if (task === null) return null;
    const { share } = task;
    task.state = "running";
    share.tasks.remove(task);
    for (let at: Share<T> | null = share; at !== null; at = at.parent) {
      at.addWaiting(-1);
      at.running++;
      // The siblings get their turns first.
      if (at.waiting === 0 || at.parent === null) continue;
      at.parent.ring.remove(at);
      at.parent.ring.push(at);
    }
    return task;
  }

  /** Removes a task that waits, or ends one that runs. Ending it again has no effect. */
  end(task: QueuedTask<T>, now: number): void {
    const { share, state } = task;
    if (state === "over") return;
    task.state = "over";
    if (state === "waiting") share.tasks.remove(task);
    for (let at: Share<T> | null = share; at !== null; at = at.parent) {
      if (state === "waiting") at.addWaiting(-1);
      else {
        at.running--;
        at.parent?.note(at.key, now);
      }
      if (at.running + at.waiting > 0 || at.parent === null) continue;
      if (at.parent === this.#root) this.#rest(at, now);
      else at.parent.children.delete(at.key);
    }
  }

  #rest(tenant: Share<T>, now: number): void {
    tenant.idleSince = now;
    this.#idle.push(tenant);
    this.#idleCount++;
    for (let oldest = this.#idle.first; oldest !== null; oldest = this.#idle.first) {
      if (this.#idleCount <= MAX_IDLE && now - (oldest.idleSince ?? now) < PRESENT_MS) return;
      this.#wake(oldest);
      this.#root.children.delete(oldest.key);
    }
  }

  #wake(tenant: Share<T>): void {
    this.#idle.remove(tenant);
    this.#idleCount--;
    tenant.idleSince = null;
  }

  /**
   * Finds the first task in the order of turns whose tenant and user are below their limits. It skips few shares:
   * while a slot is free, only `1 / part` children of a share can be at their limit.
   */
  #pick(share: Share<T>, limit: number, now: number): QueuedTask<T> | null {
    if (share.running >= limit) return null;
    const part = shareOf(limit, this.#part);
    for (let child = share.ring.first; child !== null; child = child.next) {
      const task = this.#pick(child, share.hasOthers(child, now) ? part : limit, now);
      if (task !== null) return task;
    }
    return share.tasks.first;
  }
}
