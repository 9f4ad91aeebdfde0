/** The same requests by both doors: Fastify over real HTTP, and the plain handler. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGateway } from "../../src/gateway/gateway.ts";
import { openServer, type TestServer, told } from "./server.ts";

for (const door of ["fastify", "fetch"] as const)
  describe(`by ${door}`, () => {
    let server: TestServer;
    beforeAll(async () => {
      const opened = await openServer(undefined, { origins: ["https://app.example.com"] });
      if (door === "fastify") {
        server = opened;
        return;
      }
      const { parts, secrets } = opened;
      const gateway = createGateway({ ...parts, secrets, origins: ["https://app.example.com"] });
      server = {
        ...opened,
        ask: async (method, path, { body, headers = opened.auth } = {}) =>
          told(
            await gateway.handle(
              new Request(`http://here/api/v1${path}`, {
                method,
                headers: {
                  ...(body === undefined ? {} : { "content-type": "application/json" }),
                  ...headers,
                },
                ...(body === undefined ? {} : { body: JSON.stringify(body) }),
              }),
            ),
          ),
      };
    });
    afterAll(() => server.close());

    test("a session is made, found by id and by number, renamed, listed and erased", async () => {
      const made = await server.ask("POST", "/sessions", { body: { title: "Markets" } });
      expect(made).toMatchObject({ status: 201, json: { title: "Markets", forked_from_share: false } });
      const { session_id: id, chat_id: number } = made.json;
      for (const path of [`/sessions/${id}`, `/sessions/${number}`, `/chats/${id}`, `/chats/${number}`])
        expect((await server.ask("GET", path)).json).toEqual(made.json);
      const renamed = await server.ask("PATCH", `/chats/${number}`, { body: { title: "Other" } });
      expect(renamed).toMatchObject({ status: 200, json: { title: "Other" } });
      const listed = await server.ask("GET", "/sessions?limit=1");
      expect(listed.json).toEqual({ sessions: [renamed.json], next_before: null });
      expect((await server.ask("DELETE", `/sessions/${id}`)).status).toBe(204);
      expect((await server.ask("GET", `/sessions/${id}`)).status).toBe(404);
    });
  });
