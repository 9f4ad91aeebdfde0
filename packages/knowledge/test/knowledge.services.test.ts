/** Tests the store of knowledge bases: objects are found by their terms and lines, and only by their tenant. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newTenant } from "../../server/test/store/harness.ts";
import { type PostgresHarness, postgresHarness } from "../../server/test/store/postgres-harness.ts";
import { knowledgeOf } from "../src/store/knowledge-of.ts";
import type { Knowledge } from "../src/store/knowledge-part.ts";

const ARTICLES = {
  hanoi: "Hà Nội là thủ đô của Việt Nam.\nThành phố nằm bên sông Hồng.",
  hue: "Huế từng là kinh đô của triều Nguyễn.\nBún bò Huế là món ăn nổi tiếng.",
  hours: "營業時間\n我們的營業時間是週一至週五上午九點到下午六點。\n週末休息。",
  refunds: "退款政策\n七天內可以申請全額退款，請附上訂單編號。",
  invoice: "# Invoices\nAn invoice is sent on the first of each month.\nPay it within 14 days.",
  travel: "# Travel policy\nBook trains, not planes, for trips under 500 km.",
};

let harness: PostgresHarness;
let knowledge: Knowledge;
beforeAll(async () => {
  harness = await postgresHarness();
  knowledge = knowledgeOf(harness.store);
});
afterAll(() => harness.store.close());

const filled = async (): Promise<string> => {
  const tenant = await newTenant(harness.store);
  for (const [id, text] of Object.entries(ARTICLES))
    await knowledge.put(tenant, "help", { id, title: `About ${id}`, text });
  return tenant;
};
const found = async (tenant: string, text: string): Promise<string[]> =>
  (await knowledge.search(tenant, ["help"], { text, limit: 5 })).map(({ object }) => object);

test("storing the same object again changes nothing, and another text replaces it", async () => {
  const tenant = await newTenant(harness.store);
  const object = { id: "a.md", title: "A", url: "https://example.com/a", metadata: { by: ["x"] } };
  expect(await knowledge.put(tenant, "b", { ...object, text: "one apple" })).toBe("created");
  const stored = () => knowledge.list(tenant, "b", { limit: 10 });
  const before = await stored();
  expect(await knowledge.put(tenant, "b", { ...object, text: "one apple" })).toBe("unchanged");
  expect(await stored()).toEqual(before);
  expect(await knowledge.put(tenant, "b", { ...object, text: "one\npear" })).toBe("replaced");
  expect(await stored()).toMatchObject([{ ...object, base: "b", lines: 2 }]);
  const search = (text: string) => knowledge.search(tenant, ["b"], { text, limit: 5 });
  expect(await search("apple")).toEqual([]);
  expect(await search("pear")).toMatchObject([
    {
      base: "b",
      object: "a.md",
      title: "A",
      url: object.url,
      firstLine: 1,
      lastLine: 2,
      text: "one\npear",
    },
  ]);
  expect(await knowledge.put(tenant, "b", { ...object, title: "B", text: "one\npear" })).toBe("replaced");
});

test("concurrent writes of the same object create one", async () => {
  const tenant = await newTenant(harness.store);
  const put = () => knowledge.put(tenant, "b", { id: "a", title: "A", text: "x y z" });
  const outcomes = await Promise.all(Array.from({ length: 10 }, put));
  expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === "unchanged")).toHaveLength(9);
  const hits = await knowledge.search(tenant, ["b"], { text: "x y", limit: 5 });
  expect(hits).toHaveLength(1);
});

test("S11: finds English text by terms, prefixes and plurals", async () => {
  const tenant = await filled();
  expect(await found(tenant, "invoices")).toEqual(["invoice"]);
  expect(await found(tenant, "When is an INVOICE sent?")).toContain("invoice");
  expect((await found(tenant, "trav policy"))[0]).toBe("travel");
  expect(await found(tenant, "nothing of the kind whatsoever zzz")).not.toContain("hue");
  expect(await found(tenant, "?!")).toEqual([]);
});

test("S11: finds Vietnamese text with and without diacritics", async () => {
  const tenant = await filled();
  expect((await found(tenant, "thủ đô Hà Nội"))[0]).toBe("hanoi");
  expect((await found(tenant, "thu do Ha Noi"))[0]).toBe("hanoi");
  expect((await found(tenant, "bun bo Hue"))[0]).toBe("hue");
  expect((await found(tenant, "SÔNG HỒNG".normalize("NFD")))[0]).toBe("hanoi");
});

test("S11: finds Chinese text, which has no spaces", async () => {
  const tenant = await filled();
  expect(await found(tenant, "營業時間")).toEqual(["hours"]);
  expect((await found(tenant, "請問你們週末營業嗎"))[0]).toBe("hours");
  expect(await found(tenant, "退款")).toEqual(["refunds"]);
  expect(await found(tenant, "號")).toEqual(["refunds"]);
  expect(await found(tenant, "訂單編號是什麼")).toEqual(["refunds"]);
});

test("returns the best match first, at most three pieces of one object", async () => {
  const tenant = await newTenant(harness.store);
  const long = Array.from({ length: 400 }, (_, n) => `Line ${n}: the heron stands in the water.`);
  await knowledge.put(tenant, "b", { id: "long", title: "Birds", text: long.join("\n") });
  await knowledge.put(tenant, "b", { id: "one", title: "Heron food", text: "A grey heron eats frogs." });
  await knowledge.put(tenant, "b", { id: "two", title: "Frogs", text: "Frogs eat flies. A heron came." });
  const hits = await knowledge.search(tenant, ["b"], { text: "heron frogs", limit: 10 });
  expect(
    hits
      .slice(0, 2)
      .map(({ object }) => object)
      .toSorted(),
  ).toEqual(["one", "two"]);
  expect(hits.filter(({ object }) => object === "long")).toHaveLength(3);
  expect(hits[0]?.score).toBeGreaterThan(hits.at(-1)?.score ?? Infinity);
});

test("returns lines unchanged, and splits long ones", async () => {
  const tenant = await newTenant(harness.store);
  const text = Array.from({ length: 300 }, (_, n) => `line ${n + 1}`).join("\r\n");
  await knowledge.put(tenant, "b", {
    id: "a",
    title: "A",
    text: `${text}\n\n${"wide ".repeat(500)}\n\n`,
  });
  const read = async (from: number, to: number) =>
    (await knowledge.lines(tenant, "b", "a", { from, to }))?.lines;
  expect(await read(1, 2)).toEqual(["line 1", "line 2"]);
  expect(await read(149, 151)).toEqual(["line 149", "line 150", "line 151"]);
  expect(await read(300, 301)).toEqual(["line 300", ""]);
  expect((await read(302, 400))?.map(({ length }) => length)).toEqual([999, 999, 500]);
  expect(await read(1000, 1001)).toEqual([]);
  expect(await knowledge.lines(tenant, "b", "x", { from: 1, to: 2 })).toBeNull();
  for (const [from, to] of [
    [0, 1],
    [2, 1],
    [1, 2001],
    [1.5, 2],
    [1, Number.NaN],
  ] as const)
    await expect(read(from, to)).rejects.toMatchObject({ code: "INVALID" });
});

test("S11: another tenant or base finds, reads and removes nothing", async () => {
  const tenant = await filled();
  const other = await newTenant(harness.store);
  for (const [of, base] of [
    [other, "help"],
    [tenant, "empty"],
  ] as const) {
    expect(await knowledge.search(of, [base], { text: "invoice", limit: 5 })).toEqual([]);
    expect(await knowledge.lines(of, base, "invoice", { from: 1, to: 5 })).toBeNull();
    expect(await knowledge.list(of, base, { limit: 10 })).toEqual([]);
    expect(await knowledge.remove(of, base, "invoice")).toBe(false);
    expect(await knowledge.removeBase(of, base)).toBe(0);
  }
  expect(await knowledge.bases(other)).toEqual([]);
  await knowledge.put(other, "help", { id: "invoice", title: "Theirs", text: "their invoice" });
  expect(await found(tenant, "invoice")).toEqual(["invoice"]);
  expect(await found(other, "invoice month")).toEqual(["invoice"]);
  expect((await knowledge.search(other, ["help"], { text: "invoice", limit: 5 }))[0]?.title).toBe("Theirs");
});

test("lists bases and objects in order, and removes them one by one or together", async () => {
  const tenant = await filled();
  await knowledge.put(tenant, "another", { id: "x", title: "X", text: "a heron" });
  expect(await knowledge.bases(tenant)).toEqual([
    { base: "another", objects: 1 },
    { base: "help", objects: 6 },
  ]);
  const ids = async (after?: string) =>
    (await knowledge.list(tenant, "help", { limit: 3, ...(after === undefined ? {} : { after }) })).map(
      ({ id }) => id,
    );
  expect(await ids()).toEqual(["hanoi", "hours", "hue"]);
  expect(await ids("hue")).toEqual(["invoice", "refunds", "travel"]);
  const both = await knowledge.search(tenant, ["help", "another"], { text: "heron invoice", limit: 5 });
  expect(both.map(({ base }) => base).toSorted()).toEqual(["another", "help"]);
  expect(await knowledge.remove(tenant, "help", "invoice")).toBe(true);
  expect(await found(tenant, "invoice")).toEqual([]);
  expect(await knowledge.removeBase(tenant, "help")).toBe(5);
  expect(await knowledge.bases(tenant)).toEqual([{ base: "another", objects: 1 }]);
});

test("stores and finds hostile texts, and refuses invalid queries", async () => {
  const tenant = await newTenant(harness.store);
  const text = `nul \0 half \ud800 quote ' back \\ ; drop table ~ ${"x".repeat(3000)} <script> end`;
  await knowledge.put(tenant, "b'; --", { id: "a'", title: "T'", text });
  const search = (query: string, limit = 5) => knowledge.search(tenant, ["b'; --"], { text: query, limit });
  expect(await search("drop' | table & !(x)")).toHaveLength(1);
  expect(await search("script")).toHaveLength(1);
  expect(await search("'")).toEqual([]);
  await expect(search("x".repeat(1001))).rejects.toMatchObject({ code: "TOO_LARGE" });
  await expect(search("x", 51)).rejects.toMatchObject({ code: "INVALID" });
  await expect(knowledge.search(tenant, [], { text: "x", limit: 1 })).rejects.toMatchObject({
    code: "INVALID",
  });
  const put = (object: object) => knowledge.put(tenant, "b", { id: "a", title: "A", text: "", ...object });
  await expect(put({ text: "x".repeat(5_000_001) })).rejects.toMatchObject({ code: "TOO_LARGE" });
  await expect(put({ title: "x".repeat(501) })).rejects.toMatchObject({ code: "INVALID" });
  await expect(put({ metadata: "x".repeat(16_001) })).rejects.toMatchObject({ code: "TOO_LARGE" });
  await expect(knowledge.put("missing", "b", { id: "a", title: "A", text: "" })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  expect(await put({ text: "" })).toBe("created");
});
