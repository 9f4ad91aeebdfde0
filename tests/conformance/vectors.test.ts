/** Checks the vectors: the files are what the script writes, and the public functions agree with them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventSchema } from "@turnstream/protocol/schema";
import { eventSchemas } from "../../packages/protocol/src/events/index.ts";
import { describe, expect, test } from "vitest";
import { listEvents, SCENARIOS } from "./scenarios/index.ts";
import { verifyFile } from "./scenarios/verify/files.ts";
import { vectorFiles } from "./scenarios/write/files.ts";

const folder = join(import.meta.dirname, "vectors");
const paths = globSync("**/*.json", { cwd: folder }).toSorted();
const texts = new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
const vectors = new Map([...texts].map(([path, text]) => [path, JSON.parse(text) as unknown]));

describe("the scenarios", () => {
  const logs = Object.entries(SCENARIOS).map(([name, scenario]) => ({ name, events: listEvents(scenario) }));

  test("contain every type of event, and each event matches its schema", () => {
    const events = logs.flatMap((log) => log.events);
    const types = new Set<string>(events.map((event) => event.type));
    expect(Object.keys(eventSchemas).filter((type) => !types.has(type))).toEqual([]);
    for (const event of events) expect(eventSchema.safeParse(event).error?.issues ?? []).toEqual([]);
  });

  test("T07 annotate exactly the marker, in UTF-16 units", () => {
    const written = new Map<string, string>();
    let citations = 0;
    for (const event of logs.flatMap((log) => log.events)) {
      if (event.type !== "text.delta") continue;
      const text = (written.get(`${event.turn}/${event.block}`) ?? "") + event.text;
      written.set(`${event.turn}/${event.block}`, text);
      for (const { reference, start, end } of event.annotations ?? []) {
        expect(text.slice(start, end)).toBe(`[^${reference}]`);
        citations++;
      }
    }
    expect(citations).toBeGreaterThan(3);
  });
});

describe("the vector files", () => {
  test("are what the script writes; `npm run vectors` updates them", () => {
    const written = vectorFiles();
    expect(paths).toEqual([...written.keys()].toSorted());
    expect(paths.filter((path) => texts.get(path) !== written.get(path))).toEqual([]);
  });

  test("H03 agree with the public functions when they are read back", () => {
    let checks = 0;
    for (const path of paths) {
      const report = verifyFile(path, vectors);
      expect(report.problems, path).toEqual([]);
      expect(report.checks, path).toBeGreaterThan(10);
      checks += report.checks;
    }
    console.log(`${paths.length} vector files, ${checks} checks`);
    expect(checks).toBeGreaterThan(10_000);
  });
});

function isCovered(number: string): boolean {
  return /^-?\d+$/.test(number) ? Number.isSafeInteger(Number(number)) : Number.isFinite(Number(number));
}

describe("readers in other languages", () => {
  test("U09 find only numbers that fit into a double, as in Dart on the web", () => {
    for (const [path, text] of texts) {
      const numbers = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
      expect(
        numbers.filter((number) => !isCovered(number)),
        path,
      ).toEqual([]);
    }
  });
});
