/**
 * The documents are true: the tables and examples of PROTOCOL.md say what the code says, links lead somewhere,
 * and code in Markdown compiles and runs. The last tests plant errors and see that they are noticed.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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
import ts from "typescript";
import { describe, expect, test } from "vitest";
import {
  type Check,
  checkErrors,
  checkEvents,
  checkExamples,
  checkFields,
  checkPlaces,
  checkRules,
  checkStates,
  logOf,
} from "./support/doc-checks.ts";
import {
  checkCommands,
  checkFrameFields,
  checkFrames,
  checkHistory,
  checkLimits,
  checkMappings,
  checkSse,
} from "./support/doc-dialects.ts";
import { checkListed, checkOptionTables, checkTwice } from "./support/doc-pages.ts";
import { readAnchors, readFences, readLinks } from "./support/markdown.ts";
import { framesFrom, statesOf } from "./support/replay.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const PATHS = ["*.md", "{docs,conformance}/**/*.md", "packages/{client,server}/README.md", "examples/*/*.md"];
const DOCUMENTS = globSync(PATHS, { cwd: root }).toSorted();

/** Links to files and headings that are not there; addresses on the web are not looked at. */
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

/** Commands of npm that a document names and package.json doesn't have. */
const checkScripts: Check = (text) => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = [...text.matchAll(/\bnpm (?:run |(?=test))([a-z]+(?:[:-][a-z]+)*)/g)].map(
    (match) => match[1] ?? "",
  );
  return named.filter((name) => scripts[name] === undefined).map((name) => `there is no npm script ${name}`);
};

const config = ts.getParsedCommandLineOfConfigFile(
  join(root, "conformance/tsconfig.json"),
  { noEmit: true, emitDeclarationOnly: false, composite: false },
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} },
);
/** Everything but the documents' own code, read and bound once for all of them. */
const parsed = { ts: new Map<string, ts.SourceFile>(), tsx: new Map<string, ts.SourceFile>() };

/** What a page is written with, beside the language. */
const FOR_PAGES: ts.CompilerOptions = {
  jsx: ts.JsxEmit.ReactJSX,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
};

/** What the compiler says about the TypeScript in a document, as if each block were a file of this package. */
const checkCode: Check = (text) => [...checkCodeOf(text, "ts"), ...checkCodeOf(text, "tsx")];

