/**
 * Compares the documents with the code: the tables and examples of PROTOCOL.md and DIALECTS.md match the code, and links
 * have a target. The last tests plant errors that the checks must find.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  emptyState,
  type SessionEvent,
  fold,
  foldAll,
  formatCursor,
  restore,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import { describe, expect, test } from "vitest";
import {
  type Check,
  checkClasses,
  checkErrors,
  checkEvents,
  checkExamples,
  checkFields,
  checkGuarantees,
  checkRules,
  checkStates,
  logOf,
} from "./support/doc-checks.ts";
import { checkBodies, checkCommands } from "./support/doc-commands.ts";
import {
  checkFrameFields,
  checkFrames,
  checkHistory,
  checkLimits,
  checkMappings,
  checkSse,
  type DialectCheck,
} from "./support/doc-dialects.ts";
import { readAnchors, readFences, readLinks } from "./support/markdown.ts";
import { framesFrom, statesOf } from "./support/replay.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const PATHS = ["*.md", "{docs,tests}/**/*.md", "packages/*/README.md", "examples/*/*.md"];
const DOCUMENTS = globSync(PATHS, { cwd: root }).toSorted();

/** Returns links to missing files and headings. Does not check URLs. */
function checkLinks(text: string, path: string): string[] {
  return readLinks(text).flatMap((link) => {
    if (/^[a-z]+:/.test(link)) return [];
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? join(root, path) : join(root, dirname(path), file);
    if (!existsSync(target)) return [`${path} links to ${link}`];
    if (anchor === undefined) return [];
    const there = file === "" ? text : readFileSync(target, "utf8");
    return readAnchors(there).has(anchor) ? [] : [`${path} links to the heading ${link}`];
  });
}

/** Returns the pages that a text doesn't link to. */
function checkListed(text: string, pages: readonly string[]): string[] {
  const links = new Set(readLinks(text));
  return pages.filter((page) => !links.has(page));
}

/** The script of every app that `npm create turnstream` makes. */
const APP_SCRIPT = "dev";

/** Returns the npm scripts that a document names and package.json doesn't have. */
const checkScripts: Check = (text) => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = [...text.matchAll(/\bnpm (?:run |(?=test))([a-z]+(?:[:-][a-z]+)*)/g)].map(
    (match) => match[1] ?? "",
  );
  const missing = named.filter((name) => name !== APP_SCRIPT && scripts[name] === undefined);
  return missing.map((name) => `there is no npm script ${name}`);
};

const PROTOCOL: readonly [string, Check][] = [
  ["the class of an event", checkClasses],
  ["one example of every event, together a valid log", checkExamples],
  ["the events and their fields", checkEvents],
  ["the kinds of all fields", checkFields],
  ["the rules by number", checkRules],
  ["the guarantees by number, together with DIALECTS.md", withDialects(checkGuarantees)],
  ["the state, and the transitions of interactions", checkStates],
  ["commands, replies and errors of HTTP", checkCommands],
  ["the error codes", checkErrors],
];

const DIALECTS: readonly [string, Check][] = [
  ["frames of the log, one example of every type", onLog(checkFrames)],
  ["the frames of each event", onLog(checkMappings)],
  ["the fields of frames", checkFrameFields],
  ["what a dialect can't carry", checkLimits],
  ["history and handoff points", onLog(checkHistory)],
  ["frames as SSE", onLog(checkSse)],
  ["bodies of HTTP", checkBodies],
];

/** A check that needs the texts of both documents. */
function withDialects(check: Check): Check {
  return (text) => check(`${text}\n${read("docs/DIALECTS.md")}`);
}

/** A check of DIALECTS.md against the example log of PROTOCOL.md. */
function onLog(check: DialectCheck): Check {
  return (text) => check(text, logOf(read("docs/PROTOCOL.md")));
}

describe("PROTOCOL.md matches the code:", () => {
  test.each(PROTOCOL)("%s", (_, check) => {
    expect(check(read("docs/PROTOCOL.md"))).toEqual([]);
  });
});

describe("DIALECTS.md matches the code:", () => {
  test.each(DIALECTS)("%s", (_, check) => {
    expect(check(read("docs/DIALECTS.md"))).toEqual([]);
  });
});

describe.each(DOCUMENTS)("%s", (path) => {
  test("links to existing files and headings", () => {
    expect(checkLinks(read(path), path)).toEqual([]);
  });

  test("names only existing npm scripts", () => {
    expect(checkScripts(read(path))).toEqual([]);
  });
});

test("docs/README.md links to every page of docs/, and README.md to it", () => {
  const pages = DOCUMENTS.filter((path) => /^docs\/(?!README)[^/]+$/.test(path)).map((path) =>
    basename(path),
  );
  expect(pages.length).toBeGreaterThan(20);
  expect(checkListed(read("docs/README.md"), pages)).toEqual([]);
  expect(checkListed(read("README.md"), ["docs/README.md"])).toEqual([]);
});

