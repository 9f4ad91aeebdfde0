/** Tests the components of an app for single tools and types of artifacts, and their types. */
import { createStaticSession } from "@turnstream/client/static";
import type { SessionEvent } from "@turnstream/protocol";
import { renderToString } from "react-dom/server";
import { beforeAll, expect, test } from "vitest";
import { preload } from "../src/default-components.ts";
import type {
  ArtifactComponents,
  ArtifactTypeProps,
  ToolComponents,
  ToolProps,
} from "../src/own-components.ts";
import { SessionProvider } from "../src/provider.tsx";
import { Thread } from "../src/thread/thread.tsx";
import { eventsOf } from "./vector-logs.ts";

beforeAll(preload);

interface Own {
  readonly tools?: ToolComponents;
  readonly artifacts?: ArtifactComponents;
}

function draw(events: readonly SessionEvent[], own: Own = {}): string {
  const page = renderToString(
    <SessionProvider session={createStaticSession(events)} {...own}>
      <Thread />
    </SessionProvider>,
  );
  return page.replaceAll(/<!--.*?-->/g, "");
}

/** The log has one group, which has ended, with the tools `get_price` and `price_history`. */
const EVENTS = eventsOf("tools-in-group");

/** What `ToolsOf` makes of the agent of this log. */
interface Tools {
  readonly get_price: {
    readonly input: { readonly symbol: string };
    readonly output: { readonly symbol: string; readonly prices: Readonly<Record<string, number>> };
  };
  readonly price_history: { readonly input: { readonly days: number }; readonly output: unknown };
}

function Price({ label, status, input, output }: ToolProps<Tools["get_price"]>) {
  return (
    <mark>
      {label} {status} {input?.symbol} {output?.symbol} {output?.prices["mua"]}
    </mark>
  );
}

test("a group that has ended hides its calls, except those with a component of the app", () => {
  expect(draw(EVENTS)).not.toContain("ts-tool-label");
  const page = draw(EVENTS, { tools: { get_price: Price } });
  expect(page).toMatch(/aria-expanded="false"/);
  expect(page).toContain("<mark>Giá hôm nay done");
  expect(page).toContain("SJC 118.2</mark>");
  expect(page).not.toContain("Price history");
});

const Framed = ({ children }: ToolProps) => <section>{children}</section>;

test("the component gets the default line as its children", () => {
  expect(draw(EVENTS, { tools: { get_price: Framed } })).toMatch(
    /<section><div class="ts-tool".*Giá hôm nay/s,
  );
});

test("before the result, there is no output, and the input is what has streamed", () => {
  const ended = EVENTS.findIndex(({ type }) => type === "tool_result.end");
  const page = draw(EVENTS.slice(0, ended), { tools: { get_price: Price } });
  expect(page).toMatch(/<mark>Giá hôm nay pending [^<]*<\/mark>/);
  expect(page).not.toContain("118.2");
});

const Table = ({ data, title }: ArtifactTypeProps<{ readonly columns: readonly string[] }>) => (
  <mark>
    {title}: {data.columns.join()}
  </mark>
);

test("a component for a type of artifact replaces ours, and stays visible in a collapsed group", () => {
  expect(draw(EVENTS, { artifacts: { table: Table } })).toContain("<mark>SJC: mua,bán</mark>");
  expect(draw(EVENTS, { artifacts: { "x-weather": Table } })).not.toContain("<mark>");
});

const Broken = (): never => {
  throw new Error("a mistake of the app");
};

test("an error in the component leaves the rest of the turn in place", () => {
  // A server has no error boundaries, so React renders the whole thread in the browser.
  expect(() => draw(EVENTS, { tools: { get_price: Broken } })).toThrow("a mistake of the app");
});

test("a name is found only among the own keys of the record", () => {
  const named = JSON.parse(JSON.stringify(EVENTS).replaceAll("get_price", "constructor")) as SessionEvent[];
  expect(draw(named, { tools: {} })).toContain("ts-group");
});

test("a wrong name or field of a tool is a type error", () => {
  const right: ToolComponents<Tools> = { get_price: Price };
  // @ts-expect-error -- there is no such tool
  const name: ToolComponents<Tools> = { get_prices: Price };
  // @ts-expect-error -- the component is for another tool
  const other: ToolComponents<Tools> = { price_history: Price };
  // @ts-expect-error -- the output has no such field
  const Field = ({ output }: ToolProps<Tools["get_price"]>) => output?.volume;
  // @ts-expect-error -- a field of the input may not have streamed yet
  const Part = ({ input }: ToolProps<Tools["get_price"]>): string => input?.symbol;
  const any: ToolComponents = right;
  expect([right, name, other, any].length + Field.length + Part.length).toBe(6);
});
