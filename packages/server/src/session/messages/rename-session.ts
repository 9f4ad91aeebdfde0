/** Gives a session another title, and tells whoever looks at it. Committed in the store first, then brought to the log. */
import type { Env } from "../../util/env.ts";
import type { Session } from "../../store/ports/sessions.ts";
import type { Actor, SessionRef } from "../../store/refs.ts";
import { publishOutbox } from "../archive/publish-outbox.ts";
import type { Backend } from "../backend.ts";

/** Throws NOT_FOUND when it isn't theirs. */
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
    // As it is stored: a half character is none there.
    await tx.outbox.add(ref, { key, draft: { type: "session.update", title: session.title ?? title } });
    return session;
  });
  await publishOutbox(backend, ref);
  return renamed;
}
