/** Tests how the list of sessions loads, merges pages, and applies changes in any order of responses. */
import { ClientError, type SessionInfo, type SessionPage } from "@turnstream/client";
import { describe, expect, test } from "vitest";
import {
  createSessionListStore,
  NOT_LOADED,
  type SessionCalls,
  withFirstPage,
  withNextPage,
} from "../../src/chat/session-list-store.ts";

function info(id: string, updatedAt: number, title: string | null = id): SessionInfo {
  return { id, number: updatedAt, title, forkedFromShare: false, createdAt: 0, updatedAt };
}

function page(sessions: readonly SessionInfo[], nextBefore: string | null = null): SessionPage {
  return { sessions, nextBefore };
}

const idsOf = (sessions: readonly SessionInfo[] | null) => sessions?.map(({ id }) => id);

describe("pages", () => {
  const two = withNextPage(withFirstPage(NOT_LOADED, page([info("d", 4), info("c", 3)], "c")), {
    sessions: [info("b", 2), info("a", 1)],
    nextBefore: "a",
  });

  test("the next page follows, and a session that moved meanwhile is listed once", () => {
    expect(idsOf(two.sessions)).toEqual(["d", "c", "b", "a"]);
    const again = withNextPage(two, page([info("a", 1), info("z", 0)]));
    expect(idsOf(again.sessions)).toEqual(["d", "c", "b", "a", "z"]);
    expect(again.nextBefore).toBe(null);
  });

  test("a reload of the first page keeps older pages, and moves a session that was used", () => {
    const used = withFirstPage(two, page([info("a", 5), info("d", 4)], "d"));
    expect(idsOf(used.sessions)).toEqual(["a", "d", "c", "b"]);
    expect(used.nextBefore).toBe("a");
  });

  test("a reload drops a session that was deleted elsewhere", () => {
    const reloaded = withFirstPage(two, page([info("d", 4), info("b", 2)], "b"));
    expect(idsOf(reloaded.sessions)).toEqual(["d", "b", "a"]);
    expect(idsOf(withFirstPage(two, page([info("d", 4)])).sessions)).toEqual(["d"]);
    expect(idsOf(withFirstPage(two, page([])).sessions)).toEqual([]);
  });
});

/** A server in memory. Its lists are answered when the test releases them. */
class FakeServer implements SessionCalls {
  sessions: SessionInfo[];
  failure: ClientError | null = null;
  readonly pending: (() => void)[] = [];
  #clock = 100;

  constructor(sessions: SessionInfo[]) {
    this.sessions = sessions;
  }

  async listSessions({ before }: { readonly before?: string; readonly limit?: number } = {}) {
    // Read now, answered later: as a response that is slow.
    const { failure } = this;
    const from = before === undefined ? 0 : this.sessions.findIndex(({ id }) => id === before) + 1;
    const sessions = this.sessions.slice(from, from + 2);
    const isLast = from + 2 >= this.sessions.length;
    await new Promise<void>((resolve) => this.pending.push(resolve));
    if (failure !== null) throw failure;
    return page(sessions, isLast ? null : (sessions.at(-1)?.id ?? null));
  }

  async createSession({ id = "new", title }: { readonly id?: string; readonly title?: string } = {}) {
    const session = info(id, ++this.#clock, title ?? null);
    this.sessions = [session, ...this.sessions];
    return session;
  }

  async renameSession(sessionId: string, title: string) {
    const session = info(sessionId, ++this.#clock, title);
    this.sessions = [session, ...this.sessions.filter(({ id }) => id !== sessionId)];
    return session;
  }

  async deleteSession(sessionId: string) {
    this.sessions = this.sessions.filter(({ id }) => id !== sessionId);
  }

  /** Answers all lists, oldest first, until none is requested any more. */
  async answer(): Promise<void> {
    for (let rest = this.pending.shift(); rest !== undefined; rest = this.pending.shift()) {
      rest();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
}

async function loaded(): Promise<{ server: FakeServer; store: ReturnType<typeof createSessionListStore> }> {
  const server = new FakeServer([info("c", 3), info("b", 2), info("a", 1)]);
  const store = createSessionListStore(server);
  void store.refresh();
  await server.answer();
  return { server, store };
}

describe("the store", () => {
  test("loads page by page, and notifies its subscribers", async () => {
    const { server, store } = await loaded();
    let notified = 0;
    store.subscribe(() => notified++);
    expect(idsOf(store.getSnapshot().sessions)).toEqual(["c", "b"]);
    void store.loadMore();
    expect(store.getSnapshot().isLoading).toBe(true);
    await server.answer();
    expect(idsOf(store.getSnapshot().sessions)).toEqual(["c", "b", "a"]);
    expect(store.getSnapshot()).toMatchObject({ nextBefore: null, isLoading: false });
    expect(notified).toBe(2);
  });

  test("a late response doesn't restore a deleted session", async () => {
    const { server, store } = await loaded();
    void store.refresh();
    await store.remove("b");
    expect(idsOf(store.getSnapshot().sessions)).toEqual(["c"]);
    await server.answer();
    expect(idsOf(store.getSnapshot().sessions)).toEqual(["c", "a"]);
  });

  test("created and renamed sessions are listed first", async () => {
    const { server, store } = await loaded();
    await store.create({ id: "d" });
    expect(idsOf(store.getSnapshot().sessions)).toEqual(["d", "c", "b"]);
    await store.rename("b", "Second");
    await server.answer();
    expect(store.getSnapshot().sessions?.slice(0, 2)).toMatchObject([
      { id: "b", title: "Second" },
      { id: "d" },
    ]);
  });

  test("a failed load keeps the list and its error until a load succeeds", async () => {
    const { server, store } = await loaded();
    server.failure = new ClientError("UNAUTHENTICATED", "Sign in again.");
    void store.refresh();
    await server.answer();
    expect(store.getSnapshot()).toMatchObject({ error: { code: "UNAUTHENTICATED" }, isLoading: false });
    expect(idsOf(store.getSnapshot().sessions)).toEqual(["c", "b"]);
    server.failure = null;
    void store.loadMore();
    await server.answer();
    expect(store.getSnapshot().error).toBe(null);
  });
});
