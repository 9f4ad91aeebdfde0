/** Tests how a card shows its outcome. */
import { createStaticSession } from "@turnstream/client/static";
import { foldAll } from "@turnstream/protocol";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { ApprovalCard } from "../../src/cards/approval-card.tsx";
import { eventsOf } from "../vector-logs.ts";
import { Stage } from "../stage.tsx";

test("U05 an approved request has no check mark, because a check mark means that the tool has run", () => {
  const events = eventsOf("approved-and-edited");
  const turn = foldAll(events).turns.last();
  const drawn = (turn?.items.toArray() ?? []).flatMap((item) =>
    item?.kind === "approval"
      ? renderToStaticMarkup(
          <Stage session={createStaticSession(events)}>
            <ApprovalCard turnId={turn?.id ?? ""} blockIndex={item.index} />
          </Stage>,
        )
      : [],
  );
  expect(drawn.length).toBe(2);
  for (const html of drawn) {
    expect(html).toContain("ts-icon-allowed");
    expect(html).not.toContain("ts-icon-check");
  }
});
