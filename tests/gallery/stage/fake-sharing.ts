/** `fakeSharing` returns the calls of a client for shared sessions, which answer with the data of a state. */
import type { Client } from "@turnstream/client";
import type { StaticSession } from "@turnstream/client/static";
import type { GalleryState } from "../states/state.ts";

type Calls = Pick<Client, "share" | "listShares" | "revokeShare" | "openShare" | "fork">;

const SHARED_AT = Date.UTC(2026, 2, 14, 9);
const DAY_MS = 86_400_000;

export function fakeSharing({ sharing = {} }: GalleryState, session: StaticSession): Calls {
  const link = (id: string, expiresInSeconds: number | null) => ({
    id,
    sessionId: session.id,
    token: `${id}.Zp4mWq8sT1nVb6yLr0KxHc3uEa9dJf2g`,
    createdAt: SHARED_AT,
    expiresAt: expiresInSeconds === null ? null : SHARED_AT + expiresInSeconds * 1_000,
  });
  const never = new Promise<never>(() => {});
  const answer = async <T>(value: () => T): Promise<T> => {
    if (sharing.isLoading === true) return never;
    if (sharing.error !== undefined) throw sharing.error;
    return value();
  };
  return {
    share: async (_, { expiresInSeconds = null } = {}) => {
      if (sharing.refusal !== undefined) throw sharing.refusal;
      return link("new", expiresInSeconds);
    },
    listShares: () =>
      answer(() => ({
        shares: (sharing.links ?? []).map((days, n) => ({
          ...link(`link${n}`, days === null ? null : (days * DAY_MS) / 1_000),
          title: null,
        })),
        nextBefore: sharing.hasMore === true ? "more" : null,
      })),
    revokeShare: async () => {
      if (sharing.refusal !== undefined) throw sharing.refusal;
    },
    openShare: () =>
      answer(() => {
        const { title } = session.getSnapshot().state;
        return { title, createdAt: SHARED_AT, expiresAt: null, session };
      }),
    fork: async () => {
      throw sharing.refusal ?? new Error("the gallery has no sessions");
    },
  };
}
