/** Tests `signIn` against a real HTTP server, and how a client treats each of its errors. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { signIn } from "../../src/auth/sign-in.ts";
import { createClient } from "../../src/client.ts";
import type { SessionView } from "../../src/session/session.ts";

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

/** Answers every request with a status and a body, and records the requests. */
async function serve(status: number, body: string): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url, headers } = request;
    received.push({ method, url, type: headers["content-type"], body: await text(request) });
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

test("it returns the token that the gateway issues", async () => {
  const { url, received } = await serve(200, '{"token":"t1","expires_at":1,"user_id":"an"}');
  expect(await signIn(`${url}/`)).toEqual({ token: "t1" });
  expect(received).toEqual([
    { method: "POST", url: "/api/v1/sign-in", type: "application/json", body: "{}" },
  ]);
});

test.for([
  [401, '{"error":"UNAUTHENTICATED","message":"Sign in."}', "UNAUTHENTICATED", false],
  // A proxy in front of the gateway has its own body.
  [401, "<html>", "UNAUTHENTICATED", false],
  [404, '{"error":"NOT_FOUND","message":"There is no such route."}', "BAD_REQUEST", false],
  [404, "<html>", "SERVER_ERROR", true],
  [503, "<html>", "SERVER_ERROR", true],
] as const)("status %i with %s causes %s", async ([status, body, code, canRetry]) => {
  const { url } = await serve(status, body);
  await expect(signIn(url)).rejects.toMatchObject({ name: "ClientError", code, canRetry });
});

test("a gateway without sign-in is named, with what to change", async () => {
  const { url } = await serve(404, '{"error":"NOT_FOUND","message":"There is no such route."}');
  await expect(signIn(url)).rejects.toThrow("turnstream({ user })");
});

test.for([
  [401, "UNAUTHENTICATED"],
  [404, "BAD_REQUEST"],
] as const)("a client closes its connection after status %i, instead of retrying", async ([status, code]) => {
  const error = status === 401 ? "UNAUTHENTICATED" : "NOT_FOUND";
  const { url, received } = await serve(status, JSON.stringify({ error, message: "No." }));
  const client = createClient({ url, auth: () => signIn(url) });
  onTestFinished(() => client.close());
  const session = client.session("any");
  const closed = await new Promise<SessionView>((resolve) => {
    session.subscribe(() => {
      const view = session.getSnapshot();
      if (view.connection.phase === "closed") resolve(view);
    });
  });
  expect(closed.connection.error?.code).toBe(code);
  expect(received.length).toBeLessThanOrEqual(2);
});
