/** Tests which addresses open directly, which need a confirmation, and which are dead, and tests `visibleText`. */
import { describe, expect, test, vi } from "vitest";
import { checkImage, checkLink, type LinkRules, DEFAULT_LINK_POLICY } from "../src/link-policy.ts";
import { visibleText } from "../src/visible-text.ts";

const policy: LinkRules = {
  hosts: ["docs.example.com", "*.trusted.example"],
  imageHosts: ["img.example"],
  gatewayUrl: "https://chat.example.com",
};
const link = (address: string, by = policy): string => {
  const verdict = checkLink(address, by);
  return verdict.may === "dead" ? "dead" : `${verdict.may} ${verdict.href}`;
};
const image = (address: string, by = policy): string => {
  const verdict = checkImage(address, by);
  return verdict.may === "dead" ? "dead" : `${verdict.may} ${verdict.href}`;
};

describe("links", () => {
  test("links to allowed hosts open directly; all others ask for a confirmation", () => {
    expect(link("https://docs.example.com/x")).toBe("open https://docs.example.com/x");
    expect(link("HTTPS://DOCS.example.com/x")).toBe("open https://docs.example.com/x");
    expect(link("https://a.b.trusted.example/")).toBe("open https://a.b.trusted.example/");
    expect(link("https://trusted.example/")).toBe("ask https://trusted.example/");
    expect(link("https://eviltrusted.example/")).toBe("ask https://eviltrusted.example/");
    expect(link("https://docs.example.com.evil.example/")).toBe("ask https://docs.example.com.evil.example/");
    expect(link("https://docs.example.com:8443/")).toBe("ask https://docs.example.com:8443/");
    expect(link("https://docs.example.com/x", DEFAULT_LINK_POLICY)).toBe("ask https://docs.example.com/x");
  });

  test("links show the real host that they lead to", () => {
    expect(checkLink("https://docs.example.com@evil.example/", policy)).toEqual({
      may: "ask",
      href: "https://evil.example/",
      to: "evil.example",
    });
    expect(checkLink("https://еxample.com", policy)).toMatchObject({ to: "xn--xample-2of.com" });
    expect(checkLink("mailto:a%40b@evil.example?body=x", policy)).toMatchObject({
      may: "ask",
      to: "a@b@evil.example",
    });
  });

  test.each([
    "javascript:x",
    " javascript:x",
    "java\nscript:x",
    "data:text/html,x",
    "vbscript:x",
    "//evil.example",
    "/logout",
    "x",
    "",
    "#a",
    "http:",
    "https:evil.example",
    "tel:1",
    "turnstream:blob/x",
    "https://[",
    `https://e.example/${"a".repeat(5_000)}`,
  ])("%j is no link", (address) => {
    expect(link(address)).toBe("dead");
  });

  test("links to files of the gateway open directly, but no other paths of the gateway do", () => {
    expect(link("https://chat.example.com/api/v1/blobs/abc")).toBe(
      "open https://chat.example.com/api/v1/blobs/abc",
    );
    expect(link("/api/v1/blobs/abc")).toBe("open https://chat.example.com/api/v1/blobs/abc");
    expect(link("/api/v1/blobs/abc", DEFAULT_LINK_POLICY)).toBe("open /api/v1/blobs/abc");
    expect(link("/api/v1/sessions/s/files/f?x=1", DEFAULT_LINK_POLICY)).toBe(
      "open /api/v1/sessions/s/files/f?x=1",
    );
    expect(link("/api/v1/blobs/../../logout", DEFAULT_LINK_POLICY)).toBe("dead");
    expect(link("/api/v1/blobs/%2e%2e/%2e%2e/logout", DEFAULT_LINK_POLICY)).toBe("dead");
    expect(link("/api/v1/sessions", DEFAULT_LINK_POLICY)).toBe("dead");
    expect(link("https://chat.example.com/api/v1/sessions")).toBe(
      "ask https://chat.example.com/api/v1/sessions",
    );
    expect(link("/\\evil.example/api/v1/blobs/x", DEFAULT_LINK_POLICY)).toBe("dead");
  });
});

const at = (gatewayUrl: string): LinkRules => ({ ...DEFAULT_LINK_POLICY, gatewayUrl });

