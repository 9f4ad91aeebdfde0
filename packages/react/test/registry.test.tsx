/**
 * Tests the shadcn registry: its files are those of the sources, follow the documented format of registry items
 * (ui.shadcn.com/docs/registry/registry-item-json), and the components render.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createStaticSession } from "@turnstream/client/static";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { Thread } from "../registry/source/thread.tsx";
import { SessionList } from "../registry/source/session-list.tsx";
import { registryFiles } from "../scripts/registry-files.ts";
import { eventsOf } from "./vector-logs.ts";

const FOLDER = new URL("../registry/", import.meta.url);
const NAMES = ["approval-card", "composer", "session-list", "thread"];

/** The documented types of items and files, and those of files that need a `target`. */
const TYPES = ["lib", "block", "component", "ui", "hook", "theme", "page", "file", "style", "item"].map(
  (type) => `registry:${type}`,
);
const WITH_TARGET = ["registry:file", "registry:page"];

const KEYS = (
  "$schema name type title description author dependencies devDependencies registryDependencies files tailwind " +
  "cssVars css envVars meta docs categories extends"
).split(" ");
/** What an app with shadcn has, or what the item installs. */
const PACKAGES = ["react", "@turnstream/react", "@turnstream/react/chat"];

type Item = Record<string, unknown>;

function isTexts(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((one) => typeof one === "string"));
}

async function neverCalled(): Promise<never> {
  throw new Error("a render calls nothing");
}

/** Returns how an item differs from the documented format. */
function misfits(item: Item): string[] {
  const found: string[] = [];
  const check = (isRight: boolean, problem: string): void => {
    if (!isRight) found.push(problem);
  };
  for (const key of Object.keys(item)) check(KEYS.includes(key), `${key} is unknown`);
  for (const key of ["name", "title", "description"])
    check(typeof item[key] === "string", `${key} is no text`);
  check(TYPES.includes(String(item["type"])), "type is unknown");
  for (const key of ["dependencies", "devDependencies", "registryDependencies", "categories"])
    check(isTexts(item[key]), `${key} is no list of texts`);
  for (const file of (item["files"] ?? []) as Item[]) {
    check(typeof file["path"] === "string", "a file has no path");
    check(TYPES.includes(String(file["type"])), "the type of a file is unknown");
    check(
      typeof file["target"] === "string" || !WITH_TARGET.includes(String(file["type"])),
      "a file has no target",
    );
    check(typeof file["content"] === "string" && file["content"] !== "", "a file has no content");
  }
  for (const [at, value] of Object.entries((item["css"] ?? {}) as Item))
    check(typeof value === "object" || typeof value === "string", `css ${at} is neither text nor rules`);
  return found;
}

const itemOf = (name: string): Item =>
  JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")) as Item;

test("the files of the registry are up to date: run `npm run registry`", () => {
  for (const [name, text] of registryFiles())
    expect(readFileSync(new URL(name, FOLDER), "utf8"), name).toBe(text);
  const written = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  expect(written.toSorted()).toEqual([...NAMES, "registry"].map((name) => `${name}.json`).toSorted());
});

test.each(NAMES)("%s has the documented format of a registry item", (name) => {
  const item = itemOf(name);
  expect(misfits(item)).toEqual([]);
  expect(item["name"]).toBe(name);
});

test("the check finds what is wrong with an item", () => {
  const { name: _, ...nameless } = itemOf("thread");
  expect(misfits(nameless)).toEqual(["name is no text"]);
  expect(misfits({ ...itemOf("thread"), type: "registry:widget", extra: 1 })).toEqual([
    "extra is unknown",
    "type is unknown",
  ]);
  expect(misfits({ ...itemOf("thread"), files: [{ path: "a.tsx", type: "registry:file" }] })).toEqual([
    "a file has no target",
    "a file has no content",
  ]);
});

test("an item has every file that it imports, and names what the app must have", () => {
  for (const name of NAMES) {
    const { files, registryDependencies } = itemOf(name) as unknown as {
      readonly files: readonly { readonly path: string; readonly content: string }[];
      readonly registryDependencies: readonly string[];
    };
    const there = [
      ...files.map(({ path }) => `@/${path.replace(/\.tsx$/, "")}`),
      ...registryDependencies.map((ui) => `@/components/ui/${ui}`),
      ...PACKAGES,
    ];
    const imported = files.flatMap(({ content }) =>
      [...content.matchAll(/from "([^"]+)"/g)].map(([, from = ""]) => from),
    );
    expect(imported.length).toBeGreaterThan(0);
    expect(imported.filter((from) => !there.includes(from))).toEqual([]);
  }
});

test("the components of the registry render a waiting approval, the composer and the sessions", () => {
  const events = eventsOf("approved-and-edited");
  const asked = events.findIndex(({ type }) => type === "approval.request");
  const thread = renderToString(<Thread session={createStaticSession(events.slice(0, asked + 1))} />);
  expect(thread).toContain("Approve</button>");
  expect(thread).toContain("<textarea");
  const list = renderToString(
    <SessionList
      sessions={{
        sessions: [
          {
            id: "s1",
            number: 1,
            title: "Prices",
            forkedFromShare: false,
            createdAt: 0,
            updatedAt: 0,
          },
        ],
        isLoading: false,
        error: null,
        hasMore: false,
        refresh: neverCalled,
        loadMore: neverCalled,
        create: neverCalled,
        rename: neverCalled,
        remove: neverCalled,
      }}
      current="s1"
      onOpen={() => {}}
      onNew={() => {}}
    />,
  );
  expect(list).toContain("Prices");
});
