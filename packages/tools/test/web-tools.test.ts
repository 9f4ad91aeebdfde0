/** Tests the built-in tools that make requests, in turns, against local HTTP servers. */
import { createOpenAI } from "@ai-sdk/openai";
import { listBlocks } from "@turnstream/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMemoryLog } from "../../server/src/log/memory.ts";
import { webTools, type WebToolOptions } from "../src/web-tools.ts";
import { defineAgent } from "../../server/src/agent/define/agent.ts";
import type { WorkerOptions } from "../../server/src/worker/options.ts";
import { createMemorySignals } from "../../server/src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { makePdf } from "../../server/test/text-extraction/make-pdf.ts";
import { outline, TurnHarness } from "../../server/test/engine/turn-harness.ts";
import { openaiImages } from "./examples/openai-images.ts";
import { tavilySearch } from "./examples/tavily-search.ts";
import { type LocalServer, localServer } from "../../server/test/agent/built-in/local-server.ts";
import { caller } from "../../server/test/agent/built-in/tool-caller.ts";

let harness: TurnHarness;
const servers: LocalServer[] = [];
const openStage = () =>
  TurnHarness.open({ log: createMemoryLog(), store: createMemoryStore(), signals: createMemorySignals() });
beforeEach(async () => {
  harness = await openStage();
});
afterEach(async () => {
  await harness.close();
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});

async function serve(...args: Parameters<typeof localServer>): Promise<LocalServer> {
  const server = await localServer(...args);
  servers.push(server);
  return server;
}

type Calls = Parameters<typeof caller>[0];

async function play(options: WebToolOptions, calls: Calls, worker: Partial<WorkerOptions> = {}) {
  const { model, last } = caller(calls);
  await harness.worker([defineAgent({ name: "a", model, tools: webTools(options) })], worker);
  // The message names the URLs, because `fetch_web_content` reads no others.
  const turn = await harness.ask(await harness.session(), `go ${JSON.stringify(calls)}`);
  return { turn, results: last.results, lines: outline(turn).filter((line) => line.startsWith("result")) };
}

describe("http_request", () => {
  it("S11: http_request calls allowed URLs with headers that the model never sees", async () => {
    // The server responds with the request that it received, including credentials.
    const service = await serve(({ method, path, headers }, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ method, path, headers, key: headers.authorization?.split(" ")[1] }));
    });
    const { turn, results, lines } = await play(
      {
        httpRequest: {
          allow: [
            {
              origin: service.origin,
              methods: ["GET", "POST"],
              paths: ["/v1"],
              headers: ({ user }) => ({
                authorization: "Bearer canary-key",
                "x-user": user,
                accept: "application/json",
              }),
              idempotencyHeader: "idempotency-key",
            },
          ],
        },
      },
      [
        ["http_request", { url: `${service.origin}/v1/orders?id=7` }],
        ["http_request", { url: `${service.origin}/v1/orders`, method: "POST", body: '{"x":1}' }],
        ["http_request", { url: `${service.origin}/admin` }],
        ["http_request", { url: `${service.origin}/v1/orders`, method: "DELETE" }],
        ["http_request", { url: "http://169.254.169.254/latest/meta-data" }],
      ],
    );
    expect(results.map(({ isError }) => isError)).toEqual([false, false, true, true, true]);
    expect(JSON.parse(results[0]?.text ?? "")).toMatchObject({
      status: 200,
      body: expect.stringContaining('"accept":"application/json"') as string,
    });
    expect(service.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /v1/orders?id=7",
      "POST /v1/orders",
    ]);
    expect(service.asked[1]?.body).toBe('{"x":1}');
    expect(service.asked[1]?.headers).toMatchObject({
      authorization: "Bearer canary-key",
      "x-user": harness.actor.user,
    });
    expect(service.asked[1]?.headers["idempotency-key"]).toContain(turn.id);
    expect(JSON.stringify([results, turn])).not.toContain("canary");
    expect(results[0]?.text).toContain("[redacted]");
    // No configured header is visible, also if its name doesn't show that it is a credential.
    expect(JSON.stringify([results, listBlocks(turn)])).not.toContain(harness.actor.user);
    expect(lines.slice(0, 3)).toEqual([
      `result http_request success GET ${service.place}: 200`,
      `result http_request success POST ${service.place}: 200`,
      "result http_request error This address may not be called.",
    ]);
  });

  it("S11: http_request follows only allowed redirects and limits the size of responses", async () => {
    const elsewhere = await serve((_, response) => void response.end("secret"));
    const service = await serve(({ path }, response) => {
      if (path === "/out") response.writeHead(302, { location: `${elsewhere.origin}/x` }).end();
      else if (path === "/in") response.writeHead(302, { location: "/end" }).end();
      else if (path === "/big") response.end("x".repeat(2_000));
      else if (path === "/bytes") response.setHeader("content-type", "image/png").end(Buffer.from([1, 2, 3]));
      else if (path !== "/slow") response.writeHead(404, { "content-type": "text/plain" }).end("the end");
    });
    const { results } = await play(
      {
        httpRequest: { allow: [{ origin: service.origin }], maxBytes: 1_000, timeoutMs: 3_000 },
        // The server is reachable, but not allowed.
        fetch: { allow: [elsewhere.place] },
      },
      ["/out", "/in", "/big", "/bytes", "/slow"].map(
        (path) => ["http_request", { url: `${service.origin}${path}` }] as const,
      ),
    );
    expect(elsewhere.asked).toEqual([]);
    expect(results.map(({ text }) => text.slice(0, 40))).toEqual([
      expect.stringContaining("BLOCKED"),
      '{"status":404,"type":"text/plain","body"',
      expect.stringContaining("TOO_LARGE"),
      expect.stringContaining('{"status":200,"type":"image/png","body":'),
      expect.stringContaining("TIMEOUT"),
    ]);
    expect(results[3]?.text).toContain("3 bytes that are not text");
  });

  it("S11: a request that changes something is not repeated unless the service accepts an idempotency key", () => {
    const rules = [{ origin: "https://a.example", methods: ["GET", "POST"] as const }];
    const keyed = [{ origin: "https://a.example", methods: ["POST"] as const, idempotencyHeader: "x-key" }];
    const isIdempotent = (allow: typeof rules | typeof keyed, method: string) =>
      webTools({ httpRequest: { allow } })["http_request"]?.idempotent({
        url: "https://a.example/",
        method,
      });
    expect([isIdempotent(rules, "GET"), isIdempotent(rules, "POST"), isIdempotent(keyed, "POST")]).toEqual([
      true,
      false,
      true,
    ]);
    expect(() => webTools({ httpRequest: { allow: [{ origin: "a.example" }] } })).toThrow(
      /must be an origin/,
    );
  });
});

