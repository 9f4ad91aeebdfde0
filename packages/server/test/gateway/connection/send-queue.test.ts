/** Tests the bounded send queue in front of a transport: what it writes, queues and drops, in any order of calls. */
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { SendQueue, type Transport } from "../../../src/gateway/connection/send-queue.ts";

/** A transport that buffers up to a number of bytes and passes them on when `read` is called. */
class Pipe implements Transport {
  readonly arrived: string[] = [];
  #holds: Uint8Array[] = [];
  readonly #enough: number;
  isEnded = false;
  isDestroyed = false;

  constructor(enough: number) {
    this.#enough = enough;
  }

  get bufferedBytes(): number {
    return this.#holds.reduce((sum, bytes) => sum + bytes.byteLength, 0);
  }

  write(bytes: Uint8Array): boolean {
    this.#holds.push(bytes);
    return this.bufferedBytes < this.#enough;
  }

  read(): void {
    this.arrived.push(...this.#holds.map((bytes) => Buffer.from(bytes).toString()));
    this.#holds = [];
  }

  end(): void {
    this.isEnded = true;
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

function open({ enough = 10, maxBytes = 20 } = {}) {
  const pipe = new Pipe(enough);
  const events: string[] = [];
  const queue = new SendQueue(
    pipe,
    {
      onFlush: () => events.push("flushed"),
      onDrain: () => events.push("drained"),
      onClose: () => events.push("closed"),
    },
    maxBytes,
  );
  const read = () => {
    pipe.read();
    queue.transportDrained();
  };
  return { pipe, queue, events, read };
}

const bytes = (text: string) => Buffer.from(text);

describe("SendQueue", () => {
  test("writes while the transport accepts, then queues, then reports the flush", () => {
    const { pipe, queue, events, read } = open();
    expect(queue.send(bytes("aaaa"))).toBe("written");
    expect(queue.send(bytes("bbbbbbbb"))).toBe("written");
    expect(queue.send(bytes("c"))).toBe("queued");
    expect(queue.send(bytes("d"))).toBe("queued");
    expect(queue.bufferedBytes).toBe(14);
    read();
    expect(events).toEqual(["flushed"]);
    read();
    expect(pipe.arrived).toEqual(["aaaa", "bbbbbbbb", "c", "d"]);
    expect(events).toEqual(["flushed"]);
  });

  test("drops everything queued above the limit, accepts nothing, and reports when it is drained", () => {
    const { pipe, queue, events, read } = open();
    queue.send(bytes("full......"));
    expect(queue.send(bytes("queued"))).toBe("queued");
    expect(queue.send(bytes("fifteen bytes.."))).toBe("dropped");
    expect(queue.send(bytes("x"))).toBe("dropped");
    expect(queue.bufferedBytes).toBe(10);
    read();
    expect(events).toEqual(["drained"]);
    expect(queue.send(bytes("again"))).toBe("written");
    read();
    expect(pipe.arrived).toEqual(["full......", "again"]);
  });

  test("keeps replies in a drop and sends them before later frames", () => {
    const { pipe, queue, events, read } = open();
    queue.send(bytes("full......"));
    queue.send(bytes("lost"));
    queue.sendReliable(bytes("an answer that fills"));
    expect(queue.send(bytes("lost too.............."))).toBe("dropped");
    expect(queue.bufferedBytes, "the reply is still buffered").toBe(30);
    read();
    expect(events, "the answer has filled the transport again").toEqual([]);
    read();
    expect(events).toEqual(["drained"]);
    expect(pipe.arrived).toEqual(["full......", "an answer that fills"]);
    expect(queue.bufferedBytes).toBe(0);
  });

  test("destroys a connection with too many unread replies", () => {
    const { pipe, queue } = open();
    queue.send(bytes("full......"));
    const answer = bytes("y".repeat(1024));
    for (let i = 0; i < 64; i++) queue.sendReliable(answer);
    expect(pipe.isDestroyed).toBe(false);
    queue.sendReliable(answer);
    expect(pipe.isDestroyed).toBe(true);
    expect(queue.send(answer)).toBe("dropped");
  });

  test("ends after the queued frames and accepts nothing more", () => {
    const { pipe, queue, read } = open();
    queue.send(bytes("full......"));
    queue.send(bytes("last"));
    queue.end();
    expect(pipe.isEnded).toBe(false);
    expect(queue.send(bytes("late"))).toBe("dropped");
    read();
    expect(pipe.isEnded).toBe(true);
    pipe.read();
    expect(pipe.arrived).toEqual(["full......", "last"]);
  });

  test("is stalled after no bytes were read for the timeout, and not while it is empty", () => {
    const { queue, read } = open();
    const clock = vi.spyOn(performance, "now").mockReturnValue(5_000);
    onTestFinished(() => clock.mockRestore());
    expect(queue.isStalled(1e6, 1000)).toBe(false);
    queue.send(bytes("full......"));
    expect(queue.isStalled(5_999, 1000)).toBe(false);
    expect(queue.isStalled(6_000, 1000)).toBe(true);
    read();
    expect(queue.isStalled(1e6, 1000)).toBe(false);
  });

  test("loses nothing that was written or flushed, keeps the order, and respects the limit", () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 1, max: 12 }).map((size) => ({ size })) },
      { weight: 2, arbitrary: fc.constant("read" as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { pipe, queue, events, read } = open();
        const safe: number[] = [];
        let queued: number[] = [];
        const readAll = (): void => {
          const before = events.length;
          read();
          for (const word of events.slice(before)) {
            if (word === "flushed") safe.push(...queued);
            queued = [];
          }
        };
        for (const [i, one] of steps.entries()) {
          if (one === "read") readAll();
          else {
            const sent = queue.send(bytes(String(i).padStart(one.size, "0")));
            if (sent === "written") safe.push(i);
            else if (sent === "queued") queued.push(i);
            else queued = [];
          }
          expect(queue.bufferedBytes - pipe.bufferedBytes).toBeLessThanOrEqual(20);
        }
        for (let i = 0; i < 20; i++) readAll();
        expect(queued, "whatever was queued has had its answer").toEqual([]);
        const arrived = pipe.arrived.map(Number);
        expect(arrived).toEqual(arrived.toSorted((a, b) => a - b));
        expect(new Set(arrived).size).toBe(arrived.length);
        expect(safe.filter((i) => !arrived.includes(i))).toEqual([]);
      }),
    );
  });
});
