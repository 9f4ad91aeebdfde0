/** Creates sessions with a pending interaction, without an agent. */
import type { Json } from "@turnstream/protocol";
import type { Caller } from "../../src/gateway/caller.ts";
import { createSession } from "../../src/session/lifecycle/create.ts";
import type { CommandBackend } from "../../src/session/backend.ts";
import type { InteractionRequest } from "../../src/store/interactions.ts";
import type { Actor, SessionRef } from "../../src/util/refs.ts";

export const testCaller: Caller = {
  tenant: "acme",
  user: "an",
  scopes: [],
  key: null,
  expiresAt: null,
  from: "127.0.0.1",
  clientId: "c1",
};

export async function createTestSession(
  parts: CommandBackend,
  caller: Actor = testCaller,
): Promise<SessionRef> {
  const { id } = await createSession(parts, caller, {});
  return { tenant: caller.tenant, session: id };
}

const REQUESTS: Readonly<Record<"approval" | "question" | "form", Json>> = {
  approval: {
    actions: [{ name: "trade", label: "Trade", input: { count: 1 } }],
    editable: true,
    always: true,
    agent: "broker",
    tool_digest: "sha256:tool",
  },
  question: {
    questions: [
      {
        id: "meal",
        text: "Which meal?",
        options: [{ id: "dinner", label: "Dinner" }],
        multiple: false,
        free_text: false,
      },
    ],
  },
  form: {
    schema: {
      id: "contact",
      title: "Contact",
      fields: [{ name: "email", label: "E-mail", type: "text", required: true }],
    },
    agent: "guide",
  },
};

/** @returns the key that commands use */
export async function requestInteraction(
  { store }: CommandBackend,
  ref: SessionRef,
  kind: keyof typeof REQUESTS,
  more: Partial<InteractionRequest> = {},
): Promise<string> {
  const { length } = await store.interactions.list(ref);
  const key = `${kind}-${length}`;
  await store.interactions.request(ref, {
    id: key,
    kind,
    turn: "t1",
    run: "main",
    block: `b${length}`,
    index: length,
    request: REQUESTS[kind],
    ...more,
  });
  return key;
}