test("README.md shows the agent that `npm run demo` runs", () => {
  const shown = readFences(read("README.md")).find(({ info }) => info === "ts");
  expect(read("package.json")).toContain("dev examples/readme/agent.ts");
  expect(`${shown?.body}\n`).toBe(read("examples/readme/agent.ts"));
});

describe("on the log of PROTOCOL.md", () => {
  const log = logOf(read("docs/PROTOCOL.md"));
  const states = statesOf(log);
  const whole = states.at(-1) ?? emptyState;

  test("F01 the fold changes neither the state nor the event", () => {
    let state = emptyState;
    for (const event of log) state = frozen(fold(state, frozen(structuredClone(event))));
    expect(snapshot(state)).toEqual(snapshot(whole));
  });

  test("F02 F08 F09 every event at every position gives a state, and a block that can't start changes nothing", () => {
    for (const state of states) {
      for (const event of log) {
        const { id: _, first: __, ...rest } = event;
        const next = fold(state, { ...rest, id: positionAfter(state) });
        expect([next.epoch, next.seq]).toEqual([state.epoch, state.seq + 1]);
        if ("block" in event && event.type.endsWith(".start") && state === whole)
          expect(next.turns).toBe(state.turns);
      }
    }
  });

  test("F02 an event with a missing or malformed field gives a state", () => {
    for (const [k, event] of log.entries()) {
      const state = states[k] ?? emptyState;
      for (const field of Object.keys(event).filter((name) => name !== "id" && name !== "first")) {
        for (const wrong of [undefined, null, 5, {}]) {
          const next = fold(state, { ...event, [field]: wrong });
          const isClaimed = event.id.startsWith(`${state.epoch}-`) || field !== "type";
          expect(next.seq).toBe(isClaimed ? states[k + 1]?.seq : state.seq);
        }
      }
    }
  });

  test("F09 an index may skip 1024 numbers and no more", () => {
    const state = states.find(({ turns }) => turns.last()?.runs.length === 1) ?? emptyState;
    const at = (index: number) => {
      const start = {
        v: 1,
        at: 0,
        turn: "t1",
        run: "r1",
        block: "far",
        index,
        id: positionAfter(state),
      } as const;
      return fold(state, { ...start, type: "thinking.start" }).turns.last()?.items;
    };
    expect(at(1024)?.toArray().slice(-2)).toMatchObject([null, { id: "far" }]);
    expect(at(1025)?.length).toBe(0);
  });

  test("F07 a turn start closes a turn that is still running", () => {
    const state = states.find(({ turns }) => turns.last()?.open === 1) ?? emptyState;
    const start = log.find((event) => event.type === "turn.start");
    const next = fold(state, { ...start, turn: "later", id: positionAfter(state) } as SessionEvent);
    expect(next.turns.toArray().map(({ status, open }) => [status, open])).toEqual([
      ["error", 0],
      ["running", 0],
    ]);
  });

  test("F06 a notice aborts the open blocks", () => {
    const state = states.find(({ turns }) => turns.last()?.half_shown === 1) ?? emptyState;
    const stop = {
      v: 1,
      at: 0,
      turn: "t1",
      run: "r1",
      block: "stop",
      index: 1,
      id: positionAfter(state),
    } as const;
    const turn = fold(state, { ...stop, type: "notice.stopped", text: "" }).turns.last();
    expect([turn?.open, turn?.half_shown]).toEqual([0, 0]);
    expect(turn?.items.get(0)).toMatchObject({
      kind: "files",
      aborted: true,
      status: "failed",
      end: state.seq + 1,
    });
  });

  test("F11 a superseded block keeps its index", () => {
    const { index } = log.find((event) => "block" in event && event.block === "b12") as { index: number };
    const item = whole.turns.get(0)?.items.get(index);
    expect(item).toMatchObject({ kind: "superseded", was: "text", id: "b12", index });
  });

  test("X01 a snapshot at any position and the events after it fold to the state of the complete log", () => {
    for (const [k, state] of states.entries()) {
      const wire = JSON.parse(JSON.stringify(snapshot(state))) as ReturnType<typeof snapshot>;
      expect(snapshot(foldAll(log.slice(k), restore(wire)))).toEqual(snapshot(whole));
    }
  });

  test("X04 at any position, a client of any dialect can continue in another", () => {
    for (const [k, state] of states.entries()) {
      const rest = log.slice(k);
      expect(framesFrom(blocks, state, rest)).toEqual(tail(framesFrom(blocks, emptyState, log), state));
      expect(framesFrom(tasks, state, rest)).toEqual(tail(framesFrom(tasks, emptyState, log), state));
      expect(framesFrom(responses, state, rest)).toEqual(tail(framesFrom(responses, emptyState, log), state));
    }
  });
});

