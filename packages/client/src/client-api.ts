/**
 * `createClientApi` creates the methods of a client that send one request: for sessions, agents and shares.
 * Invariant: every method rejects only with a `ClientError`.
 */
import type { RestReply } from "@turnstream/protocol/schema";
import type { Client, ClientApi } from "./client-interface.ts";
import { type Api, jsonInit } from "./http/api.ts";
import { toSessionInfo } from "./session-info.ts";
import { createSharingClient, type SharingContext } from "./sharing-client.ts";

export function createClientApi(context: SharingContext): ClientApi {
  return { ...createSessionApi(context.api, context.newId), ...createSharingClient(context) };
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

function sessionPath(id: string): string {
  return `/sessions/${encodeURIComponent(id)}`;
}
