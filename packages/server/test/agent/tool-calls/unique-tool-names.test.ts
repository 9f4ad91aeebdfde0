/** Tests the names under which the model calls the tools of a source. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { uniqueToolNames } from "../../../src/agent/tool-calls/tool-sources.ts";

const NAME = /^[A-Za-z][\w-]{0,63}$/;

describe("names of a source's tools", () => {
  it("consist of the source's name and the tool's name", () => {
    expect(uniqueToolNames("git", ["log", "show-file"], new Set())).toEqual(["git_log", "git_show-file"]);
  });

  it("contain only valid characters, and similar names stay distinct", () => {
    const names = uniqueToolNames("fs", ["a.b", "a/b", "a_b"], new Set());
    expect(names[2]).toBe("fs_a_b");
    expect(names[0]).toMatch(/^fs_a_b_[0-9a-f]{8}$/);
    expect(new Set(names).size).toBe(3);
  });

  it("don't replace names that are already in use", () => {
    expect(uniqueToolNames("a", ["b_c"], new Set(["a_b_c"]))[0]).toMatch(/^a_b_c_[0-9a-f]{8}$/);
  });

  it("are valid, unique and independent of the order of the tools", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 128 }), { maxLength: 50 }), (tools) => {
        const names = uniqueToolNames("src", tools, new Set());
        expect(names.every((name) => NAME.test(name))).toBe(true);
        expect(new Set(names).size).toBe(tools.length);
        const back = uniqueToolNames("src", tools.toReversed(), new Set());
        expect(back.toReversed()).toEqual(names);
      }),
    );
  });
});
