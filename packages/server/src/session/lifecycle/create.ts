/**
 * `createSession` creates the row of a session, then its log. `ensureSessionLog` and `reopenIdleLog` start or reopen
 * the log alone. They do not start turns.
 *
 * Invariant: if the process dies in between, repeating the call or calling `ensureSessionLog` completes the session.
 * They never take a session from another process: a claim fails if the epoch changed since it was read.
 */
import { comparePositions, type Cursor, parseCursor, START_CURSOR } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { isLogError } from "../../log/errors.ts";
import { type Env, systemEnv } from "../../util/env.ts";
import { isStoreError, StoreError } from "../../store/errors.ts";
import type { Session, SessionWithEpoch } from "../../store/sessions.ts";
import type { Actor, SessionRef } from "../../util/refs.ts";
import { claimSession, type FirstEvent, IDLE, isArchiveBehind } from "./claim.ts";
import type { Backend } from "../backend.ts";
import { defined } from "../../util/defined.ts";

/** The name of the claimer, for operators. */
const BY = "command";

export interface CreateSessionOptions {
  /** With an id, the caller can repeat the call: a session of the same user is returned. Default: a new id. */
  readonly id?: string;
  readonly title?: string;
}

/** @throws StoreError EXISTS if another user has a session with this id */
export async function createSession(
  backend: Backend,
  actor: Actor,
  options: CreateSessionOptions,
  env: Pick<Env, "id"> = systemEnv,
): Promise<Session> {
  const { id = env.id(), title } = options;
  const session = await createRow(backend, actor, { id, ...defined({ title }) });
  await ensureSessionLog(backend, { tenant: actor.tenant, session: id });
  return session;
}

async function createRow(
  { store }: Backend,
  actor: Actor,
  options: CreateSessionOptions & { readonly id: string },
): Promise<Session> {
  try {
    return await store.sessions.create(actor, options);
  } catch (error) {
    const there = isStoreError(error, "EXISTS") ? await store.sessions.get(actor, options.id) : null;
    if (there === null) throw error;
    return there;
  }
}

/**
 * Starts the log of a session that has none and nothing archived.
 * @returns true if it did
 * @throws StoreError NOT_FOUND
 */
export async function ensureSessionLog(backend: Backend, ref: SessionRef): Promise<boolean> {
  const session = await backend.store.sessions.find(ref);
  if (session === null) throw new StoreError("NOT_FOUND", `session ${ref.session}`);
  const head = await backend.log.head(ref);
  const hasLog = head !== null && !isArchiveBehind(head, session.archived);
  if (session.archived !== START_CURSOR || hasLog) return false;
  return claimAlone(backend, ref, session.epoch, { event: sessionStart(session), last: START_CURSOR });
}

/** The first event of a log. */
export function sessionStart({ id, number, title }: Session): EventDraft {
  return { type: "session.start", session: id, number, ...(title === null ? {} : { title }) };
}

/**
 * Makes the log writable if no turn runs and the log has expired, was lost, or was never started. If a turn runs, its
 * worker does that.
 * @returns true if it did
 */
export async function reopenIdleLog(backend: Backend, ref: SessionRef): Promise<boolean> {
  // Read the epoch first: a takeover after this line has a higher one, so the claim below fails.
  const session = await backend.store.sessions.find(ref);
  if (session === null || (await backend.store.running.get(ref)) !== null) return false;
  const head = await backend.log.head(ref);
  const isLost = head === null || isArchiveBehind(head, session.archived);
  if (isLost && session.archived === START_CURSOR) return ensureSessionLog(backend, ref);
  const last = isLost ? session.archived : later(head.last, session.archived);
  return claimAlone(backend, ref, session.epoch, { event: IDLE, last });
}

/**
 * Restarts the log of a session without a running turn if its archive is behind it. Otherwise no reader could join the
 * two until the next message. A worker does the same for a running turn.
 * @returns true if it did
 */
export async function restartOrphanedLog(backend: Backend, ref: SessionRef): Promise<boolean> {
  const { archived } = await backend.store.archive.header(ref);
  const head = await backend.log.head(ref);
  return head !== null && isArchiveBehind(head, archived) && reopenIdleLog(backend, ref);
}

/**
 * Claims only if no other process takes over at the same time; the session then belongs to that process. An allocated
 * epoch must be claimed, or archiving stops. If another writer has appended in the meantime, the claim is repeated
 * after its events.
 */
async function claimAlone(
  backend: Backend,
  ref: SessionRef,
  ifEpoch: number,
  { event, last }: FirstEvent,
): Promise<boolean> {
  let isFirst = true;
  const first = async (): Promise<FirstEvent> => {
    const head = isFirst ? null : await backend.log.head(ref);
    isFirst = false;
    return head === null ? { event, last } : { event: IDLE, last: head.last };
  };
  try {
    let expected = ifEpoch;
    const takeEpoch = async (seen: number): Promise<SessionWithEpoch> => {
      const session = await backend.store.epochs.next(ref, { seen, ifEpoch: expected });
      expected = session.epoch;
      return session;
    };
    await claimSession(backend, ref, { by: BY, event: first, takeEpoch });
    return true;
  } catch (error) {
    if (isLogError(error, "OUTBID") || isStoreError(error, "CONFLICT")) return false;
    throw error;
  }
}

function later(a: Cursor, b: Cursor): Cursor {
  const [one, two] = [parseCursor(a), parseCursor(b)];
  return one !== null && two !== null && comparePositions(one, two) >= 0 ? a : b;
}