describe("fetch_web_content", () => {
  it("S11: fetch_web_content returns the readable text of a page in pieces that can be cited", async () => {
    const site = await serve(({ path }, response) => {
      if (path === "/long") response.setHeader("content-type", "text/plain").end("word ".repeat(100));
      else if (path === "/bytes") response.setHeader("content-type", "application/zip").end("PK");
      else if (path === "/missing") response.writeHead(404).end();
      else
        response
          .setHeader("content-type", "text/html; charset=utf-8")
          .end("<title>Trang chủ</title><nav>menu</nav><h1>Hà Nội</h1><script>evil()</script><p>Thủ đô.</p>");
    });
    const url = (path: string) => ({ url: `${site.origin}${path}` });
    const { results, turn } = await play(
      { fetchWebContent: { chars: 300 }, fetch: { allow: [site.place] } },
      [
        ["fetch_web_content", url("/")],
        ["fetch_web_content", url("/long")],
        ["fetch_web_content", { ...url("/long"), offset: 300 }],
        ["fetch_web_content", { ...url("/long"), offset: 3_000 }],
        ["fetch_web_content", url("/bytes")],
        ["fetch_web_content", url("/missing")],
      ],
    );
    expect(results[0]?.text).toContain("# Hà Nội\n\nThủ đô.");
    expect(results[0]?.text).not.toMatch(/evil|menu/);
    expect(results[0]?.text).toContain("<referencable-item>\nID: 1");
    expect(results[1]?.text).toContain("200 more characters: continue with offset 300.");
    expect(results[2]?.text).toContain("This is the end of it.");
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false, true, true, true]);
    const lines = turn.items.toArray().filter((item) => item?.kind === "tool_result");
    expect(lines[0]).toMatchObject({
      preview: "Trang chủ",
      parts: [{ data: "Trang chủ", reference: { id: 1 } }],
    });
  });

  it("S11: fetch_web_content reports when a page has more text than it reads", async () => {
    const site = await serve((_, response) => {
      response.setHeader("content-type", "text/plain").end("word ".repeat(100));
    });
    const { results, lines } = await play(
      { fetchWebContent: true, fetch: { allow: [site.place] } },
      [["fetch_web_content", { url: site.origin }]],
      { fileLimits: { maxChars: 300 } },
    );
    expect(results[0]?.text).toContain("The page continues, but no more of it can be read here.");
    expect(results[0]?.text).not.toContain("the end of it");
    expect(lines[0]).toContain("(only the start)");
  });

  it("S11: fetch_web_content reads PDF too, and reports damaged and non-text files", async () => {
    const bodies: Record<string, [type: string, body: Uint8Array | string]> = {
      "/report": ["application/pdf", makePdf([["Revenue 42"], ["Page two"]])],
      "/unnamed": ["application/octet-stream", "<!doctype html><title>T</title><p>Found.</p>"],
      "/links": ["text/html", '<section>See <a href="https://x.example/">this</a>'],
      "/broken": ["application/pdf", "%PDF-1.7\nnothing"],
      "/picture": ["text/html", Buffer.from("89504e470d0a1a0a0000000d4948445200", "hex")],
    };
    const site = await serve(({ path }, response) => {
      const [type, body] = bodies[path] ?? ["", ""];
      response.setHeader("content-type", type).end(body);
    });
    const { results } = await play(
      { fetchWebContent: true, fetch: { allow: [site.place] } },
      Object.keys(bodies).map((path) => ["fetch_web_content", { url: `${site.origin}${path}` }] as const),
    );
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false, true, true]);
    expect(results[0]?.text).toContain("[Page 1]\nRevenue 42\n\n[Page 2]\nPage two");
    expect(results[1]?.text).toContain("Found.");
    expect(results[2]?.text).toContain("See this [https://x.example/]");
    expect(results[3]?.text).toContain("damaged");
    expect(results[4]?.text).toContain("is image/png, which can't be read as text");
  });

  it("S11: the tools that fetch use the worker's policy, unless they have their own", async () => {
    const site = await serve(({ path }, response) => {
      response.setHeader("content-type", "text/plain").end(path === "/large" ? "x".repeat(2_000) : "hello");
    });
    const urls = ["/", "/large"].map((path) => ({ url: `${site.origin}${path}` }));
    const calls = urls.flatMap((url) => [
      ["fetch_web_content", url] as const,
      ["http_request", url] as const,
    ]);
    const httpRequest = { allow: [{ origin: site.origin }] };
    const worker = { fetchPolicy: { allow: [site.place], maxBytes: 1_000 } };
    const byWorker = await play({ fetchWebContent: true, httpRequest }, calls, worker);
    expect(byWorker.results.map(({ text }) => text)).toEqual([
      expect.stringContaining("hello"),
      expect.stringContaining("hello"),
      expect.stringContaining("TOO_LARGE"),
      expect.stringContaining("TOO_LARGE"),
    ]);
    await harness.close();
    harness = await openStage();
    const own = await play({ fetchWebContent: true, httpRequest, fetch: {} }, calls, worker);
    expect(own.results.map(({ text }) => text.slice(0, 20))).toEqual([
      expect.stringContaining("BLOCKED"),
      expect.stringContaining("status"),
      expect.stringContaining("BLOCKED"),
      expect.stringContaining("status"),
    ]);
  });

  it("S11: fetch_web_content reaches no internal addresses", async () => {
    const inside = await serve((_, response) => void response.end("secret"));
    const { results } = await play(
      { fetchWebContent: { mayFetch: ({ hostname }) => hostname !== "example.com" } },
      [
        ["fetch_web_content", { url: `${inside.origin}/` }],
        ["fetch_web_content", { url: inside.origin.replace("127.0.0.1", "localhost") }],
        ["fetch_web_content", { url: "file:///etc/passwd" }],
        ["fetch_web_content", { url: "https://example.com/" }],
      ],
    );
    expect(results.map(({ isError }) => isError)).toEqual([true, true, true, true]);
    expect(inside.asked).toEqual([]);
  });
});

