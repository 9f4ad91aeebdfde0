/**
 * `createClient` creates a client: sessions that share one connection, the list of sessions of the signed-in user, the
 * list of agents, and links to sessions.
 * Invariant: the same id always returns the same session store. If another user signs in, all sessions disconnect
 * before any reconnects, so that the previous user's connection closes. Tabs share a connection only in the native
 * dialect. At most 20 idle sessions keep their state.
 */
import type { RestReply } from "@turnstream/protocol/schema";
import { createAuth } from "./auth/auth.ts";
import { createIdentity } from "./auth/identity.ts";
import { createNetworkTransport } from "./transport/network-transport.ts";
import { withCommandTimeout, type Transport } from "./transport/transport.ts";
import { type ClientEnv, createEnv } from "./env.ts";
import { ClientError } from "./errors.ts";
import { type Api, type ApiOptions, createApi, jsonInit } from "./http/api.ts";
import type { ClientOptions } from "./options.ts";
import { createReporter } from "./report.ts";
import { type SessionInfo, toSessionInfo } from "./session-info.ts";
import type { Session, SessionOptions } from "./session/session.ts";
import { listPendingSessions } from "./outbox/storage.ts";
import { SessionStore } from "./session/session-store.ts";
import type { SharingClient } from "./shares.ts";

export interface Client extends SharingClient {
  /** Returns the store of a session; the same store for the same id. */
  session(sessionId: string, options?: SessionOptions): Session;
  /** Creates a session. With `id`, a repeated call returns the same session. @default id: a new one */
  createSession(options?: { readonly id?: string; readonly title?: string }): Promise<SessionInfo>;
  /** Lists the sessions of the user, most recently used first. */
  listSessions(page?: { readonly before?: string; readonly limit?: number }): Promise<SessionPage>;
  renameSession(sessionId: string, title: string): Promise<SessionInfo>;
  /** Deletes a session permanently, with everything in it. */
  deleteSession(sessionId: string): Promise<void>;
  /** Lists the agents that a message can name in `agentId`, by id. */
  listAgents(): Promise<readonly AgentInfo[]>;
  /** Closes the connection. Messages that were sent are not lost, and turns continue on the server. */
  close(): void;
}

export interface AgentInfo {
  readonly id: string;
  /** What the agent does, for users; "" if it has no label. */
  readonly label: string;
  /** What the agent is good for; "" if it has no description. */
  readonly description: string;
  /** What it accepts: text, files whose text it reads, images that its model sees. */
  readonly inputs: readonly ("text" | "file" | "image")[];
}

export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  /** Pass it as `before` to get the next page; null if there is none. */
  readonly nextBefore: string | null;
}

/** Maximum number of sessions without a subscriber that keep their state. Other sessions reload it. */
const MAX_IDLE_SESSIONS = 20;
/** At startup, resume sending in at most this many sessions that still have unsent messages. */
const MAX_RESUMED_OUTBOXES = 10;

/** The `responses` dialect is available only over SSE. */
const DEFAULT_CHANNELS = {
  native: ["websocket", "sse"],
  blocks: ["websocket", "sse"],
  tasks: ["websocket", "sse"],
  responses: ["sse"],
} as const;

