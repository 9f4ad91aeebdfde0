/** Tests the payment card as the server renders it: read-only threads, other languages, and addresses that are no links. */
import { createStaticSession } from "@turnstream/client/static";
import { foldAll, type SessionEvent } from "@turnstream/protocol";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { PaymentCard } from "../../src/cards/payment-card.tsx";
import type { SessionProviderProps } from "../../src/context.ts";
import { SessionProvider } from "../../src/provider.tsx";
import { en } from "../../src/strings/en.ts";
import { vi } from "../../src/strings/vi.ts";
import { zhCn } from "../../src/strings/zh-cn.ts";
import { zhTw } from "../../src/strings/zh-tw.ts";
import { eventsOf } from "../vector-logs.ts";

const LOG = eventsOf("payment-settles-later");
const requested = LOG.findIndex(({ type }) => type === "payment.request");
const pending = LOG.slice(0, requested + 1);

function render(events: readonly SessionEvent[], options: Partial<SessionProviderProps> = {}): string {
  const turn = foldAll(events).turns.get(0);
  const block = turn?.items.find((item) => item?.kind === "payment");
  return renderToStaticMarkup(
    <SessionProvider session={createStaticSession(events)} {...options}>
      <PaymentCard turnId={turn?.id ?? ""} blockIndex={block?.index ?? -1} />
    </SessionProvider>,
  );
}

const textIn = (html: string): string => html.replaceAll(/<[^>]*>/g, " ");
const actionsIn = (html: string): number => html.match(/<(?:a|button)\b/g)?.length ?? 0;

describe("S08 the payment card", () => {
  test("has actions while the payment is open, none in a read-only thread, and none once it is paid", () => {
    expect(actionsIn(render(pending))).toBe(3);
    expect(actionsIn(render(pending, { readOnly: true }))).toBe(0);
    expect(actionsIn(render(LOG))).toBe(0);
    expect(textIn(render(LOG))).toContain(en.payments.outcome.succeeded);
  });

  test("doesn't link to an address that is not a web address", () => {
    for (const checkout_url of ["", "javascript:alert(1)", "mailto:a@b.example", "/api/v1/blobs/1"]) {
      const events = [...pending.slice(0, -1), { ...pending.at(-1), checkout_url } as SessionEvent];
      expect(render(events)).not.toContain("href");
    }
  });

  test("shows no time left in the first render, because the server doesn't know the user's clock", () => {
    expect(render(pending)).toContain('<span class="ts-time-left" role="timer" aria-live="off"></span>');
  });

  test.each([vi, zhCn, zhTw])("U07 has no English text in $locale", (strings) => {
    const text = textIn(render(pending, { strings }));
    expect(text).toContain(strings.payments?.pay);
    expect(text).toContain(strings.cards.paymentStatus.pending);
    for (const english of [en.payments.pay, en.payments.refresh, en.payments.cancel, "Order"])
      expect(text.split(/\s+/)).not.toContain(english);
  });

  test("U07 shows English in a catalog without strings of payments", () => {
    expect(textIn(render(pending, { strings: { ...en, locale: "fr" } }))).toContain(en.payments.pay);
  });
});
