/** Tests that pictures and links of a session use the address of its client's gateway. */
import { createClient } from "@turnstream/client";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { SafeImage } from "../src/ui/safe-image.tsx";
import { SafeLink } from "../src/ui/safe-link.tsx";
import { Stage } from "./stage.tsx";

test("files load from the gateway of the client, with its origin and path", () => {
  const client = createClient({ url: "https://example.com/chat/", auth: () => ({ headers: {} }) });
  const html = renderToString(
    <Stage session={client.session("s")}>
      <SafeImage address="/api/v1/blobs/picture" alt="A picture" />
      <SafeLink address="/api/v1/sessions/s/files/f">A file</SafeLink>
    </Stage>,
  );
  expect(html).toContain('src="https://example.com/chat/api/v1/blobs/picture"');
  expect(html).toContain('href="https://example.com/chat/api/v1/sessions/s/files/f"');
  client.close();
});