describe("search_web", () => {
  it("S11: search_web returns citable pages through the wire format of a real provider", async () => {
    const tavily = await serve(({ path, headers, body }, response) => {
      if (headers.authorization !== "Bearer tvly-key" || path !== "/search")
        return void response.writeHead(401).end();
      const { query, max_results: most } = JSON.parse(body) as { query: string; max_results: number };
      if (query === "fail") return void response.writeHead(500).end();
      const pages = [
        { url: "https://example.com/heron", title: "Herons", content: `About ${query}`, score: 0.9 },
        { url: "javascript:alert(1)", title: "Bad", content: "bad" },
        ...Array.from({ length: 30 }, (_, n) => ({
          url: `https://example.com/${n}`,
          title: "",
          content: "x".repeat(9_000),
        })),
      ].slice(0, most + 5);
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ query, results: pages, response_time: 0.1 }));
    });
    const searchWeb = tavilySearch({ apiKey: "tvly-key", baseUrl: tavily.origin });
    const { results, lines } = await play({ searchWeb }, [
      ["search_web", { query: "grey herons", limit: 3 }],
      ["search_web", { query: "fail" }],
    ]);
    expect(results[0]?.text).toContain("Herons\nhttps://example.com/heron\n\nAbout grey herons");
    expect(results[0]?.text).toContain("ID: 3");
    expect(results[0]?.text).not.toMatch(/javascript|ID: 4/);
    expect(results[0]?.text.length).toBeLessThan(3 * 4_500);
    expect(results[1]).toMatchObject({
      isError: true,
      text: "The search failed: the search service answered with 500",
    });
    expect(lines).toEqual([
      "result search_web success 3 pages",
      "result search_web error The search failed.",
    ]);
  });
});

