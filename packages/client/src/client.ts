/** The client of one person: sessions over one connection, and the list of them. */
import { type Auth, createAuth } from "./auth/auth.ts";
import { claimsOf } from "./auth/claims.ts";
import { createPerson } from "./auth/identity.ts";
import { directLink } from "./transport/network-transport.ts";
import { impatientLink, type Link } from "./transport/transport.ts";
import { surroundings } from "./env.ts";
import { type Api, createApi, withJson } from "./http/api.ts";
import type { ClientOptions } from "./options.ts";
import type { Session } from "./session/session.ts";
import { waitingSessions } from "./outbox/storage.ts";
import { LiveSession } from "./session/session-store.ts";
import { createSharedTransport, type SharedLinkOptions } from "./tabs/shared-transport.ts";

export interface Client {
  /** The same store for the same id. */
  session(id: string): Session;
  createSession(wish?: { readonly title?: string }): Promise<SessionInfo>;
  /** The person's sessions, the last used first. */
  sessions(page?: { readonly before?: string; readonly limit?: number }): Promise<SessionPage>;
  rename(id: string, title: string): Promise<SessionInfo>;
  /** With everything in it, for good. */
  erase(id: string): Promise<void>;
  /** Leaves. Nothing that was sent is lost: the server goes on. */
  close(): void;
}

export interface SessionInfo {
  readonly id: string;
  readonly number: number;
  readonly title: string | null;
  /** Milliseconds since 1970, by the server's clock. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  /** `before` of the next page; null when there is none. */
  readonly nextBefore: string | null;
}

/** So many that nobody looks at keep what they have shown; those before are loaded again. */
const KEPT = 20;
/** In so many sessions at a time it is looked after what waits there from before a reload. */
const DELIVERED = 10;

/** `responses` is told in streams only. */
const WIRES = {
  native: ["socket", "stream"],
  blocks: ["socket", "stream"],
  tasks: ["socket", "stream"],
  responses: ["stream"],
} as const;

export function createClient(options: ClientOptions): Client {
  const { url, dialect } = options;
  const env = surroundings(options.env);
  const person = createPerson(url, env.storage);
  const auth = createAuth(options.auth, env, (credentials) => {
    person.known(credentials);
    shared?.known();
    deliver();
  });
  const api = createApi({ url, auth, env });
  const wires = options.wires ?? WIRES[dialect?.name ?? "native"];
  const makeLink = (outside = env.outside): Link =>
    directLink({ api, env: { ...env, outside }, wires, dialect });
  // Positions of another dialect are each tab's own.
  const canShare = options.shareTabs !== false && dialect === undefined;
  const shared = canShare ? createSharedTransport({ makeLink, env, ...sharing(url, auth, api) }) : null;
  const link = impatientLink(shared ?? makeLink(), env);
  /** The last used is the last. */
  const sessions = new Map<string, LiveSession>();
  person.onChange((isAnother) => {
    // All leave before any comes back: the connection of the one before is nobody's then.
    const back = [...sessions.values()].map((session) => session.personChanged(isAnother));
    shared?.moved();
    for (const comeBack of back) comeBack();
  });
  const sessionOf = (id: string): LiveSession => {
    const found = sessions.get(id) ?? new LiveSession(id, { url, link, api, env, person });
    sessions.delete(id);
    sessions.set(id, found);
    const idle = [...sessions.values()].filter(({ isIdle }) => isIdle);
    for (const one of idle.slice(0, -KEPT)) one.forget();
    return found;
  };
  let deliveredFor: string | null = null;
  /** What was written in sessions that this page doesn't show. */
  const deliver = (): void => {
    if (person.name === null || person.name === deliveredFor) return;
    deliveredFor = person.name;
    for (const id of waitingSessions(env.storage, url, person.name).slice(0, DELIVERED))
      sessionOf(id).deliver();
  };
  return {
    session: sessionOf,
    ...sessionList(api, env.id),
    close() {
      for (const session of sessions.values()) session.close();
      sessions.clear();
      link.close();
    },
  };
}

/** Only tabs of the same person share, and only where a token says who that is. */
function sharing(url: string, auth: Auth, api: Api): Pick<SharedLinkOptions, "name" | "request"> {
  return {
    request: (path, init) => api.request(path, init),
    async name() {
      const credentials = await auth.get();
      const { tenant, sub } =
        "token" in credentials ? claimsOf(credentials.token) : { tenant: null, sub: null };
      return tenant === null || sub === null ? null : JSON.stringify([url, tenant, sub]);
    },
  };
}

function sessionList(
  api: Api,
  newId: () => string,
): Pick<Client, "createSession" | "sessions" | "rename" | "erase"> {
  return {
    async createSession(wish = {}) {
      return infoOf(await api.json("/sessions", withJson("POST", wish, { "idempotency-key": newId() })));
    },
    async sessions({ before, limit } = {}) {
      const query = new URLSearchParams({
        ...(before === undefined ? {} : { before }),
        ...(limit === undefined ? {} : { limit: String(limit) }),
      });
      const page = (await api.json(`/sessions?${query}`)) as {
        readonly sessions: readonly unknown[];
        readonly next_before: string | null;
      };
      return { sessions: page.sessions.map(infoOf), nextBefore: page.next_before };
    },
    async rename(id, title) {
      return infoOf(await api.json(pathOf(id), withJson("PATCH", { title })));
    },
    async erase(id) {
      await api.json(pathOf(id), { method: "DELETE" });
    },
  };
}

function pathOf(id: string): string {
  return `/sessions/${encodeURIComponent(id)}`;
}

function infoOf(json: unknown): SessionInfo {
  const { session_id, chat_id, title, created_at, updated_at } = json as {
    readonly session_id: string;
    readonly chat_id: number;
    readonly title: string | null;
    readonly created_at: number;
    readonly updated_at: number;
  };
  return { id: session_id, number: chat_id, title, createdAt: created_at, updatedAt: updated_at };
}
