/** Tests that the suite runs on the version of React that TURNSTREAM_REACT names, and that there is only one. */
import { createElement, version } from "react";
import { renderToString, version as serverVersion } from "react-dom/server";
import Markdown from "react-markdown";
import { expect, test } from "vitest";

test("all parts use the chosen version of React", () => {
  const wanted = process.env["TURNSTREAM_REACT"] ?? "19";
  expect([version, serverVersion].map((one) => one.split(".", 1)[0])).toEqual([wanted, wanted]);
  // An element of another version of React can't be rendered.
  expect(renderToString(createElement(Markdown, null, "*one*"))).toBe("<p><em>one</em></p>");
});
