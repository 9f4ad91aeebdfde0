/** Tests the `responses` dialect frame by frame: created, title, steps, text, tool tags. */
import { responses } from "@turnstream/protocol/responses";
import { responsesFrameSchema } from "@turnstream/protocol/schema";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, framesOf } from "./frames.ts";
import { everyEvent } from "./every-event.ts";

const zero = { total_prompt_tokens: 0, total_completion_tokens: 0, total_tokens: 0, total_calls: 0 };

function startedLog(): LogWriter {
  return new LogWriter().session("cvg-shop", 12_345).begin("When do you open?");
}

const common = (log: LogWriter) => ({ response_id: log.turn, chat_id: 12_345 });

describe("the envelope", () => {
  test("S02 every data has type, response_id and chat_id, and matches its schema", () => {
    for (const frame of framesOf(responses, everyEvent())) {
      expect(responsesFrameSchema.safeParse(frame).error).toBeUndefined();
      if (frame.type === "[DONE]") continue;
      expect(frame).toMatchObject({ response_id: expect.any(String) as string, chat_id: 77 });
    }
  });

  test.each(["end_turn", "user_stopped", "error", "requires_interaction"] as const)(
    "S02 every turn ends with [DONE]: %s",
    (reason) => {
      const log = startedLog();
      if (reason === "user_stopped") log.add({ type: "notice.stopped", ...log.place(), text: "Stopped." });
      const error = { code: "TOOL_ERROR", can_retry: true, error_type: "terminal" } as const;
      if (reason === "error") log.add({ type: "notice.error", ...log.place(), text: "Failed.", ...error });
      const schema = { id: "f", title: "F", fields: [] };
      if (reason === "requires_interaction")
        log.add({ type: "form.request", ...log.place(), form: "frm", schema });
      const types = framesOf(responses, log.end(reason)).map((frame) => frame.type);
      expect(types.at(-1)).toBe("[DONE]");
      expect(types.filter((type) => type === "[DONE]")).toHaveLength(1);
    },
  );
});

describe("a turn", () => {
  test("S03 S04 S05 has the printed frames", () => {
    const log = startedLog();
    const call = log.call("retrieve_context_objs", ['{"query":"hours"}'], {
      label: "Searching the handbook",
      call: "step_1",
    });
    const on = log.startResult(call, "retrieve_context_objs");
    const usage = { input_tokens: 150, output_tokens: 45, total_tokens: 195, calls: 1 };
    log.add({ type: "tool_result.end", ...on, status: "success", preview: "2 pages", artifact: null, usage });
    log.add({ type: "session.update", title: "Opening hours" });
    log.text(["We open ", "at nine."], { final: true }).end();
    const of = common(log);
    expect(bareFramesOf(responses, log)).toEqual([
      {
        type: "response.created",
        ...of,
        agent_id: "market",
        model: "scripted-1",
        conversation_group_id: "cvg-shop",
        user_conversation_id: 1,
      },
      {
        type: "response.reasoning_step.start",
        ...of,
        step: {
          id: "step_1",
          content: "Searching the handbook",
          tool_name: "retrieve_context_objs",
          args: { query: "hours" },
          timestamp: "2027-01-15T08:00:00.280Z",
        },
      },
      {
        type: "response.reasoning_step.end",
        ...of,
        step: {
          id: "step_1",
          tool_name: "retrieve_context_objs",
          result: { success: true, data: "2 pages", status: "success" },
          timestamp: "2027-01-15T08:00:00.360Z",
          token_usage: {
            total_prompt_tokens: 150,
            total_completion_tokens: 45,
            total_tokens: 195,
            total_calls: 1,
          },
        },
      },
      { type: "response.chat.title.updated", ...of, name: "Opening hours" },
      { type: "response.output_text.delta", ...of, delta: "We open " },
      { type: "response.output_text.delta", ...of, delta: "at nine." },
      {
        type: "response.output_text.completed",
        ...of,
        final_text: "We open at nine.",
        usage: { total_prompt_tokens: 120, total_completion_tokens: 45, total_tokens: 165, total_calls: 2 },
        stop_reason: "end_turn",
      },
      { type: "[DONE]" },
    ]);
  });

  test("S03 user_conversation_id counts the user's messages", () => {
    const log = startedLog().text(["Nine."], { final: true }).end();
    log.begin("And on Sundays?").text(["Ten."], { final: true }).end();
    const created = framesOf(responses, log).flatMap((f) =>
      f.type === "response.created" ? [f.user_conversation_id] : [],
    );
    expect(created).toEqual([1, 2]);
  });

  test.each([
    ["error", { success: false, data: "no answer", status: "error" }],
    ["cancelled", { success: false, data: "no answer", status: "cancelled" }],
  ] as const)("S04 a step that ends as %s did not succeed and has no known usage", (status, result) => {
    const log = startedLog();
    log.result(log.call("http_request", []), "http_request", "no answer", { status });
    const end = framesOf(responses, log).find((frame) => frame.type === "response.reasoning_step.end");
    expect(end?.step).toMatchObject({ tool_name: "http_request", result, token_usage: zero });
  });

  test("S04 a sub-agent's steps are sent as steps, its text is not output", () => {
    const log = startedLog();
    const call = log.call("call_agent", [], { call: "step_a" });
    const on = log.startResult(call, "call_agent");
    const run = log.startRun(call, "calendar");
    log.result(log.call("search_web", [], { run, call: "step_b" }), "search_web", "ok", { run });
    log.text(["Internal note."], { part: true, run }).endRun(run).endResult(on, "ok");
    log.text(["Nine."], { final: true }).end();
    const frames = framesOf(responses, log);
    const steps = frames.flatMap((f) =>
      f.type === "response.reasoning_step.start" ? [[f.step.id, f.step.parent_id]] : [],
    );
    expect(steps).toEqual([
      ["step_a", undefined],
      ["step_b", "step_a"],
    ]);
    expect(JSON.stringify(frames)).not.toContain("Internal note.");
  });

  test("S05 the deltas joined are the final text, with a blank line between blocks", () => {
    const log = startedLog().text(["Let me ", "look."], { part: true });
    log
      .result(log.call("search_web", []), "search_web", "ok")
      .text(["We open at nine."], { final: true })
      .end();
    const frames = framesOf(responses, log);
    const joined = frames
      .map((frame) => (frame.type === "response.output_text.delta" ? frame.delta : ""))
      .join("");
    expect(joined).toBe("Let me look.\n\nWe open at nine.");
    expect(frames.at(-2)).toMatchObject({ final_text: joined });
  });

  test("S05 after a takeover, superseded text is not in the final text", () => {
    const log = startedLog();
    const on = log.place();
    log.add({ type: "text.start", ...on, part: false });
    log.add({ type: "text.delta", ...on, text: "We op" });
    log.add({ type: "turn.takeover", turn: log.turn, blocks: [on.block], groups: [], runs: [] });
    log.text(["We open at nine."], { final: true }).end();
    expect(framesOf(responses, log).at(-2)).toMatchObject({ final_text: "We open at nine." });
  });
});