describe("files of the gateway load under any address of the gateway", () => {
  const FILE = "/api/v1/blobs/abc?x=1";

  test.each([
    ["https://example.com", `https://example.com${FILE}`],
    ["https://example.com/", `https://example.com${FILE}`],
    ["https://example.com/chat", `https://example.com/chat${FILE}`],
    ["https://example.com:8443/a/b/", `https://example.com:8443/a/b${FILE}`],
    ["https://example.com/api", `https://example.com/api${FILE}`],
    ["/chat", `/chat${FILE}`],
    ["", FILE],
  ])("%s", (gatewayUrl, file) => {
    expect(image(FILE, at(gatewayUrl))).toBe(`open ${file}`);
    expect(image(file, at(gatewayUrl))).toBe(`open ${file}`);
    expect(link(file, at(gatewayUrl))).toBe(`open ${file}`);
  });

  test("a page on the origin of the gateway loads absolute addresses of it", () => {
    vi.stubGlobal("location", new URL("https://app.example.com/page"));
    expect(image(`https://app.example.com${FILE}`, at(""))).toBe(`open ${FILE}`);
    expect(image(`https://app.example.com/chat${FILE}`, at("/chat"))).toBe(`open /chat${FILE}`);
    expect(image(`https://evil.example${FILE}`, at(""))).toBe(`ask https://evil.example${FILE}`);
    vi.unstubAllGlobals();
  });

  test.each([
    "https://example.com/api/v1/blobs/abc",
    "https://example.com/chatter/api/v1/blobs/abc",
    "https://example.com/chat/../api/v1/blobs/abc",
    "https://example.com/chat/x/api/v1/blobs/abc",
    "https://example.com/chat/api/v1/sessions",
    "https://example.com.evil.example/chat/api/v1/blobs/abc",
    "http://example.com/chat/api/v1/blobs/abc",
    "https://evil.example/chat/api/v1/blobs/abc",
    "//evil.example/chat/api/v1/blobs/abc",
    "/\\evil.example/chat/api/v1/blobs/abc",
    "/chat/api/v1/blobs/../../../logout",
    "/chat/chat/api/v1/blobs/abc",
    "/other/api/v1/blobs/abc",
    "/logout",
  ])("%s is no file of https://example.com/chat", (address) => {
    expect(link(address, at("https://example.com/chat"))).not.toMatch(/^open/);
    expect(image(address, at("https://example.com/chat"))).not.toMatch(/^open/);
  });
});

test("of many disguised addresses, only those of allowed hosts and of the gateway open directly", () => {
  const disguised = [
    "JAVASCRIPT:alert(1)",
    "\tjavascript:alert(1)",
    "blob:https://docs.example.com/1",
    "file:///etc/passwd",
    "intent://docs.example.com#Intent;scheme=https;end",
    "https://evil.example#@docs.example.com",
    "https://evil.example?docs.example.com",
    "https://docs.example.com%2f.evil.example/",
    "https://evil.example\u202e/docs.example.com",
    "https:/evil.example",
    "\\\\evil.example\\x",
    "http://[::1]/",
    "https://xn--80ak6aa92e.com/",
    "https://chat.example.com/api/v1/shares/abc",
    "https://chat.example.com:8443/api/v1/blobs/abc",
    "http://chat.example.com/api/v1/blobs/abc",
    "/api/v1/sessions/a/files/b/../../../../tokens",
    "/api/v1/blobs/a/b",
  ];
  for (const address of disguised) expect(link(address), address).not.toMatch(/^open/);
  for (const address of [
    "https://docs.example.com:443/x",
    "https://user:pw@docs.example.com/",
    "https://docs.example.com\\@evil.example",
  ])
    expect(link(address), address).toMatch(/^(open|ask) https:\/\/docs[.]example[.]com\//);
  expect(link("https://chat.example.com/api/v1/blobs/abc?x=https://evil")).toBe(
    "open https://chat.example.com/api/v1/blobs/abc?x=https://evil",
  );
});

test("no disguised image loads directly", () => {
  for (const address of [
    "https://evil.example/p?d=SECRET",
    "//evil.example/p",
    "https://img.example@evil.example/p",
    "https://img.example:8443/p",
    "https://img.example.evil.example/p",
    "data:image/svg+xml,<svg onload=1>",
    "data:image/png;base64,AAAA#<svg>",
    "data:text/html;base64,AAAA",
    "DATA:IMAGE/SVG+XML;base64,AAAA",
  ])
    expect(image(address), address).not.toMatch(/^open/);
});

test("images of allowed hosts and the gateway load directly, others after a click; SVG data URLs never load", () => {
  expect(image("https://img.example/a.png")).toBe("open https://img.example/a.png");
  expect(image("https://docs.example.com/a.png")).toBe("ask https://docs.example.com/a.png");
  expect(image("/api/v1/blobs/abc", DEFAULT_LINK_POLICY)).toBe("open /api/v1/blobs/abc");
  expect(image("data:image/png;base64,AAAA")).toBe("open data:image/png;base64,AAAA");
  expect(image("data:image/png;base64,AAA=")).toBe("open data:image/png;base64,AAA=");
  expect(image("data:image/png;base64,AAAAA")).toBe("dead");
  expect(image("data:image/svg+xml;base64,AAAA")).toBe("dead");
  expect(image("data:image/png,<svg>")).toBe("dead");
  expect(image("mailto:a@b.example")).toBe("dead");
});

test("visibleText shows invisible characters as codes and changes nothing else", () => {
  expect(visibleText("a\u202efdp.exe\u200b")).toBe("a⟨202E⟩fdp.exe⟨200B⟩");
  expect(visibleText("Cổ phiếu\n\t“VNM” 👨‍👩‍👧 中文")).toBe("Cổ phiếu\n\t“VNM” 👨‍👩‍👧 中文");
});
