/** Tests that no upload becomes a page, a script or a header, whatever its name and type are (U01 to U03). */
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../test-server.ts";

let server: TestServer;
let path: string;
beforeAll(async () => {
  server = await openServer();
  const { session_id } = (await server.request("POST", "/sessions", { body: {} })).json;
  path = `/api/v1/sessions/${session_id}/files`;
});
afterAll(() => server.close());

const PAGE = "<!doctype html><svg onload=alert(1)><script>alert(1)</script>";

/** Uploads a page under a name and a type. @returns the response to its download, or null if the upload is refused */
async function serve(name: string, type: string): Promise<Response | null> {
  const { auth, url } = server;
  const init = { method: "POST", headers: { ...auth, "content-type": type }, body: PAGE };
  const uploaded = await fetch(`${url}${path}?name=${encodeURIComponent(name)}`, init);
  const { id } = (await uploaded.json()) as { readonly id: string };
  if (uploaded.status !== 201) return null;
  const served = await fetch(`${url}${path}/${id}`, { headers: { ...auth } });
  expect(await served.text()).toBe(PAGE);
  return served;
}

/** Returns the headers that let a browser run something of the file. */
function findHarm({ headers }: Response): string[] {
  const type = headers.get("content-type") ?? "";
  const disposition = headers.get("content-disposition") ?? "";
  // A browser shows only images without code. With `nosniff`, a page that claims to be one stays a broken image.
  const isImage = disposition === "inline" && /^image\/(png|jpeg|gif|webp|avif)$/.test(type);
  const isDownload = /^attachment; filename="[\w.-]+"(; filename\*=\S+)?$/.test(disposition);
  return [
    ...(headers.get("x-content-type-options") === "nosniff" ? [] : ["sniffed"]),
    ...(headers.get("content-security-policy") === "default-src 'none'; sandbox" ? [] : ["no sandbox"]),
    ...(headers.has("set-cookie") ? ["a cookie"] : []),
    ...(/html|script|xml/.test(type.replace("svg+xml", "")) ? [type] : []),
    ...(isImage || isDownload ? [] : [disposition]),
  ];
}

test.each([
  "../../etc/passwd",
  "a\r\nset-cookie: x=1",
  'a".html',
  'a"; filename="b.exe',
  "x.svg\u202egnp.exe",
  "..",
  "con",
  "a/b\\c",
  "💥".repeat(30),
  "a\0b",
  "'; drop table uploads; --",
  "%0d%0ax",
])("the name %j changes no header", async (name) => {
  const served = await serve(name, "text/html");
  expect(served === null ? [] : findHarm(served)).toEqual([]);
});

test.each([
  "image/svg+xml",
  "text/html",
  "TEXT/HTML; charset=utf-7",
  "application/xhtml+xml",
  "application/xml",
  "image/png; charset=utf-7",
  "IMAGE/PNG",
  "text/javascript",
  "application/pdf",
  "multipart/x-mixed-replace",
  "x/y",
])("a page of the type %j is not shown as a page", async (type) => {
  const served = await serve("x", type);
  if (served === null) throw new Error("the upload was refused");
  expect(findHarm(served)).toEqual([]);
});

test("a guessed id finds no file and no other path", async () => {
  for (const id of [
    "%2e%2e%2fhistory",
    "..%2f..",
    `k.${"0".repeat(64)}`,
    "",
    "__proto__",
    "constructor",
    "%00",
    "a".repeat(300),
    "*",
    "%25",
  ]) {
    const { status } = await fetch(`${server.url}${path}/${id}`, { headers: { ...server.auth } });
    expect([400, 404, 405], id).toContain(status);
  }
});
