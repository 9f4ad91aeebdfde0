/** Tests that the suite runs on the version of React that TURNSTREAM_REACT names, and that there is only one. */
import { version } from "react";
import { renderToString, version as serverVersion } from "react-dom/server";
import { expect, test } from "vitest";
import { Markdown } from "../src/content/text-block.tsx";
import { preload } from "../src/default-components.ts";
import { Stage } from "./stage.tsx";

test("all parts use the chosen version of React", async () => {
  const wanted = process.env["TURNSTREAM_REACT"] ?? "19";
  expect([version, serverVersion].map((one) => one.split(".", 1)[0])).toEqual([wanted, wanted]);
  // An element that another version of React has made can't be rendered.
  await preload();
  const page = renderToString(
    <Stage>
      <Markdown text="*one*" isStreaming={false} />
    </Stage>,
  );
  expect(page).toContain("<em>one</em>");
});
