/**
 * `sessionRoutes` create, list, rename and erase sessions. Other modules have the routes for their content.
 * Invariant: creating a session with an id of the caller again returns the existing one. `toSessionJson` exposes
 * neither tenant nor user.
 */
import { z } from "zod";
import { SESSION_ID_PATTERN, SESSION_ID_RULE } from "../../../util/names.ts";
import { createSession } from "../../../session/lifecycle/create.ts";
import { eraseSession } from "../../../session/lifecycle/erase.ts";
import { renameSession } from "../../../session/messages/rename-session.ts";
import { MAX_PAGE } from "../../../store/rules/arguments.ts";
import { type Session } from "../../../store/sessions.ts";
import { RequestError } from "../../errors.ts";
import { type Route, defineRoute } from "../route.ts";
import { defined } from "../../../util/defined.ts";

const DEFAULT_PAGE = 20;
const title = z.string().min(1).max(500);
const sessionId = z.string().regex(SESSION_ID_PATTERN, `must be ${SESSION_ID_RULE}`);

/** Converts a session to the JSON that clients receive. */
export function toSessionJson(session: Session) {
  const { id, number, title: name, forkedFromShare, createdAt, updatedAt } = session;
  return {
    session_id: id,
    chat_id: number,
    title: name,
    forked_from_share: forkedFromShare,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}

const create = defineRoute({
  method: "POST",
  path: "/sessions",
  summary: "Creates a session. With an id chosen by the caller, a repeat returns the same session.",
  scope: "write",
  idempotent: true,
  body: z.strictObject({ session_id: sessionId.exactOptional(), title: title.exactOptional() }),
  async handle({ context, caller, body, newId }) {
    const options = {
      id: body.session_id ?? newId(),
      ...defined({ title: body.title }),
    };
    const session = await createSession(context, caller, options, context.env);
    return { status: 201, json: toSessionJson(session), session: session.id };
  },
});

const list = defineRoute({
  method: "GET",
  path: "/sessions",
  summary: "Lists the caller's sessions, the last used first.",
  scope: "read",
  query: z.strictObject({
    limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE),
    before: z.string().max(1_000).exactOptional(),
  }),
  async handle({ context, caller, query }) {
    const { sessions, next } = await context.store.sessions.list(caller, query);
    return { status: 200, json: { sessions: sessions.map(toSessionJson), next_before: next } };
  },
});

const get = defineRoute({
  method: "GET",
  path: "/sessions/{session}",
  summary: "Returns one session.",
  scope: "read",
  async handle({ context, caller, ref }) {
    const session = await context.store.sessions.get(caller, ref.session);
    if (session === null) throw new RequestError("NOT_FOUND", "The session was deleted.");
    return { status: 200, json: toSessionJson(session) };
  },
});

const rename = defineRoute({
  method: "PATCH",
  path: "/sessions/{session}",
  summary: "Renames a session. Its subscribers see the new title immediately.",
  scope: "write",
  body: z.strictObject({ title }),
  async handle({ context, caller, ref, body }) {
    return {
      status: 200,
      json: toSessionJson(await renameSession(context, caller, ref, body.title, context.env)),
    };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: "/sessions/{session}",
  summary: "Permanently erases a session and everything in it.",
  scope: "write",
  async handle({ context, ref }) {
    await eraseSession(context, ref);
    return { status: 204 };
  },
});

export const sessionRoutes: readonly Route[] = [create, list, get, rename, remove];
