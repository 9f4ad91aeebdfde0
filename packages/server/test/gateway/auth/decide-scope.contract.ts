/**
 * The contract of the scope `decide`: on no path does a caller without it answer or dismiss a question, or submit or
 * decline a form.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { SocketClient, StreamClient } from "../clients.ts";
import { createTestSession, requestInteraction } from "../pending-interactions.ts";
import { openServer, type TestServer } from "../test-server.ts";

type Kind = Parameters<typeof requestInteraction>[2];
type Auth = Readonly<Record<string, string>>;
/** @returns the error, or null if the message was accepted */
type Send = (auth: Auth, ref: SessionRef, message: object) => Promise<string | null>;

const SUBMIT = { email: "typed@example.com" };

export function decideScopeContract(name: string, makeParts?: () => Promise<HarnessBackend>): void {
  describe(`${name}: scope decide`, () => {
    let server: TestServer;
    let parts: HarnessBackend | undefined;
    let withoutDecide: Auth;
    let withDecide: Auth;
    beforeAll(async () => {
      parts = await makeParts?.();
      server = await openServer(parts);
      const tokenOf = async (scopes: readonly string[]) => {
        const body = { user_id: server.actor.user, scopes };
        return { authorization: `Bearer ${(await server.request("POST", "/tokens", { body })).json.token}` };
      };
      withoutDecide = await tokenOf(["read", "write", "share"]);
      withDecide = await tokenOf(["read", "write", "decide"]);
    });
    afterAll(async () => {
      await server.close();
      await parts?.signals.close();
      await parts?.log.close();
      await parts?.store.close();
    });

    const overSocket =
      (dialect: string): Send =>
      async (auth, { session }, message) => {
        const socket = await SocketClient.open({ url: server.url, auth }, { dialect });
        const reply = await socket.request({
          type: "send",
          session_id: session,
          client_message_id: crypto.randomUUID(),
          text: "",
          ...message,
        });
        socket.close();
        return reply["type"] === "ack" ? null : (reply["error"] as string);
      };
    /** With a stream, the response starts when the message is stored. Without a worker no turn answers it. */
    const posted =
      (folder: string, field: string): Send =>
      async (auth, { session }, { text = "", ...message }: { readonly text?: string }) => {
        const stream = await StreamClient.open(`${server.url}/api/v1/${folder}/${session}/messages`, {
          method: "POST",
          headers: { ...auth, "content-type": "application/json" },
          body: JSON.stringify({ [field]: text, stream: true, ...message }),
        });
        const isAccepted = stream.response.status === 200;
        if (!isAccepted) await stream.ended();
        stream.disconnect();
        return isAccepted ? null : (JSON.parse(stream.text) as { readonly error: string }).error;
      };
    const WAYS: readonly (readonly [string, Send])[] = [
      ["a native socket", overSocket("native")],
      ["a blocks socket", overSocket("blocks")],
      ["a tasks socket", overSocket("tasks")],
      ["POST /sessions/{session}/messages", posted("sessions", "text")],
      ["POST /chats/{session}/messages", posted("chats", "message")],
    ];

    const pending = async (kind: Kind) => {
      const { backend, actor } = server;
      const ref = await createTestSession(backend, actor);
      const key = await requestInteraction(backend, ref, kind);
      const status = async () => (await backend.store.interactions.byKey(ref, key))?.status;
      const queued = async () => (await backend.store.queuedMessages.list(ref)).map(({ text }) => text);
      return { ref, key, status, queued };
    };

    test.each(WAYS)("%s submits and declines no form without it", async (_, send) => {
      const { ref, key, status, queued } = await pending("form");
      const submit = { resume_form_request_id: key, form_values: SUBMIT };
      expect(await send(withoutDecide, ref, submit)).toBe("FORBIDDEN");
      expect(await send(withoutDecide, ref, { text: "no", resume_form_request_id: key })).toBe("FORBIDDEN");
      expect([await status(), await queued()]).toEqual(["pending", []]);
      expect(await send(withDecide, ref, submit)).toBeNull();
      expect(await status()).toBe("submitted");
    });

    test.each(WAYS)("%s leaves a question pending without it, and the message waits", async (_, send) => {
      const { ref, status, queued } = await pending("question");
      const messages = ["Dinner", "Something else"];
      for (const text of messages) expect(await send(withoutDecide, ref, { text })).toBeNull();
      const file = { text: "See this", content_urls: ["https://files.example/a.pdf"] };
      expect(await send(withoutDecide, ref, file)).toBeNull();
      expect([await status(), await queued()]).toEqual(["pending", [...messages, file.text]]);
      expect(await send(withDecide, ref, { text: "Dinner" })).toBeNull();
      expect([await status(), await queued()]).toEqual(["answered", [...messages, file.text]]);
    });

    test("no route and no command decides without it", async () => {
      const socket = await SocketClient.open({ url: server.url, auth: withoutDecide });
      for (const [kind, verb, body] of [
        ["approval", "decide", { decision: "approve" }],
        ["approval", "decide", { decision: "reject" }],
        ["question", "answer", { answers: [{ question: "meal", selected: ["dinner"] }] }],
        ["question", "dismiss", {}],
        ["form", "submit", { values: SUBMIT }],
        ["form", "decline", {}],
      ] as const) {
        const { ref, key, status } = await pending(kind);
        const path = `/sessions/${ref.session}/interactions/${key}`;
        const refused = await server.request("POST", `${path}/${verb}`, { headers: withoutDecide, body });
        expect(refused).toMatchObject({ status: 403, json: { error: "FORBIDDEN" } });
        const target = kind === "form" ? { form_request_id: key } : { approval_key: key };
        const command = { type: verb, session_id: ref.session, ...target, ...body };
        expect(await socket.request(command)).toMatchObject({ type: "error", error: "FORBIDDEN" });
        expect(await status()).toBe("pending");
      }
      const { ref, key } = await pending("form");
      const draft = `/sessions/${ref.session}/interactions/${key}/draft`;
      const put = await server.request("PUT", draft, { headers: withoutDecide, body: { values: SUBMIT } });
      expect(put.status).toBe(403);
      socket.close();
    });
  });
}
