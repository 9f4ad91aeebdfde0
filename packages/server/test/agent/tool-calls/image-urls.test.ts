/** Tests which URLs an image may have: none that a browser would execute. */
import { expect, it } from "vitest";
import { parseImage } from "../../../src/agent/define/media-input.ts";

it.each([
  "java\tscript:alert(1)",
  "\u0001javascript:alert(1)",
  "vb\nscript:x",
  " javascript:x",
  "data:text/html,x",
  "",
])("refuses %j", (url) => {
  expect(() => parseImage(url)).toThrow(TypeError);
});

it("accepts URLs of the web and of blobs", () => {
  for (const url of ["https://example.com/a b.png", "turnstream:blob/x", "/pictures/1.png"])
    expect(parseImage(url)).toEqual({ url });
});
