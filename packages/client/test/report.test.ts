/** Tests what the app learns about errors and events: `ClientError`, `onError`, `onEvent` and `debug`. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { createClient } from "../src/client.ts";
import { ClientError, errorFromJson, withoutSecrets } from "../src/errors.ts";
import { errorFrame, parseFrame } from "../src/transport/channel.ts";
import { errorFromBody, errorFromResponse } from "../src/http/error-response.ts";
import type { ClientEvent } from "../src/report.ts";

afterEach(() => void vi.restoreAllMocks());

const NO_NETWORK = new TypeError("fetch failed");

/** A client whose server answers each request with the next of the responses, or is not there. */
function open(...answers: (Response | Error)[]) {
  const errors: ClientError[] = [];
  const events: ClientEvent[] = [];
  const client = createClient({
    url: "https://chat.example.com/base/",
    auth: () => ({ token: "secret-token" }),
    onError: (error) => errors.push(error),
    onEvent: (event) => events.push(event),
    env: {
      storage: null,
      fetch: async () => {
        const answer = answers.shift() ?? NO_NETWORK;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
  });
  return { client, errors, events };
}

const caught = async (promise: Promise<unknown>): Promise<ClientError> => {
  const error: unknown = await promise.then(
    () => new Error("nothing was thrown"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ClientError) return error;
  throw error;
};

const refusal = (body: string, status: number) =>
  new Response(body, { status, headers: { "x-request-id": "r-7", "content-type": "text/html" } });

describe("ClientError", () => {
  test("names the status and the request of a refused request", async () => {
    const body = JSON.stringify({ error: "NOT_FOUND", message: "There is no session s." });
    const { client } = open(refusal(body, 404));
    expect(await caught(client.deleteSession("s"))).toMatchObject({
      code: "NOT_FOUND",
      message: "There is no session s.",
      status: 404,
      requestId: "r-7",
    });
  });

  test("has the body of a proxy as its cause", async () => {
    const error = await errorFromResponse(refusal("<h1>Bad gateway</h1>", 502));
    expect(error).toMatchObject({ code: "SERVER_ERROR", status: 502, requestId: "r-7" });
    expect(error.cause).toEqual(new Error("<h1>Bad gateway</h1>"));
  });

  test("names the address of a request without a response, and has its cause", async () => {
    const { client } = open();
    const error = await caught(client.listSessions({ before: "token" }));
    expect(error).toMatchObject({
      code: "OFFLINE",
      status: null,
      requestId: null,
      url: "https://chat.example.com/base/api/v1/sessions",
    });
    expect(error.cause).toBe(NO_NETWORK);
  });

  test("has the cause of a response that is no JSON", async () => {
    const { client } = open(new Response("<html>", { headers: { "x-request-id": "r-8" } }));
    const error = await caught(client.listAgents());
    expect(error).toMatchObject({ code: "SERVER_ERROR", status: 200, requestId: "r-8" });
    expect(error.cause).toBeInstanceOf(SyntaxError);
  });

  test.each([
    ["https://a.example/x?ticket=t#h", "https://a.example/x"],
    ["https://user:password@a.example/x", "https://a.example/x"],
    ["wss://user@a.example/x?\nticket=t", "wss://a.example/x"],
    ["/api/v1/shares/secret/fork", "/api/v1/shares/…/fork"],
    ["/api/v1/sessions/a@b/turns", "/api/v1/sessions/a@b/turns"],
  ])("%j has no secret as %j", (url, safe) => {
    expect(withoutSecrets(url)).toBe(safe);
    expect(new ClientError("OFFLINE", "x", { url }).url).toBe(safe);
  });

  test("keeps everything as JSON, for logs, the storage and other tabs", () => {
    const error = new ClientError("RATE_LIMITED", "Later.", {
      canRetry: true,
      retryAfterSeconds: 5,
      status: 429,
      url: "https://a.example/x?t=1",
      requestId: "r-9",
      cause: new Error("too many"),
    });
    const read = errorFromJson(JSON.parse(JSON.stringify(error)) as Record<string, unknown>);
    expect(read.toJSON()).toEqual({ ...error.toJSON(), cause: "Error: too many" });
    expect(read.url).toBe("https://a.example/x");
  });

  test("is the same error after it was a frame, and JSON can't forge one", () => {
    const error = new ClientError("CONFLICT", "It was decided already.", { status: 409 });
    const { original } = errorFrame("r", error);
    expect(errorFromBody({ original })).toBe(error);
    const forged = JSON.parse('{"error":"FORBIDDEN","original":{"code":"CONFLICT"}}') as object;
    expect(errorFromBody(forged).code).toBe("FORBIDDEN");
  });
});

describe("onError", () => {
  test("gets each error once, and no cancelled request", async () => {
    const { client, errors } = open(refusal("{}", 500), new DOMException("cancelled", "AbortError"));
    const error = await caught(client.listAgents());
    const upload = client
      .session("s")
      .uploadFile(new Blob(["x"]), { name: "x", signal: AbortSignal.abort() });
    expect((await caught(upload)).code).toBe("ABORTED");
    expect(errors).toEqual([error]);
  });

  test("gets the failed attempts of a connection, with their cause", async () => {
    const { client, errors } = open();
    const leave = client.session("s").subscribe(() => {});
    await expect.poll(() => errors.length).toBe(1);
    expect(errors[0]).toMatchObject({ code: "UNSURE", url: "https://chat.example.com/base/api/v1/tickets" });
    expect(errors[0]?.cause).toBe(NO_NETWORK);
    leave();
    client.close();
  });

  test("gets the error of a storage that is full, and the message is sent anyway", async () => {
    const full = new DOMException("full", "QuotaExceededError");
    const errors: ClientError[] = [];
    const bodies: string[] = [];
    const client = createClient({
      url: "",
      auth: () => ({ headers: {} }),
      onError: (error) => errors.push(error),
      env: {
        storage: {
          length: 0,
          key: () => null,
          getItem: () => null,
          setItem: () => {
            throw full;
          },
          removeItem() {},
        },
        fetch: async (_, init) => {
          bodies.push(init?.body as string);
          return new Response("{}");
        },
      },
    });
    await client.session("s").send({ text: "Hello" }).done;
    expect(bodies.join("")).toContain("Hello");
    expect(errors.length).toBeGreaterThan(0);
    for (const error of errors) expect(error).toMatchObject({ code: "TOO_LARGE", cause: full });
    client.close();
  });

  test("a function that throws doesn't disturb the client", async () => {
    const log = vi.spyOn(console, "debug").mockImplementation(() => {});
    const thrown = new Error("the app failed");
    const client = createClient({
      url: "https://chat.example.com",
      auth: () => ({ headers: {} }),
      onError: () => {
        throw thrown;
      },
      env: { storage: null, fetch: () => Promise.reject(NO_NETWORK) },
    });
    expect(await caught(client.listAgents())).toMatchObject({ code: "OFFLINE", cause: NO_NETWORK });
    expect(log).toHaveBeenCalledWith(expect.any(String), thrown);
  });
});

describe("onEvent", () => {
  test("gets requests and commands, without tokens", async () => {
    const agents = Response.json({ agents: [] }, { headers: { "x-request-id": "r-1" } });
    const { client, events } = open(agents, new Response("{}"));
    await client.listAgents();
    await client.session("s").stop();
    const url = "https://chat.example.com/base/api/v1";
    expect(events).toMatchObject([
      { type: "request", method: "GET", url: `${url}/agents`, status: 200, requestId: "r-1" },
      { type: "command", sessionId: "s", command: "stop" },
      { type: "request", method: "POST", url: `${url}/sessions/s/stop`, status: 200, requestId: null },
    ]);
    expect(JSON.stringify(events)).not.toContain("secret-token");
  });
});

test("debug writes errors and events to the console", async () => {
  const log = vi.spyOn(console, "debug").mockImplementation(() => {});
  const client = createClient({
    url: "https://chat.example.com",
    auth: () => ({ headers: {} }),
    debug: true,
    env: { storage: null, fetch: () => Promise.reject(NO_NETWORK) },
  });
  const error = await caught(client.listAgents());
  expect(log.mock.calls.map(([, value]) => value)).toMatchObject([{ type: "request", status: null }, error]);
});

test("a message that is no frame is reported with its cause", () => {
  const errors: ClientError[] = [];
  const on = { onError: (error: ClientError) => void errors.push(error) };
  expect(parseFrame('{"type":"ack"}', on)).toEqual({ type: "ack" });
  expect(parseFrame("<html>", on)).toBeNull();
  expect(parseFrame('{"kind":1}', on)).toBeNull();
  expect(errors.map(({ cause }) => cause)).toEqual([expect.any(SyntaxError), new Error('{"kind":1}')]);
});