/** A planted error: its name, the check that must find it, the text to replace and the replacement. */
type Planted = [name: string, check: Check, from: string | RegExp, to: string];

const PLANTED: Readonly<Record<string, readonly Planted[]>> = {
  "docs/PROTOCOL.md": [
    ["an event of another class", checkClasses, "| `text.delta` | `gap` |", "| `text.delta` | `next` |"],
    ["a missing class", checkClasses, /\| `stale` \| A writer .*\n/, ""],
    ["an unknown field of an event", checkExamples, '"mode": "agent"', '"mood": "agent"'],
    ["an event out of order", checkExamples, '"index": 9,', '"index": 8,'],
    ["a type of event without an example", checkExamples, /^\{.*"session.update".*\n/m, ""],
    ["a missing event", checkEvents, /\| `group.start` \| group .*\n/, ""],
    ["an effect of no event", checkEvents, "| `group.start` | If the turn", "| `group.begin` | If the turn"],
    ["an optional field that is required", checkEvents, "| `part` `call?` |", "| `part` `call` |"],
    ["a description that differs from the schema", checkEvents, "| More text. |", "| Text. |"],
    ["a field of another kind", checkFields, "| `run.start` | label |", "| `run.start` | text |"],
    ["a shape with a missing field", checkFields, /\| `choice` \| `value` .*\n/, ""],
    ["a rule with another text", checkRules, "files come first in a turn", "files come first"],
    ["a guarantee with a wrong number", withDialects(checkGuarantees), "| F03 |", "| F33 |"],
    ["a guarantee without a test", withDialects(checkGuarantees), /(\| X02 .*) \| \[fold\].*$/m, "$1 | |"],
    ["a missing field of the state", checkStates, /\| `half_shown` .*\n/, ""],
    ["an unknown field of an item", checkStates, "| `notice` `text` `by`", "| `notice` `text` `who`"],
    ["a missing transition", checkStates, "`processing` `cancelled` `expired`", "`processing`"],
    ["an invalid command", checkCommands, '"decision": "edit"', '"decision": "keep"'],
    ["a reply with a missing field", checkCommands, '"resumed": true, ', ""],
    ["a missing error", checkErrors, /\| `LLM_REFUSED` .*\n/, ""],
    ["an error about something else", checkErrors, "| 10013 | connection |", "| 10013 | turn |"],
    ["an error with another number", checkErrors, "| 10014 |", "| 10041 |"],
    ["a link to no heading", (text) => checkLinks(text, "docs/PROTOCOL.md"), "(#5-events)", "(#5-event)"],
  ],
  "docs/DIALECTS.md": [
    [
      "a frame that the log doesn't have",
      onLog(checkFrames),
      '"stop_reason": "end_turn" }',
      '"stop_reason": "error" }',
    ],
    ["an invalid frame", onLog(checkFrames), '"type": "message_stop"', '"type": "message_end"'],
    [
      "a missing frame of an event",
      onLog(checkMappings),
      "| `group.end` | `group_end` |",
      "| `group.end` | - |",
    ],
    ["an unknown field of a frame", checkFrameFields, "`final_text` `usage`", "`final_text` `tokens`"],
    ["a missing limit", checkLimits, "- groups and their summaries\n", ""],
    ["another history", onLog(checkHistory), '"display_type": "group_start"', '"display_type": "content"'],
    ["a handoff point in the list", onLog(checkHistory), '["1-5", ', '["1-4", "1-5", '],
    ["a wrong line of SSE", onLog(checkSse), "id: 2-48", "id: 2-49"],
    ["a body with an unknown field", checkBodies, '"stream": true', '"streams": true'],
    [
      "a link to no heading",
      (text) => checkLinks(text, "docs/DIALECTS.md"),
      "(#5-history)",
      "(#5-histories)",
    ],
  ],
  "README.md": [["a link to nothing", (text) => checkLinks(text, "README.md"), "(LICENSE)", "(LICENSES)"]],
  "CONTRIBUTING.md": [["an unknown npm script", checkScripts, "npm run vectors", "npm run vector"]],
};

describe.each(Object.entries(PLANTED))("a check of %s finds", (path, planted) => {
  test.each(planted)("%s", (_, check, from, to) => {
    const text = read(path).replace(from, to);
    expect(text).not.toBe(read(path));
    expect(check(text)).not.toEqual([]);
  });
});

/** The cursor directly after a state, in the same epoch. */
function positionAfter({ epoch, seq }: SessionState): string {
  return formatCursor({ epoch, seq: seq + 1 });
}

/** Freezes plain data recursively. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}

/** The frames of the events after a state. */
function tail<F extends { readonly event_id?: string }>(frames: F[], { seq }: SessionState): F[] {
  const seen = frames.findLastIndex(
    ({ event_id: id }) => id !== undefined && Number(id.split("-")[1]) <= seq,
  );
  return frames.slice(seen + 1);
}
