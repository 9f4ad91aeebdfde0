/**
 * `openTurnstreamLog` and `openBaseline` are the two ways from an append to a reader that the log bench compares: ours,
 * and the minimum that Redis needs. Both use the same client library with the same settings, and take and return an
 * event.
 */
import { createClient } from "@redis/client";
import { SCHEMA_VERSION } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { createRedisLog, type SessionRef } from "@turnstream/server";

interface LogTarget {
  append(session: number, draft: EventDraft): Promise<unknown>;
  close(): Promise<void>;
}

/** Called for each event that arrives. */
type Arrival = (session: number, event: object) => void;

export type OpenLogTarget = (url: string, sessions: number, arrival: Arrival) => Promise<LogTarget>;

const MINIMAL = `
local id = redis.call('XADD', KEYS[1], '*', 'e', ARGV[1])
redis.call('SPUBLISH', KEYS[1], ARGV[1])
return id`;

export const openBaseline: OpenLogTarget = async (url, sessions, arrival) => {
  const settings = { url, RESP: 3, commandOptions: { timeout: 0 } } as const;
  const [commands, subscriber] = [createClient(settings), createClient(settings)];
  await Promise.all([commands.connect(), subscriber.connect()]);
  const sha = await commands.sendCommand<string>(["SCRIPT", "LOAD", MINIMAL]);
  const keys = Array.from({ length: sessions }, (_, n) => `bare:{${n}}`);
  await Promise.all(
    keys.map((key, n) => subscriber.sSubscribe(key, (message) => arrival(n, JSON.parse(message) as object))),
  );
  return {
    append: (n, draft) => {
      // The same event as ours, except for its position.
      const event = { v: SCHEMA_VERSION, at: Date.now(), ...draft };
      return commands.sendCommand(["EVALSHA", sha, "1", keys[n] ?? "", JSON.stringify(event)]);
    },
    async close() {
      await commands.sendCommand(["DEL", ...keys]);
      commands.destroy();
      subscriber.destroy();
    },
  };
};

export const openTurnstreamLog: OpenLogTarget = async (url, sessions, arrival) => {
  const log = await createRedisLog({ url, keyPrefix: "ours" });
  const refs = Array.from({ length: sessions }, (_, n) => ({ tenant: "bench", session: `s${n}` }));
  const counters = new Uint32Array(sessions);
  const stopped = new AbortController();
  const readers: Promise<void>[] = [];
  for (const [n, ref] of refs.entries()) {
    const event = { type: "session.start", session: ref.session, number: n } as const;
    await log.claim(ref, { epoch: 1, writer: "w", event, archivedUpTo: "0-0" });
    readers.push(read(n, ref));
  }

  /** Reads as a gateway does. */
  async function read(n: number, ref: SessionRef): Promise<void> {
    await log.listen(ref, { after: "1-1", signal: stopped.signal }, (delivery) => {
      if (delivery.type === "end") throw new Error(`a reader ended: ${delivery.reason}`);
      for (const entry of delivery.entries) arrival(n, entry.event);
    });
  }

  return {
    append(n, draft) {
      const counter = (counters[n] ?? 0) + 1;
      counters[n] = counter;
      return log.append(refs[n] as SessionRef, { writer: "w", epoch: 1, counter, events: [draft] });
    },
    async close() {
      stopped.abort();
      await Promise.all(readers);
      await Promise.all(refs.map((ref) => log.remove(ref)));
      await log.close();
    },
  };
};
