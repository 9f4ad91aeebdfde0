/**
 * `useShareLinks` loads the links to the session of the thread, and creates and revokes them.
 * Invariant: the list has only what the server confirmed, each link once. A response that arrives after another session is shown is
 * dropped. The newest link is the first.
 */
import type { Client, ListedShare, ShareOptions } from "@turnstream/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useThreadContext } from "../context.ts";

export type SharingCalls = Pick<Client, "share" | "listShares" | "revokeShare">;

export interface ShareLinks {
  /** Null until the first page is loaded. */
  readonly links: readonly ListedShare[] | null;
  readonly hasMore: boolean;
  /** Why the list can't be loaded. */
  readonly error: unknown;
  /** Loads the next page, or the first one again after an error. */
  readonly load: () => Promise<void>;
  readonly create: (options: ShareOptions) => Promise<ListedShare>;
  readonly revoke: (link: ListedShare) => Promise<void>;
}

interface LinkList {
  readonly links: readonly ListedShare[] | null;
  readonly next: string | null;
  readonly error: unknown;
}

const PAGE_SIZE = 20;
const NOT_LOADED: LinkList = { links: null, next: null, error: null };

export function useShareLinks(client: SharingCalls): ShareLinks {
  const { session } = useThreadContext();
  const [loaded, setLoaded] = useState(NOT_LOADED);
  const next = useRef<string | null>(null);
  const current = useRef("");
  const load = useCallback(async () => {
    const sessionId = session.id;
    const before = next.current;
    try {
      const page = await client.listShares({
        sessionId,
        limit: PAGE_SIZE,
        ...(before === null ? {} : { before }),
      });
      if (current.current !== sessionId) return;
      next.current = page.nextBefore;
      setLoaded(({ links }) => ({
        // A link can be created while the first page loads.
        links: withoutDuplicates([...(links ?? []), ...page.shares]),
        next: page.nextBefore,
        error: null,
      }));
    } catch (error) {
      if (current.current === sessionId) setLoaded((list) => ({ ...list, error }));
    }
  }, [client, session]);
  useEffect(() => {
    current.current = session.id;
    next.current = null;
    setLoaded(NOT_LOADED);
    void load();
    return () => {
      current.current = "";
    };
  }, [load, session]);
  return {
    links: loaded.links,
    hasMore: loaded.next !== null,
    error: loaded.error,
    load,
    async create(options) {
      const link = { ...(await client.share(session.id, options)), title: null };
      setLoaded((before) => ({ ...before, links: withoutDuplicates([link, ...(before.links ?? [])]) }));
      return link;
    },
    async revoke(link) {
      await client.revokeShare(link);
      setLoaded((before) => ({ ...before, links: before.links?.filter(({ id }) => id !== link.id) ?? null }));
    },
  };
}

function withoutDuplicates(links: readonly ListedShare[]): readonly ListedShare[] {
  return [...new Map(links.map((link) => [link.id, link])).values()];
}
