/** Tests the routes of knowledge bases. The tests of the gateway check the access to each of them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { GatewayHarness } from "../../server/test/gateway/gateway-harness.ts";
import { openRealBackend } from "../../server/test/engine/real-backend.ts";

let harness: GatewayHarness;
beforeEach(async () => {
  harness = await GatewayHarness.open(await openRealBackend());
});
afterEach(() => harness.close());

test("adds, lists and removes knowledge", async () => {
  const objects = [
    { id: "docs/a.md", text: "# Beds\nTwelve." },
    { id: "docs/b", text: "Food", title: "Meals", url: "https://x.test/b", metadata: { n: 1 } },
    { id: "docs/c.bin", text: "x", media_type: "application/x-unknown" },
  ];
  const imported = await harness.json("POST", "/knowledge/huts/objects", { objects });
  expect(imported).toMatchObject({ created: 2, failed: [{ id: "docs/c.bin" }] });
  expect(await harness.json("GET", "/knowledge")).toEqual({ bases: [{ base: "huts", objects: 2 }] });
  const page = await harness.json("GET", "/knowledge/huts/objects?limit=1");
  expect(page).toMatchObject({ objects: [{ id: "docs/a.md", title: "Beds" }], has_more: true });
  const next = await harness.json(
    "GET",
    `/knowledge/huts/objects?after=${encodeURIComponent(page.next_after)}`,
  );
  expect(next).toMatchObject({ objects: [{ title: "Meals", metadata: { n: 1 } }], next_after: null });
  const one = `/knowledge/huts/objects/${encodeURIComponent("docs/a.md")}`;
  expect((await harness.request("DELETE", one)).status).toBe(204);
  expect(await harness.requestError("DELETE", one)).toBe("404 NOT_FOUND");
  const pruned = { objects: [{ id: "new", text: "New" }], prune: true };
  expect(await harness.json("POST", "/knowledge/huts/objects", pruned)).toMatchObject({
    created: 1,
    removed: 1,
  });
  expect(await harness.json("DELETE", "/knowledge/huts")).toEqual({ removed: 1 });
});
