/**
 * `createClient` creates a client: sessions that share one connection, the list of sessions of the signed-in user, the
 * list of agents, and links to sessions.
 * Invariant: the same id always returns the same session store. If another user signs in, all sessions disconnect
 * before any reconnects, so that the previous user's connection closes. At most 20 idle sessions keep their state.
 */
import { createAuth } from "./auth/auth.ts";
import { createIdentity } from "./auth/identity.ts";
import { createNetworkTransport } from "./transport/network-transport.ts";
import { withCommandTimeout } from "./transport/transport.ts";
import { type ClientEnv, createEnv } from "./env.ts";
import { type Api, type ApiOptions, createApi } from "./http/api.ts";
import type { Client, ClientApi } from "./client-interface.ts";
import { loadOnDemand } from "./load-on-demand.ts";
import type { ClientOptions } from "./options.ts";
import { createReporter } from "./report.ts";
import type { SessionOptions } from "./session/session.ts";
import { listPendingSessions } from "./outbox/storage.ts";
import { mayClose } from "./session/may-close.ts";
import { SessionStore } from "./session/session-store.ts";

/** Maximum number of sessions without a subscriber that keep their state. Other sessions reload it. */
const MAX_IDLE_SESSIONS = 20;
/** At startup, resume sending in at most this many sessions that still have unsent messages. */
const MAX_RESUMED_OUTBOXES = 10;

const DEFAULT_CHANNELS = ["websocket", "sse"] as const;

export function createClient(options: ClientOptions): Client {
  const { url, dialect } = options;
  const env = createEnv(options.env);
  const report = createReporter(options);
  const identity = createIdentity(url, env.storage, report);
  const auth = createAuth(options.auth, env, (credentials) => {
    identity.update(credentials);
    resumeOutboxes();
  });
  const api = createApi({ url, auth, env, report });
  const channels = options.channels ?? dialect?.channels ?? DEFAULT_CHANNELS;
  /** Insertion order is recency: the last used session is the last entry. */
  const sessions = new Map<string, SessionStore>();
  let pendingRequests = 0;
  const network = createNetworkTransport({
    api,
    env,
    channels,
    dialect,
    mayClose: ({ followsTurns }) =>
      mayClose(
        { sessions: [...sessions.values()].map(({ activity }) => activity), pendingRequests },
        { now: env.now(), followsTurns },
      ),
  });
  const transport = withCommandTimeout(network, env, report);
  const countRequest = (by: number): void => {
    pendingRequests += by;
    transport.onActivity();
  };
  const track = async <T>(request: Promise<T>): Promise<T> => {
    countRequest(1);
    return await request.finally(() => countRequest(-1));
  };
  identity.onChange((isOtherUser) => {
    // All sessions disconnect before any reconnects, so that the previous user's connection closes.
    const reconnects = [...sessions.values()].map((session) => session.onIdentityChange(isOtherUser));
    for (const reconnect of reconnects) reconnect();
  });
  const getSession = (id: string, { snapshot }: SessionOptions = {}): SessionStore => {
    const session = sessions.get(id) ?? new SessionStore(id, { url, transport, api, env, identity, track });
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
    ...createLazyApi(api, { url, env }),
    close() {
      for (const session of sessions.values()) session.close();
      sessions.clear();
      transport.close();
    },
  };
}

/** A page shows a session without these methods, so their code loads with the first call. */
function createLazyApi(api: Api, { url, env }: Omit<ApiOptions, "auth"> & { env: ClientEnv }): ClientApi {
  const load = async (): Promise<ClientApi> => {
    const { createClientApi, NO_AUTH } = await loadOnDemand(api.report);
    const publicApi = createApi({ url, auth: NO_AUTH, env, report: api.report });
    return createClientApi({ api, publicApi, newId: env.createId });
  };
  return {
    createSession: async (options) => (await load()).createSession(options),
    listSessions: async (page) => (await load()).listSessions(page),
    renameSession: async (id, title) => (await load()).renameSession(id, title),
    deleteSession: async (id) => (await load()).deleteSession(id),
    listAgents: async () => (await load()).listAgents(),
    share: async (id, options) => (await load()).share(id, options),
    listShares: async (options) => (await load()).listShares(options),
    revokeShare: async (share) => (await load()).revokeShare(share),
    openShare: async (token) => (await load()).openShare(token),
    fork: async (token) => (await load()).fork(token),
  };
}
