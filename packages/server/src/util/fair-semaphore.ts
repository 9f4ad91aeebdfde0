/**
 * `FairSemaphore` limits how many tasks of a process run concurrently, and lets tenants and their users take turns; see
 * fair-queue.ts for the order.
 * Invariant: at most `width` tasks run, and every slot is returned, also after an error or abort. An aborted caller
 * leaves the queue and does not change the order of the others.
 */
import { FairQueue, type Owner, type QueuedTask } from "./fair-queue.ts";

/** A slot that the caller holds until `release`. */
export interface Slot {
  /** Returns the slot. Calling it again has no effect. */
  release(): void;
  /**
   * Returns the slot while `wait` is pending, so that another task can run, and takes one again afterwards. Waits may
   * overlap. If the signal is aborted meanwhile, the caller continues without a slot, because it only cleans up.
   */
  releaseWhile<T>(signal: AbortSignal, wait: () => Promise<T>): Promise<T>;
}

type Start = () => void;

interface FairSemaphoreOptions {
  /** Which part of the slots one tenant may hold while there are others. @default three quarters */
  readonly part?: number;
  readonly now?: () => number;
}

export class FairSemaphore {
  readonly #queue: FairQueue<Start>;
  readonly #now: () => number;

  constructor(width: number, { part, now = () => performance.now() }: FairSemaphoreOptions = {}) {
    this.#queue = new FairQueue(width, part);
    this.#now = now;
  }

  /** Waits for a slot, then runs `work`. Throws the signal's reason if it is aborted while waiting. */
  async run<T>(owner: Owner, signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T> {
    const slot = await this.acquire(owner, signal);
    try {
      return await work(slot);
    } finally {
      slot.release();
    }
  }

  /** Like `run`, for callers that release the slot themselves. */
  async acquire(owner: Owner, signal: AbortSignal): Promise<Slot> {
    return this.#toSlot(owner, await this.#enter(owner, signal));
  }

  /** Returns a slot if one is free for this owner, and null instead of waiting. */
  tryAcquire(owner: Owner): Slot | null {
    const task = this.#add(owner, () => undefined);
    if (task.state === "running") return this.#toSlot(owner, task);
    this.#queue.end(task, this.#now());
    return null;
  }

  #toSlot(owner: Owner, first: QueuedTask<Start>): Slot {
    let task = first;
    let waits = 0;
    let isOver = false;
    const takeAgain = async (signal: AbortSignal): Promise<void> => {
      const again = await this.#enter(owner, signal).catch(() => null);
      if (again === null) return;
      // Another wait of this caller, or its end, came first.
      if (isOver || waits > 0 || task.state === "running") this.#leave(again);
      else task = again;
    };
    return {
      release: () => {
        isOver = true;
        this.#leave(task);
      },
      releaseWhile: async (signal, wait) => {
        waits++;
        this.#leave(task);
        try {
          return await wait();
        } finally {
          waits--;
          if (waits === 0 && !isOver) await takeAgain(signal);
        }
      },
    };
  }

  async #enter(owner: Owner, signal: AbortSignal): Promise<QueuedTask<Start>> {
    signal.throwIfAborted();
    let start: Start | null = null;
    const task = this.#add(owner, () => start?.());
    if (task.state === "running") return task;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#leave(task);
        reject(signal.reason as Error);
      };
      start = () => {
        signal.removeEventListener("abort", abort);
        resolve(task);
      };
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  #add(owner: Owner, start: Start): QueuedTask<Start> {
    const task = this.#queue.add(owner, start, this.#now());
    this.#startNext();
    return task;
  }

  /** Also after a cancelled wait: the cancelled task may have been the only reason for the share of another tenant. */
  #leave(task: QueuedTask<Start>): void {
    this.#queue.end(task, this.#now());
    this.#startNext();
  }

  #startNext(): void {
    for (let task = this.#queue.take(this.#now()); task !== null; task = this.#queue.take(this.#now()))
      task.item();
  }
}
