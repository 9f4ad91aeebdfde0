/**
 * `fill` writes a canary text to every place of one session that can store content of a user or a model: store, log,
 * archive, outbox and ledger. The owner's id is a canary too.
 *
 * Invariant: a new column or key with content must be filled here, or the search after an erasure can't find it.
 */
import { paymentsOf } from "@turnstream/payments";
import type { EventDraft } from "@turnstream/protocol/writer";
import { type Backend, type SessionRef, uploadFile } from "@turnstream/server";
import { archiveSession, type Claimed, claimSession } from "@turnstream/server/internal";
import { createOrder } from "./order.ts";

export interface Filled {
  readonly ref: SessionRef;
  readonly user: string;
  readonly canary: string;
  readonly claimed: Claimed;
  readonly orderNo: string;
  /** The id of a share of everything that was archived. */
  readonly share: string;
}

/** An address of the erased user, as a canary. */
export const ADDRESS = "203.0.113.77";

const BLOCK = { turn: "t", run: "main" } as const;
const MONEY = { amount: 990, currency: "TWD" } as const;

/** @param signs the user id in the log's messages; the owner by default */
export async function fill(
  backend: Backend,
  ref: SessionRef,
  user: string,
  canary: string,
  signs = user,
): Promise<Filled> {
  const { store, log } = backend;
  const { tenant, session } = ref;
  await store.sessions.create({ tenant, user }, { id: session, title: canary });
  await store.queuedMessages.add(ref, {
    id: "m2",
    text: canary,
    by: user,
    files: [{ url: `https://x.test/${canary}` }],
  });
  // One message has a running turn, and another one is queued. The claim below takes a higher epoch than the start.
  const turn2 = await startTurn(store, ref);
  await store.running.requestStop(ref, { by: user });
  const event = { type: "session.start", session, number: 1, title: canary } as const;
  const claimed = await claimSession(backend, ref, { by: "chaos", event });
  const { epoch, writer } = claimed;
  await log.append(ref, { epoch, writer, counter: 1, events: turn(signs, canary) });
  await archiveSession(backend, ref);
  const share = await store.shares.create({ tenant, user }, session);
  // This event is only in the log, not in the archive.
  await log.append(ref, {
    epoch,
    writer,
    counter: 2,
    events: [{ type: "session.update", title: canary }],
  });
  const entry = { turn: turn2, key: canary, value: { text: canary }, epoch, isRetained: true };
  await store.journal.write(ref, entry);
  await store.queuedMessages.add(ref, { id: "m3", text: canary, by: user, options: { agent: canary } });
  await store.blobs.put(ref, { id: "b", mediaType: "text/plain", body: Buffer.from(`a blob of ${canary}`) });
  const body = async function* (): AsyncIterable<Uint8Array> {
    yield Buffer.from(`an upload of ${canary}`);
  };
  await uploadFile(backend, ref, { id: "u", name: canary, userId: user, body: body() });
  const draft = { type: "session.update", title: canary } as const;
  await store.outbox.add(ref, { key: "outbox", draft, since: claimed.cursor });
  await ledger(backend, ref, user, canary);
  return { ref, user, canary, claimed, orderNo: orderOf(session), share: share.id };
}

/** Starts the turn of a session. Turns of others that it gets return to the queue. @returns the id of the turn */
async function startTurn({ queue, leases }: Backend["store"], { session }: SessionRef): Promise<string> {
  await leases.take("chaos", 3_600_000);
  const started = await queue.start({ executor: "chaos", agents: [], limit: 1_000, isIdle: false });
  await queue.release(started.filter(({ held }) => held.session !== session).map(({ held }) => held));
  const mine = started.find(({ held }) => held.session === session);
  if (mine === undefined) throw new Error(`the turn of session ${session} was not started`);
  return mine.row.turn;
}

const orderOf = (session: string) => `order.${session}`;

async function ledger({ store }: Backend, ref: SessionRef, user: string, canary: string): Promise<void> {
  const { tenant, session } = ref;
  const place = { ...BLOCK, block: "a", index: 1 };
  const request = { arguments: { canary } };
  await store.interactions.request(ref, { id: "a", kind: "approval", ...place, request });
  const body = { edited: { canary } };
  await store.interactions.change(ref, { id: "a", to: "edited", by: user, reason: canary, body });
  const payment = `p.${session}`;
  await store.interactions.request(ref, { id: payment, kind: "payment", ...place, block: "p", request });
  const orderNo = orderOf(session);
  await createOrder(store, ref, { id: payment, orderNo, description: canary, ...MONEY });
  await paymentsOf(store).apply(orderNo, { type: "cancel", by: user });
  const report = { provider: "newebpay", paid: MONEY, providerRef: null, evidenceHash: null };
  const late = { ...report, event: `${session}.1`, reason: canary } as const;
  await paymentsOf(store).apply(orderNo, { type: "succeeded", ...late });
  // An app may pass an address by mistake, and its ids of sessions may be mail addresses.
  await store.audit.add(tenant, {
    actor: user,
    action: "approval.edited",
    subject: { session, interaction: "a", mail: `${canary}@x.test` },
    detail: { from: ADDRESS },
  });
  const tokens = { calls: 1, input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  await store.usage.add(tenant, { key: `${session}.t`, turns: 1, ...tokens });
}

function turn(by: string, canary: string): EventDraft[] {
  const text = { ...BLOCK, block: "x", index: 0 };
  const tool = { call: "c", name: "search", label: canary };
  const call = { ...BLOCK, block: "c", index: 1, ...tool };
  const result = { ...BLOCK, block: "r", index: 2, ...tool };
  const start = { turn: "t", number: 1, message: "m1", message_number: 1, agent: "a" } as const;
  const artifact = { type: "table", data: { canary } };
  return [
    { type: "message.add", message: "m1", text: canary, by },
    { type: "turn.start", ...start, mode: "agent", from_share: false },
    { type: "run.start", ...BLOCK, agent: "a" },
    { type: "text.start", ...text, part: false },
    { type: "text.delta", ...text, text: canary },
    { type: "text.end", ...text, final: false },
    { type: "tool_call.start", ...call },
    { type: "tool_call.end", ...BLOCK, block: "c", index: 1, input: { canary } },
    { type: "tool_result.start", ...result },
    { type: "tool_result.end", ...BLOCK, block: "r", index: 2, status: "success", preview: canary, artifact },
    { type: "run.end", ...BLOCK, status: "completed" },
    { type: "turn.end", turn: "t", reason: "end_turn", duration_ms: 1 },
  ];
}