/** The deltas and the final text of an answer with these pieces. */
function answer(pieces: readonly string[], include_tool_tags?: boolean) {
  const log = startedLog().text(pieces, { final: true }).end();
  const options = include_tool_tags === undefined ? {} : { include_tool_tags };
  const frames = framesOf(responses, log, options);
  const deltas = frames.flatMap((frame) =>
    frame.type === "response.output_text.delta" ? [frame.delta] : [],
  );
  const completed = frames.find((frame) => frame.type === "response.output_text.completed");
  return { deltas, final: completed?.final_text };
}

describe("tool tags", () => {
  const tagged = 'Nine.<tool name="hours">{"open":9}</tool> See you!';

  test("S06 are removed from deltas and from the final text unless requested", () => {
    expect(answer([tagged])).toEqual({ deltas: ["Nine. See you!"], final: "Nine. See you!" });
    expect(answer([tagged], false)).toEqual({ deltas: ["Nine. See you!"], final: "Nine. See you!" });
    expect(answer([tagged], true)).toEqual({ deltas: [tagged], final: tagged });
  });

  test("S06 are removed wherever the text is cut, and no delta is empty", () => {
    for (let first = 0; first <= tagged.length; first++) {
      for (let second = first; second <= tagged.length; second++) {
        const pieces = [tagged.slice(0, first), tagged.slice(first, second), tagged.slice(second)];
        const { deltas, final } = answer(pieces);
        expect(deltas.join("")).toBe("Nine. See you!");
        expect(final).toBe("Nine. See you!");
        expect(deltas).not.toContain("");
      }
    }
  });

  test("S06 a delta with only a tag sends no frame", () => {
    expect(answer(["Nine.", "<tool>x</tool>", "<tool a='>'/>", " Bye."]).deltas).toEqual(["Nine.", " Bye."]);
  });

  test("S06 text that only resembles a tag stays, also at the end", () => {
    const text = "if a <too or b < tool and <toolbox> <t";
    expect(answer(Array.from(text)).deltas.join("")).toBe(text);
    expect(answer(Array.from(text)).final).toBe(text);
  });
});