export function createClient(options: ClientOptions): Client {
  const { url, dialect } = options;
  const env = createEnv(options.env);
  const report = createReporter(options);
  const identity = createIdentity(url, env.storage, report);
  const auth = createAuth(options.auth, env, (credentials) => {
    identity.update(credentials);
    shared?.onUserKnown();
    resumeOutboxes();
  });
  const api = createApi({ url, auth, env, report });
  const channels = options.channels ?? DEFAULT_CHANNELS[dialect?.name ?? "native"];
  const createTransport = (page = env.page): Transport =>
    createNetworkTransport({ api, env: { ...env, page }, channels, dialect });
  // In other dialects each tab assigns its own positions, so tabs can't share a connection.
  const tabs = dialect === undefined ? options.tabs : undefined;
  const request: Api["request"] = (path, init) => api.request(path, init);
  const shared = tabs?.({ url, auth, createTransport, request, env, report }) ?? null;
  const transport = withCommandTimeout(shared ?? createTransport(), env, report);
  /** Insertion order is recency: the last used session is the last entry. */
  const sessions = new Map<string, SessionStore>();
  identity.onChange((isOtherUser) => {
    // All sessions disconnect before any reconnects, so that the previous user's connection closes.
    const reconnects = [...sessions.values()].map((session) => session.onIdentityChange(isOtherUser));
    shared?.onUserChange();
    for (const reconnect of reconnects) reconnect();
  });
  const getSession = (id: string, { snapshot }: SessionOptions = {}): SessionStore => {
    const session = sessions.get(id) ?? new SessionStore(id, { url, transport, api, env, identity });
    sessions.delete(id);
    sessions.set(id, session);
    if (snapshot) session.hydrate(snapshot);
    const idle = [...sessions.values()].filter(({ isIdle }) => isIdle);
    for (const idleSession of idle.slice(0, -MAX_IDLE_SESSIONS)) idleSession.dropState();
    return session;
  };
  let resumedFor: string | null = null;
  /** Sends the unsent messages of sessions that this page does not show. */
  const resumeOutboxes = (): void => {
    if (identity.name === null || identity.name === resumedFor) return;
    resumedFor = identity.name;
    for (const id of listPendingSessions(env.storage, url, identity.name, report).slice(
      0,
      MAX_RESUMED_OUTBOXES,
    ))
      getSession(id).sendPending();
  };
  return {
    session: getSession,
    ...createSessionApi(api, env.createId),
    ...createLazySharing(api, { url, env }),
    close() {
      for (const session of sessions.values()) session.close();
      sessions.clear();
      transport.close();
    },
  };
}

function createSessionApi(
  api: Api,
  newId: () => string,
): Pick<Client, "createSession" | "listSessions" | "renameSession" | "deleteSession" | "listAgents"> {
  return {
    async listAgents() {
      const { agents } = (await api.json("/agents")) as RestReply<"agents">;
      return agents.map(({ agent_id: id, ...agent }) => ({ id, ...agent }));
    },
    async createSession({ id: session_id, title } = {}) {
      const body = { session_id, title };
      return toSessionInfo(
        await api.json("/sessions", jsonInit("POST", body, { "idempotency-key": newId() })),
      );
    },
    async listSessions({ before, limit } = {}) {
      const query = new URLSearchParams({
        ...(before === undefined ? {} : { before }),
        ...(limit === undefined ? {} : { limit: String(limit) }),
      });
      const page = (await api.json(`/sessions?${query}`)) as {
        readonly sessions: readonly unknown[];
        readonly next_before: string | null;
      };
      return { sessions: page.sessions.map(toSessionInfo), nextBefore: page.next_before };
    },
    async renameSession(id, title) {
      return toSessionInfo(await api.json(sessionPath(id), jsonInit("PATCH", { title })));
    },
    async deleteSession(id) {
      await api.json(sessionPath(id), { method: "DELETE" });
    },
  };
}

/** Few pages share sessions, so the code loads with the first call. */
function createLazySharing(api: Api, { url, env }: Omit<ApiOptions, "auth"> & { env: ClientEnv }) {
  const load = async (): Promise<SharingClient> => {
    const { createSharingClient, NO_AUTH } = await import("./shares-chunk.ts").catch((cause: unknown) => {
      const message = "The code for sharing can't be loaded.";
      throw api.report.error(new ClientError("OFFLINE", message, { cause, canRetry: true }));
    });
    const publicApi = createApi({ url, auth: NO_AUTH, env, report: api.report });
    return createSharingClient({ api, publicApi, newId: env.createId });
  };
  const sharing: SharingClient = {
    share: async (...args) => (await load()).share(...args),
    listShares: async (...args) => (await load()).listShares(...args),
    revokeShare: async (...args) => (await load()).revokeShare(...args),
    openShare: async (...args) => (await load()).openShare(...args),
    fork: async (...args) => (await load()).fork(...args),
  };
  return sharing;
}

function sessionPath(id: string): string {
  return `/sessions/${encodeURIComponent(id)}`;
}
