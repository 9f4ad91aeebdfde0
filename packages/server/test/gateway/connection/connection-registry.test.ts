/**
 * Tests `ConnectionRegistry`: one timer runs the heartbeats of all connections in batches, and `close` closes them all.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Caller } from "../../../src/gateway/caller.ts";
import {
  type Connection,
  ConnectionRegistry,
  type DisconnectReason,
} from "../../../src/gateway/connection/connection-registry.ts";

const HEARTBEAT_MS = 1_000;
const caller: Caller = {
  tenant: "t",
  user: "u",
  scopes: [],
  key: null,
  expiresAt: null,
  from: "127.0.0.1",
  clientId: "c1",
};

class Fake implements Connection {
  readonly caller = caller;
  readonly bufferedBytes = 1;
  readonly #connections: ConnectionRegistry;
  beats = 0;
  left: DisconnectReason | null = null;
  isDestroyed = false;

  constructor(connections: ConnectionRegistry) {
    this.#connections = connections;
    connections.add(this);
  }

  onHeartbeat(): void {
    this.beats++;
  }

  close(why: DisconnectReason): void {
    this.left = why;
    this.#connections.delete(this);
  }

  destroy(): void {
    this.isDestroyed = true;
    this.#connections.delete(this);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("ConnectionRegistry", () => {
  test("runs each heartbeat once a second, a few at a time", () => {
    const connections = new ConnectionRegistry(() => undefined, HEARTBEAT_MS);
    const all = Array.from({ length: 1000 }, () => new Fake(connections));
    vi.advanceTimersByTime(HEARTBEAT_MS / 20);
    expect(all.filter(({ beats }) => beats > 0).length).toBe(50);
    vi.advanceTimersByTime(HEARTBEAT_MS - HEARTBEAT_MS / 20);
    expect(all.every(({ beats }) => beats === 1)).toBe(true);
    vi.advanceTimersByTime(9 * HEARTBEAT_MS);
    expect(all.every(({ beats }) => beats === 10)).toBe(true);
  });

  test("runs every heartbeat while connections are added and removed", () => {
    const connections = new ConnectionRegistry(() => undefined, HEARTBEAT_MS);
    const all = Array.from({ length: 100 }, () => new Fake(connections));
    for (let i = 0; i < 200; i++) {
      vi.advanceTimersByTime(HEARTBEAT_MS / 20);
      const closing = all.splice(i % 50, 1);
      for (const one of closing) connections.delete(one);
      all.push(new Fake(connections));
    }
    const old = all.slice(0, 20);
    const before = old.map(({ beats }) => beats);
    vi.advanceTimersByTime(2 * HEARTBEAT_MS);
    for (const [i, one] of old.entries()) expect(one.beats).toBeGreaterThan(before[i] ?? 0);
  });

  test("runs the other heartbeats when one throws", () => {
    const errors: unknown[] = [];
    const connections = new ConnectionRegistry((error) => errors.push(error), HEARTBEAT_MS);
    const bad = new Fake(connections);
    bad.onHeartbeat = () => {
      throw new Error("boom");
    };
    const good = new Fake(connections);
    vi.advanceTimersByTime(2 * HEARTBEAT_MS);
    expect(good.beats).toBe(2);
    expect(errors.length).toBe(2);
  });

  test("closes all connections, destroys those that don't close, and refuses later ones", async () => {
    const connections = new ConnectionRegistry(() => undefined, HEARTBEAT_MS);
    const polite = new Fake(connections);
    const stubborn = new Fake(connections);
    stubborn.close = () => undefined;
    const closed = connections.close();
    await vi.advanceTimersByTimeAsync(3_000);
    await closed;
    expect(polite.left).toBe("serverRestart");
    expect(stubborn.isDestroyed).toBe(true);
    expect(new Fake(connections).left).toBe("serverRestart");
    expect(connections.size).toBe(0);
  });
});
