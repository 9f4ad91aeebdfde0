/** `fakeClient` returns a client whose list of sessions has the data of a state. Each of its sessions shows the log. */
import type { Client, SessionInfo } from "@turnstream/client";
import type { StaticSession } from "@turnstream/client/static";
import type { GalleryState } from "../states/state.ts";
import { fakeSharing } from "./fake-sharing.ts";

const USED_AT = Date.UTC(2026, 2, 14, 9);
const MINUTE_MS = 60_000;

export function fakeClient(state: GalleryState, session: StaticSession): Client {
  const {
    titles = [],
    hasMore = false,
    isLoading = false,
    agents = [],
    error,
    refusal,
  } = state.sessions ?? {};
  const answer = async <T>(value: T): Promise<T> => {
    if (refusal !== undefined) throw refusal;
    return value;
  };
  return {
    ...fakeSharing(state, session),
    session: () => session,
    async listSessions() {
      if (isLoading) return await new Promise<never>(() => {});
      if (error !== undefined) throw error;
      return { sessions: titles.map(infoOf), nextBefore: hasMore ? "more" : null };
    },
    createSession: ({ title = null } = {}) => answer(infoOf(title, 0)),
    renameSession: (_, title) => answer(infoOf(title, 0)),
    deleteSession: () => answer(undefined),
    listAgents: async () => agents,
    close() {},
  };
}

function infoOf(title: string | null, n: number): SessionInfo {
  const usedAt = USED_AT - n * MINUTE_MS;
  return {
    id: `session${n}`,
    number: n,
    title,
    forkedFromShare: false,
    createdAt: usedAt,
    updatedAt: usedAt,
  };
}
