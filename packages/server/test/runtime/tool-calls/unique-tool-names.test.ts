/** What the model calls the tools of a source. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { uniqueToolNames } from "../../../src/runtime/tool-calls/tool-sources.ts";

const NAME = /^[A-Za-z][\w-]{0,63}$/;

describe("the names of a source's tools", () => {
  it("are the source's name and the tool's", () => {
    expect(uniqueToolNames("git", ["log", "show-file"], new Set())).toEqual(["git_log", "git_show-file"]);
  });

  it("have only what a name may have, and tell apart what would look alike", () => {
    const names = uniqueToolNames("fs", ["a.b", "a/b", "a_b"], new Set());
    expect(names[2]).toBe("fs_a_b");
    expect(names[0]).toMatch(/^fs_a_b_[0-9a-f]{8}$/);
    expect(new Set(names).size).toBe(3);
  });

  it("leave names alone that others have", () => {
    expect(uniqueToolNames("a", ["b_c"], new Set(["a_b_c"]))[0]).toMatch(/^a_b_c_[0-9a-f]{8}$/);
  });

  it("are valid, unique, and the same in whatever order the tools come", () => {
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
