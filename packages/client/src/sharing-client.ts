/**
 * `createSharingClient` implements the calls for shared sessions over HTTP.
 * Invariant: `openShare` sends no credentials, so a link reveals nothing about its reader. A shared session has no
 * connection; its state changes only when `loadMore` adds earlier turns.
 */
import { restore, type Snapshot, upgradeSnapshot } from "@turnstream/protocol";
import type { RestReply } from "@turnstream/protocol/schema";
import type { Auth } from "./auth/auth.ts";
import { ClientError, otherVersionError, toClientError } from "./errors.ts";
import { type Api, jsonInit } from "./http/api.ts";
import { findMissingHistory, prependTurns, restoreTurns } from "./session/history.ts";
import { toSessionInfo } from "./session-info.ts";
import type { Session } from "./session/session.ts";
import type { ListedShare, SharedSession, ShareInfo, SharingClient } from "./shares.ts";
import { createStaticSession, type StaticSession } from "./static-session.ts";

export interface SharingContext {
  readonly api: Api;
  /** Sends requests without credentials. */
  readonly publicApi: Api;
  readonly newId: () => string;
}

const PAGE_TURNS = 20;

/** The credentials of a reader who may be not signed in. */
export const NO_AUTH: Auth = { current: null, get: async () => ({ headers: {} }), reject: () => {} };

export function createSharingClient({ api, publicApi, newId }: SharingContext): SharingClient {
  const post = (path: string, body: object) =>
    api.json(path, jsonInit("POST", body, { "idempotency-key": newId() }));
  return {
    async share(sessionId, { expiresInSeconds } = {}) {
      const body = expiresInSeconds === undefined ? {} : { expires_in_seconds: expiresInSeconds };
      return toShareInfo((await post(sharesPath(sessionId), body)) as RestReply<"share">);
    },
    async listShares({ sessionId, before, limit } = {}) {
      const query = new URLSearchParams({
        ...(sessionId === undefined ? {} : { session: sessionId }),
        ...(before === undefined ? {} : { before }),
        ...(limit === undefined ? {} : { limit: String(limit) }),
      });
      const { shares, next_before } = (await api.json(`/shares?${query}`)) as RestReply<"shares">;
      const list = shares.map((share): ListedShare => ({ ...toShareInfo(share), title: share.title }));
      return { shares: list, nextBefore: next_before };
    },
    async revokeShare({ id, sessionId }) {
      await api.json(`${sharesPath(sessionId)}/${encodeURIComponent(id)}`, { method: "DELETE" });
    },
    openShare: (token) => openShare(publicApi, token),
    fork: async (token) => toSessionInfo(await post(`${sharePath(token)}/fork`, {})),
  };
}

function sharesPath(sessionId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}/shares`;
}

function sharePath(token: string): string {
  return `/shares/${encodeURIComponent(token)}`;
}

function toShareInfo(share: RestReply<"share">): ShareInfo {
  const { share_id: id, session_id: sessionId, token, created_at, expires_at } = share;
  return { id, sessionId, token, createdAt: created_at, expiresAt: expires_at };
}

async function openShare(api: Api, token: string): Promise<SharedSession> {
  const read = async (query: string) =>
    (await api.json(`${sharePath(token)}?limit=${PAGE_TURNS}${query}`)) as RestReply<"shared">;
  const { title, created_at, expires_at, snapshot } = await read("");
  const shared = upgradeSnapshot(snapshot as unknown as Snapshot);
  if (shared === null) throw otherVersionError();
  const stored = createStaticSession([], {
    gatewayUrl: api.url,
    state: restore(shared),
    onCommand: () => Promise.reject(readOnlyError()),
  });
  const session: Session = {
    ...stored,
    send: () => {
      const done = Promise.reject<void>(readOnlyError());
      // A caller may not wait for it.
      done.catch(() => {});
      return { id: "", done };
    },
    resendMessage: () => {},
    loadFormDraft: async () => null,
    refresh: async () => {},
    loadMore: () => loadMore(stored, (before) => read(`&before=${before}`)),
  };
  return { title, createdAt: created_at, expiresAt: expires_at, session };
}

async function loadMore(
  session: StaticSession,
  readPage: (before: number) => Promise<RestReply<"shared">>,
): Promise<void> {
  const { state, history } = session.getSnapshot();
  const before = findMissingHistory(state);
  if (before === null || history.isLoading) return;
  session.setView({ history: { hasMore: true, isLoading: true, error: null } });
  try {
    const { v = 0, turns = [], has_more: hasMore } = await readPage(before);
    const page = restoreTurns(turns, v);
    session.setView({
      state: prependTurns(state, page, !hasMore),
      history: { hasMore, isLoading: false, error: null },
    });
  } catch (cause) {
    const error = toClientError(cause, "SERVER_ERROR", String(cause));
    session.setView({ history: { hasMore: true, isLoading: false, error } });
    throw error;
  }
}

function readOnlyError(): ClientError {
  return new ClientError("FORBIDDEN", "A shared session is read-only. Fork it to continue it.");
}
