/**
 * `StoreClock` follows the store's clock: it reads it now and then, and adds the time of a monotonic clock since.
 *
 * Invariant: a jump of this machine's clock changes nothing. A failed read keeps the last one, which a monotonic clock
 * continues.
 */
import type { Leases } from "../../store/leases.ts";

export class StoreClock {
  readonly #leases: Pick<Leases, "clock">;
  readonly #monotonic: () => number;
  #offset = 0;

  constructor(leases: Pick<Leases, "clock">, monotonic: () => number = () => performance.now()) {
    this.#leases = leases;
    this.#monotonic = monotonic;
  }

  /** Milliseconds since 1970. Call `sync` first. */
  now(): number {
    return Math.round(this.#monotonic() + this.#offset);
  }

  /** @throws an error of the store */
  async sync(): Promise<void> {
    const sentAt = this.#monotonic();
    const time = await this.#leases.clock();
    // The store read its clock at some time between the request and the answer.
    this.#offset = time - (sentAt + this.#monotonic()) / 2;
  }
}
