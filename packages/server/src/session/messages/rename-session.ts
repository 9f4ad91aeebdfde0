/**
 * `renameSession` changes the title of a session in the store and then publishes it to subscribers.
 *
 * Invariant: the title and its event are one commit, and only the owner can rename. The event has the title as the
 * store saved it.
 */
import type { Env } from "../../util/env.ts";
import type { Session } from "../../store/sessions.ts";
import type { Actor, SessionRef } from "../../util/refs.ts";
import { publishOutbox } from "../archive/relay-outbox.ts";
import type { Backend } from "../backend.ts";

/** @throws StoreError NOT_FOUND if the session doesn't belong to the user */
export async function renameSession(
  backend: Backend,
  actor: Actor,
  ref: SessionRef,
  title: string,
  env: Pick<Env, "id">,
): Promise<Session> {
  const key = `rename/${env.id()}`;
  const renamed = await backend.store.transaction(async (tx) => {
    const session = await tx.sessions.rename(actor, ref.session, title);
    // Publish the stored title, because the store replaces half surrogate pairs.
    await tx.outbox.add(ref, { key, draft: { type: "session.update", title: session.title ?? title } });
    return session;
  });
  await publishOutbox(backend, ref);
  return renamed;
}
