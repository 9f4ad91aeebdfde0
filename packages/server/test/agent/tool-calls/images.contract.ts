/**
 * The contract of images, artifacts and long results that are too large for an event: stored as blobs under a stable
 * address, and loaded by a browser through an address that is signed on delivery.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { listBlocks, type SessionEvent, type Json, type Turn } from "@turnstream/protocol";
import { blobUrl, findBlobIds, resolveBlobUrls } from "@turnstream/protocol/writer";
import { parseEvent } from "@turnstream/conformance/support/parse-event.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createBlobUrls } from "../../../src/session/blobs/blob-url.ts";
import { BlobError, openBlob } from "../../../src/session/blobs/open-blob.ts";
import { signBlob } from "../../../src/session/blobs/blob-token.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { TurnHarness, type HarnessBackend } from "../../engine/turn-harness.ts";

const SECRETS = ["new", "old"];
const LARGE = 100_000;
const bytes = (fill: number): Uint8Array => new Uint8Array(LARGE).fill(fill);
const REPORT = { name: "báo cáo.csv", data: new Uint8Array(LARGE).fill(65), mediaType: "text/csv" };
const ROWS = Array.from({ length: 3_000 }, (_, n) => [n, `row ${n}`]);

/** Serves blobs like a gateway. */
async function serve(harness: TurnHarness, now: () => number): Promise<{ server: Server; base: string }> {
  const server = createServer((request, response) => {
    openBlob(harness.backend, (request.url ?? "").slice("/blobs/".length), {
      secrets: SECRETS,
      now: now(),
    }).then(
      async (served) => {
        if ("redirect" in served) throw new Error("the store has no object storage");
        return response.writeHead(200, served.headers).end(await served.read());
      },
      (error: unknown) => response.writeHead(error instanceof BlobError ? 404 : 500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/blobs/` };
}

export function picturesContract(name: string, open: () => Promise<HarnessBackend>): void {
  describe(`${name}: blobs of tool results`, () => {
    let harness: TurnHarness;
    let server: Server;
    let base = "";
    let ref: SessionRef;
    let turn: Turn;
    let events: SessionEvent[];
    const NOW = 1_800_000_000_000;
    let now = NOW;

    beforeAll(async () => {
      harness = await TurnHarness.open(await open());
      ({ server, base } = await serve(harness, () => now));
      const draw = tool({
        idempotent: true,
        run: (_, context) => {
          context.progress("sketching");
          context.image({ data: bytes(1), mediaType: "image/png" });
          context.image("https://files.example/half.png");
          context.image(`data:image/png;base64,${Buffer.from(bytes(2)).toString("base64")}`);
          context.progress("done");
          return {
            content: "w".repeat(10_000),
            blocks: [
              { type: "image", data: bytes(3), mediaType: "image/webp" },
              { type: "image", data: "AAAA", mediaType: "image/png" },
            ],
            references: [
              { content: "cat", blocks: [{ type: "image", data: bytes(4), mediaType: "image/svg+xml" }] },
            ],
            artifact: { type: "table", data: { columns: ["n", "row"], rows: ROWS } },
          };
        },
      });
      const page = tool({ idempotent: true, run: () => ({ content: `<script>${"x".repeat(9_000)}` }) });
      const bad = tool({
        idempotent: true,
        run: (_, context) => context.artifact({ type: "table", data: { columns: ["a"], rows: [[1, 2]] } }),
      });
      const report = tool({
        idempotent: true,
        run: () => ({ content: "made", artifact: { type: "file", title: "Report", data: REPORT } }),
      });
      const early = tool({
        idempotent: true,
        run: (_, context) => {
          const data = new TextEncoder().encode("<script>first</script>");
          context.artifact({ type: "file", data: { name: "page.html", data, mediaType: "text/html" } });
          data.fill(0);
          return "made";
        },
      });
      const badFile = tool({
        idempotent: true,
        run: () => ({
          content: "",
          artifact: { type: "file", data: { name: "x", data: "no base64!", mediaType: "a/b" } },
        }),
      });
      const tools = { draw, page, bad, report, early, badFile };
      const first = ["draw", "page", "bad", "report", "early"].map((of) => script.toolCall(of));
      const model = scriptedModel([first, [script.toolCall("badFile")], [script.text("ok[^1]")]]);
      await harness.worker([defineAgent({ name: "a", model, tools, title: false })], { leaseTtlMs: 10_000 });
      ref = await harness.session();
      turn = await harness.ask(ref, "go");
      events = await harness.events(ref);
    });
    afterAll(async () => {
      await new Promise((resolve) => server.close(resolve));
      await harness.close();
    });

    const resultOf = (of: string) =>
      listBlocks(turn).flatMap((block) =>
        block.kind === "tool_result" && block.name === of ? [block] : [],
      )[0];
    const deliver = <T>(value: T, secret = "new"): T =>
      resolveBlobUrls(value, createBlobUrls(ref, { base, secret, now }));

    it("T05 partial images arrive in order, each complete, the last one final", () => {
      const pictures = events.flatMap((event) =>
        event.type === "tool_result.delta" && event.media === "image" && event.part === 1
          ? [[event.data.split("/")[0], event.done]]
          : [],
      );
      expect(pictures).toEqual([
        ["turnstream:blob", false],
        ["https:", false],
        ["turnstream:blob", false],
        ["turnstream:blob", true],
      ]);
      const shown = resultOf("draw")?.parts.map(({ media, data }) => `${media} ${data.slice(0, 15)}`);
      expect(shown).toEqual([
        "text sketching",
        "image turnstream:blob",
        "text done",
        "image turnstream:blob",
        "image data:image/png;",
        "image turnstream:blob",
      ]);
      expect(resultOf("draw")?.parts.at(-1)?.reference).toEqual({ id: 1 });
      for (const event of events) expect(JSON.stringify(event).length).toBeLessThan(40_000);
    });

    it("T05 a file from a tool is stored and downloaded under its name", async () => {
      const { artifact, preview } = deliver(resultOf("report")) ?? {};
      expect(preview).toBe("made");
      expect(artifact).toEqual({
        type: "file",
        title: "Report",
        data: {
          name: "báo cáo.csv",
          url: expect.stringContaining(base) as string,
          media_type: "text/csv",
          size: LARGE,
        },
      });
      const answer = await fetch((artifact as unknown as { data: { url: string } }).data.url);
      expect(answer.headers.get("content-disposition")).toBe(
        "attachment; filename=\"download\"; filename*=UTF-8''b%C3%A1o%20c%C3%A1o.csv",
      );
      expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.from(REPORT.data))).toBe(true);
      const [page = ""] = findBlobIds(resultOf("early"));
      const saved = await fetch(deliver({ url: blobUrl(page) }).url);
      expect(saved.headers.get("content-disposition")).toBe('attachment; filename="page.html"');
      expect(saved.headers.get("content-type")).toBe("application/octet-stream");
      expect(await saved.text()).toBe("<script>first</script>");
      expect(resultOf("badFile")).toMatchObject({ status: "error", artifact: null });
      expect(harness.errors.map(({ error }) => String(error)).join()).toContain(
        "artifact.data.data must be base64",
      );
    });

    it("T05 an image element can load it: signed on delivery, displayed and never executed", async () => {
      const [, , last] = findBlobIds(resultOf("draw")?.parts);
      expect(last).toBeDefined();
      const part = deliver(resultOf("draw"))?.parts[1];
      expect(part?.data.startsWith(base)).toBe(true);
      const answer = await fetch(part?.data ?? "");
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "content-type": "image/png",
        "content-disposition": "inline",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "cross-origin",
        "content-security-policy": "default-src 'none'; sandbox",
      });
      expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.from(bytes(2)))).toBe(true);
    });

    it("content that a browser could execute is only downloaded", async () => {
      const svg = deliver(resultOf("draw"))?.parts.at(-1)?.data ?? "";
      expect((await fetch(svg)).headers.get("content-disposition")).toMatch(/^attachment/);
      const html = deliver(resultOf("page"))?.whole?.url ?? "";
      const answer = await fetch(html);
      expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(answer.headers.get("content-disposition")).toMatch(/^attachment/);
      const { store } = harness.backend;
      await store.blobs.put(ref, { id: "h", mediaType: "text/html", body: Buffer.from("<script>") });
      const page = await fetch(`${base}${signBlob({ ...ref, blob: "h", expires: now + 1_000 }, "old")}`);
      expect(page.headers.get("content-type")).toBe("application/octet-stream");
    });

    it("W07 a large artifact contains its start and the address of the whole, and an invalid one names its field", async () => {
      const artifact = deliver(resultOf("draw"))?.artifact;
      expect(artifact?.data).toEqual({ columns: ["n", "row"], rows: ROWS.slice(0, 20), total: 3_000 });
      const whole = (await (await fetch(artifact?.whole?.url ?? "")).json()) as { rows: Json };
      expect(whole.rows).toEqual(ROWS);
      expect(resultOf("bad")?.status).toBe("error");
      expect(String(harness.errors[0]?.error)).toContain("artifact.data.rows[0] has 2 cells");
    });

    it("live and replayed events are equal except for the signature, which is stable for a while", () => {
      for (const event of events) expect(parseEvent(deliver(event))).toMatchObject({ ok: true });
      const [first, again] = [deliver(events), deliver(events)];
      expect(again).toEqual(first);
      now = NOW + 24 * 60 * 60 * 1_000;
      expect(deliver(events)).not.toEqual(first);
      now = NOW;
      expect(JSON.stringify(events)).not.toContain(base);
    });

    it("refuses an address that is expired, changed, or of another secret, session or tenant", async () => {
      const [blob = ""] = findBlobIds(events);
      const grant = { ...ref, blob, expires: now + 1_000 };
      const code = async (token: string, at = now): Promise<string> =>
        openBlob(harness.backend, token, { secrets: SECRETS, now: at }).then(
          () => "opened",
          (error: unknown) => (error instanceof BlobError ? error.code : String(error)),
        );
      expect(await code(signBlob(grant, "new"))).toBe("opened");
      expect(await code(signBlob(grant, "old"))).toBe("opened");
      expect(await code(signBlob(grant, "new"), now + 999)).toBe("opened");
      expect(await code(signBlob(grant, "new"), now + 1_000)).toBe("EXPIRED");
      expect(await code(signBlob(grant, "other"))).toBe("BAD_ADDRESS");
      expect(await code(`x${signBlob(grant, "new")}`)).toBe("BAD_ADDRESS");
      const other = await harness.session();
      expect(await code(signBlob({ ...grant, session: other.session }, "new"))).toBe("NOT_FOUND");
      expect(await code(signBlob({ ...grant, tenant: "t" }, "new"))).toBe("NOT_FOUND");
      expect(await code(signBlob({ ...grant, blob: "none" }, "new"))).toBe("NOT_FOUND");
    });
  });
}