function checkCodeOf(text: string, language: "ts" | "tsx"): string[] {
  const code = readFences(text).filter(({ info }) => info === language);
  if (config === undefined || code.length === 0) return [];
  const sources = new Map(
    code.map(({ body, line }) => [join(root, "conformance", `line-${line}.${language}`), body] as const),
  );
  const options = language === "ts" ? config.options : { ...config.options, ...FOR_PAGES };
  const host = ts.createCompilerHost(options);
  host.fileExists = (file) => sources.has(file) || ts.sys.fileExists(file);
  host.readFile = (file) => sources.get(file) ?? ts.sys.readFile(file);
  const known = parsed[language];
  const parse = host.getSourceFile.bind(host);
  host.getSourceFile = (file, ...how) => {
    const found = known.get(file) ?? parse(file, ...how);
    if (found !== undefined && !sources.has(file)) known.set(file, found);
    return found;
  };
  const next = ts.createProgram([...sources.keys()], options, host);
  return [...sources.keys()].flatMap((name) => {
    const file = next.getSourceFile(name);
    const found = [...next.getSyntacticDiagnostics(file), ...next.getSemanticDiagnostics(file)];
    return found.map(({ messageText }) => `${name}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);
  });
}

/** Runs each TypeScript block that is followed by its output, and compares the two. */
const checkOutput: Check = (text) => {
  const fences = readFences(text);
  mkdirSync(join(root, ".tsc"), { recursive: true });
  const folder = mkdtempSync(join(root, ".tsc/docs-"));
  try {
    return fences.flatMap(({ info, body, line }, n) => {
      const next = fences[n + 1];
      if (info !== "ts" || next?.info !== "text") return [];
      const file = join(folder, `line-${line}.ts`);
      writeFileSync(file, body);
      const output = execFileSync(process.execPath, ["--conditions=@turnstream/source", file], {
        encoding: "utf8",
      });
      return output.trimEnd() === next.body ? [] : [`the program in line ${line} prints ${output}`];
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const PROTOCOL: readonly [string, Check][] = [
  ["where an event stands", checkPlaces],
  ["one example of every event, together a legal log", checkExamples],
  ["the events and their fields", checkEvents],
  ["the kinds of all fields", checkFields],
  ["the rules and promises by number", checkRules],
  ["the state, and how interactions go on", checkStates],
  ["frames that the log gives, one example of every type", checkFrames],
  ["which event becomes which frames", checkMappings],
  ["the fields of frames", checkFrameFields],
  ["what a dialect can't carry", checkLimits],
  ["history and quiet positions", checkHistory],
  ["frames as SSE", checkSse],
  ["commands, replies and bodies", checkCommands],
  ["the error codes", checkErrors],
];

describe("PROTOCOL.md is true about", () => {
  test.each(PROTOCOL)("%s", (_, check) => {
    expect(check(read("PROTOCOL.md"))).toEqual([]);
  });
});

describe.each(DOCUMENTS)("%s", (path) => {
  test("links to files and headings that are there", () => {
    expect(checkLinks(read(path), path)).toEqual([]);
  });

  test("explains no name twice under a heading", () => {
    expect(checkTwice(read(path))).toEqual([]);
  });

  test("has the same four columns in all option tables", () => {
    expect(checkOptionTables(read(path))).toEqual([]);
  });

  test("names npm scripts that are there", () => {
    expect(checkScripts(read(path))).toEqual([]);
  });

  test("has TypeScript that compiles and prints what it says", () => {
    expect([...checkCode(read(path)), ...checkOutput(read(path))]).toEqual([]);
  });
});

const PAGES = DOCUMENTS.filter((path) => /^docs\/[^/]+$/.test(path));

test("README.md leads to every page of docs/", () => {
  expect(checkListed(read("README.md"), PAGES)).toEqual([]);
});

test("README.md has a program", () => {
  expect(readFences(read("README.md")).map(({ info }) => info)).toContain("ts");
});

describe("on the log of PROTOCOL.md", () => {
  const log = logOf(read("PROTOCOL.md"));
  const states = statesOf(log);
  const whole = states.at(-1) ?? emptyState;

  test("F01 the fold changes neither the state nor the event", () => {
    let state = emptyState;
    for (const event of log) state = frozen(fold(state, frozen(structuredClone(event))));
    expect(snapshot(state)).toEqual(snapshot(whole));
  });

  test("F02 F08 F09 every event at every position gives a state, and one that finds no place changes nothing", () => {
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

  test("F02 an event with a field missing, or with something else in it, gives a state too", () => {
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
        v: 2,
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

  test("F07 a turn that was left running is closed by the next one", () => {
    const state = states.find(({ turns }) => turns.last()?.open === 1) ?? emptyState;
    const start = log.find((event) => event.type === "turn.start");
    const next = fold(state, { ...start, turn: "later", id: positionAfter(state) } as SessionEvent);
    expect(next.turns.toArray().map(({ status, open }) => [status, open])).toEqual([
      ["error", 0],
      ["running", 0],
    ]);
  });

  test("F06 a notice ends what is open, as if each had been cut off", () => {
    const state = states.find(({ turns }) => turns.last()?.half_shown === 1) ?? emptyState;
    const stop = {
      v: 2,
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

  test("F11 a void block keeps its place and its number", () => {
    const { index } = log.find((event) => "block" in event && event.block === "b12") as { index: number };
    const item = whole.turns.get(0)?.items.get(index);
    expect(item).toMatchObject({ kind: "superseded", was: "text", id: "b12", index });
  });

  test("X01 a snapshot at any position, and the events after it, fold to the whole", () => {
    for (const [k, state] of states.entries()) {
      const wire = JSON.parse(JSON.stringify(snapshot(state))) as ReturnType<typeof snapshot>;
      expect(snapshot(foldAll(log.slice(k), restore(wire)))).toEqual(snapshot(whole));
    }
  });

  test("X04 at any position, a client of any dialect can go on in another", () => {
    for (const [k, state] of states.entries()) {
      const rest = log.slice(k);
      expect(framesFrom(blocks, state, rest)).toEqual(tail(framesFrom(blocks, emptyState, log), state));
      expect(framesFrom(tasks, state, rest)).toEqual(tail(framesFrom(tasks, emptyState, log), state));
      expect(framesFrom(responses, state, rest)).toEqual(tail(framesFrom(responses, emptyState, log), state));
    }
  });
});

/** An error to plant: what it is, who must notice it, what to look for and what to put there. */
type Planted = [name: string, check: Check, from: string | RegExp, to: string];

const PLANTED: Readonly<Record<string, readonly Planted[]>> = {
  "PROTOCOL.md": [
    ["an event that stands elsewhere", checkPlaces, "| `text.delta` | `gap` |", "| `text.delta` | `next` |"],
    ["a place too few", checkPlaces, /\| `stale` \| has .*\n/, ""],
    ["a field of an event that there is not", checkExamples, '"mode": "agent"', '"mood": "agent"'],
    ["an event out of order", checkExamples, '"index": 9,', '"index": 8,'],
    ["a type of event without an example", checkExamples, /^\{.*"session.update".*\n/m, ""],
    ["an event too few", checkEvents, /\| `group.start` \| group .*\n/, ""],
    ["an optional field that is not", checkEvents, "| `part` `call?` |", "| `part` `call` |"],
    ["a sentence that the schema doesn't say", checkEvents, "| More text. |", "| Text. |"],
    ["a field of another kind", checkFields, "| `run.start` | label |", "| `run.start` | text |"],
    ["a shape with a field too few", checkFields, /\| `choice` \| `value` .*\n/, ""],
    ["a rule in other words", checkRules, "files come first in a turn", "files come first"],
    ["a promise with a wrong number", checkRules, "| F03 |", "| F33 |"],
    ["a promise without a proof", checkRules, /(\| X02 .*) \| \[fold\].*$/m, "$1 | |"],
    ["a field of the state too few", checkStates, /\| `half_shown` .*\n/, ""],
    [
      "a field of an item that there is not",
      checkStates,
      "| `notice` `text` `by`",
      "| `notice` `text` `who`",
    ],
    ["a step of an interaction too few", checkStates, "`processing` `cancelled` `expired`", "`processing`"],
    [
      "a frame that the log doesn't give",
      checkFrames,
      '"stop_reason": "end_turn" }',
      '"stop_reason": "error" }',
    ],
    ["a frame that is not valid", checkFrames, '"type": "message_stop"', '"type": "message_end"'],
    [
      "a frame that an event doesn't become",
      checkMappings,
      "| `group.end` | `group_end` |",
      "| `group.end` | - |",
    ],
    [
      "a field of a frame that there is not",
      checkFrameFields,
      "`final_text` `usage`",
      "`final_text` `tokens`",
    ],
    ["a limit too few", checkLimits, "- groups and their summaries\n", ""],
    ["a history that is not so", checkHistory, '"display_type": "group_start"', '"display_type": "content"'],
    ["a position that is quiet", checkHistory, '["1-5", ', '["1-4", "1-5", '],
    ["a line of SSE that is not so", checkSse, "id: 2-48", "id: 2-49"],
    ["a command that is refused", checkCommands, '"decision": "edit"', '"decision": "keep"'],
    ["a reply with a field too few", checkCommands, '"resumed": true, ', ""],
    ["an error too few", checkErrors, /\| `LLM_REFUSED` .*\n/, ""],
    ["an error about something else", checkErrors, "| 10013 | connection |", "| 10013 | turn |"],
    ["an error with another number", checkErrors, "| 10014 |", "| 10041 |"],
    ["a link to no heading", (text) => checkLinks(text, "PROTOCOL.md"), "(#2-events)", "(#2-event)"],
  ],
  "README.md": [
    ["a link to nothing", (text) => checkLinks(text, "README.md"), "(PROTOCOL.md)", "(SPEC.md)"],
    ["an npm script that there is not", checkScripts, "npm run vectors", "npm run vector"],
    ["code that doesn't compile", checkCode, "createServer({", "creatServer({"],
    ["a page that doesn't compile", checkCode, "<Thread />", "<Thread session />"],
  ],
  "docs/agents.md": [
    ["an option table with other columns", checkOptionTables, "| Option | Type |", "| Option | Kind |"],
    ["an option without a default", checkOptionTables, "| number | `50` |", "| number | |"],
  ],
  "docs/resuming.md": [
    ["output that is not so", checkOutput, "The ridge path is open.\n", "The ridge path is closed.\n"],
  ],
};

describe.each(Object.entries(PLANTED))("a check of %s notices", (path, planted) => {
  test.each(planted)("%s", (_, check, from, to) => {
    const text = read(path).replace(from, to);
    expect(text).not.toBe(read(path));
    expect(check(text)).not.toEqual([]);
  });
});

/** The position right after a state, in the same epoch. */
function positionAfter({ epoch, seq }: SessionState): string {
  return formatCursor({ epoch, seq: seq + 1 });
}

/** Freezes plain data, all the way down. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}

/** The frames after a position: those of later events, up to the one with the cursor. */
function tail<F extends { readonly event_id?: string }>(frames: F[], { seq }: SessionState): F[] {
  const seen = frames.findLastIndex(
    ({ event_id: id }) => id !== undefined && Number(id.split("-")[1]) <= seq,
  );
  return frames.slice(seen + 1);
}
