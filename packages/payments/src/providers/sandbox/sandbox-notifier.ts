/**
 * `SandboxNotifier` sends the notifications of the payment sandbox, as often and as late as the test wants.
 *
 * Invariant: a notification is written when it is sent, so a late one has the order's result of that moment. `close`
 * drops the ones that still wait.
 */
import type { NotificationOverrides, SandboxOrders } from "./sandbox-orders.ts";

export interface SandboxBehavior {
  /**
   * When the sandbox notifies about a result: immediately and `once` or `twice`, `late`, `never`, or `reordered`: it
   * collects notifications for `delayMs` and sends the newest first.
   */
  readonly notify: "once" | "twice" | "late" | "never" | "reordered";
  /** Delay of `late` and `reordered`. @default 1000 */
  readonly delayMs?: number;
}

const DEFAULT_DELAY_MS = 1_000;
const TIMEOUT_MS = 10_000;

export class SandboxNotifier {
  behavior: SandboxBehavior;
  readonly #orders: SandboxOrders;
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Order numbers whose notifications are collected, the oldest first. */
  readonly #waiting: string[] = [];
  readonly #closed = new AbortController();

  constructor(orders: SandboxOrders, behavior: SandboxBehavior) {
    this.#orders = orders;
    this.behavior = behavior;
  }

  /** Sends what has to be sent immediately, and schedules the rest. */
  async notify(orderNo: string): Promise<void> {
    const { notify, delayMs = DEFAULT_DELAY_MS } = this.behavior;
    if (notify === "never") return;
    if (notify === "late") {
      this.#schedule(delayMs, () => this.send(orderNo));
    } else if (notify === "reordered") {
      this.#waiting.push(orderNo);
      if (this.#waiting.length === 1) this.#schedule(delayMs, () => this.#sendWaiting());
    } else {
      await this.send(orderNo);
      if (notify === "twice") await this.send(orderNo);
    }
  }

  /** @returns the HTTP status, or null if the receiver can't be reached */
  async send(orderNo: string, overrides: NotificationOverrides = {}): Promise<number | null> {
    const { notifyUrl } = this.#orders.get(orderNo);
    const body = new URLSearchParams(this.#orders.notification(orderNo, overrides));
    const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    let status: number | null = null;
    try {
      const response = await fetch(notifyUrl, { method: "POST", body, signal, redirect: "manual" });
      await response.body?.cancel();
      ({ status } = response);
    } catch {
      // The receiver is down. The sandbox records it, and the shop asks later.
    }
    this.#orders.addNotified(orderNo, status);
    return status;
  }

  close(): void {
    this.#closed.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  async #sendWaiting(): Promise<void> {
    for (const orderNo of this.#waiting.splice(0).toReversed()) await this.send(orderNo);
  }

  #schedule(delayMs: number, task: () => Promise<unknown>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // It fails only if the order was dropped because of newer ones.
      task().catch(() => {});
    }, delayMs);
    this.#timers.add(timer);
  }
}