describe("generate_image", () => {
  it("S11: generate_image shows partial images through the wire format of a real provider", async () => {
    const pictures = ["UklGRgAAAABXRUJQ", "UklGRgEAAABXRUJQ", "UklGRgIAAABXRUJQ"];
    const openai = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const item = { id: "ig_1", type: "image_generation_call", status: "in_progress" };
      const base = { id: "resp_1", object: "response", created_at: 1, model: "gpt-5" };
      const events = [
        { type: "response.created", response: base },
        { type: "response.output_item.added", output_index: 0, item },
        ...pictures.slice(0, 2).map((partial_image_b64, n) => ({
          type: "response.image_generation_call.partial_image",
          item_id: "ig_1",
          output_index: 0,
          partial_image_index: n,
          partial_image_b64,
        })),
        {
          type: "response.output_item.done",
          output_index: 0,
          item: { ...item, status: "completed", result: pictures[2] },
        },
        {
          type: "response.completed",
          response: { ...base, usage: { input_tokens: 10, output_tokens: 20, total_tokens: 30 } },
        },
      ];
      for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end("data: [DONE]\n\n");
    });
    const provider = createOpenAI({ apiKey: "key", baseURL: `${openai.origin}/v1` });
    const ref = await harness.session();
    const { model, last } = caller([["generate_image", { prompt: "a heron", shape: "wide" }]]);
    const tools = webTools({ generateImage: openaiImages(provider) });
    await harness.worker([defineAgent({ name: "a", model, tools })]);
    const turn = await harness.ask(ref, "draw");
    expect(harness.errors).toEqual([]);
    expect(last.results).toMatchObject([
      { isError: false, text: expect.stringContaining("shown to the user") },
    ]);
    const [asked] = openai.asked;
    expect(asked?.path).toBe("/v1/responses");
    expect(JSON.parse(asked?.body ?? "")).toMatchObject({
      tools: [{ type: "image_generation", partial_images: 2, size: "1536x1024" }],
    });
    expect(asked?.headers["idempotency-key"]).toContain(turn.id);
    const shown = (await harness.events(ref)).flatMap((event) =>
      event.type === "tool_result.delta" && event.media === "image" ? [event.data] : [],
    );
    expect(
      shown
        .map((data) => data.replace(/^data:image\/webp;base64,/, ""))
        .filter((d, n, all) => d !== all[n - 1]),
    ).toEqual(pictures);
    const result = turn.items.toArray().find((item) => item?.kind === "tool_result");
    expect(result).toMatchObject({ parts: [{ media: "image", done: true }] });
  });

  it("S11: generate_image refuses data that is not an image, and reports a failing service", async () => {
    const kinds: Record<string, () => AsyncIterable<{ data: string; mediaType: string }>> = {
      svg: async function* () {
        yield { data: "PHN2Zz4=", mediaType: "image/svg+xml" };
      },
      none: async function* () {},
      broken: async function* () {
        yield { data: "UklG", mediaType: "image/webp" };
        throw new Error("the service broke off");
      },
    };
    const generateImage = { generate: ({ prompt }: { prompt: string }) => (kinds[prompt] as () => never)() };
    const { results } = await play(
      { generateImage },
      Object.keys(kinds).map((prompt) => ["generate_image", { prompt }] as const),
    );
    expect(results.map(({ isError }) => isError)).toEqual([true, true, true]);
    expect(results[2]?.text).toBe("the service broke off");
  });
});
