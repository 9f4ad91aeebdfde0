/** Scenarios of sub-agents: nested and parallel, with citations and pictures, and superseded by a takeover. */
import { Story } from "./story.ts";

/** Two parallel sub-agents, one of which starts a third. Each finds something that the answer cites. */
export function subAgents(): Story {
  const log = new Story().session("ses_lake", 104);
  log.begin("Compare West Lake and Hoàn Kiếm for a morning run 🏃").openGroup();
  const west = log.call("call_agent", ['{"agent":"guide","lake":"West"}'], { label: "Ask the guide" });
  const kiem = log.call("call_agent", ['{"agent":"painter"}'], { label: "Ask the painter" });
  const onWest = log.startResult(west, "call_agent", { label: "Ask the guide" });
  const onKiem = log.startResult(kiem, "call_agent", { label: "Ask the painter" });
  const guide = log.startRun(west, "guide");
  const painter = log.startRun(kiem, "painter");
  log.think(["How long is the shore?"], guide);

  const map = log.call("measure", ['{"lake":"West"}'], { run: guide });
  const draw = log.call("generate_image", ['{"prompt":"mist"}'], { run: painter });
  const onDraw = log.startResult(draw, "generate_image", { run: painter });
  const picture = { type: "tool_result.delta", ...onDraw, part: 0, media: "image" } as const;
  log.add({ ...picture, data: "https://img.example/mist-1.png", done: false });
  const onMap = log.startResult(map, "measure", { run: guide });
  const line = { type: "tool_result.delta", ...onMap, media: "text" } as const;
  log.add({ ...line, part: 0, data: "shore 17 km", done: true, reference: { id: 1, title: "Map" } });
  log.add({ ...picture, data: "https://img.example/mist-2.png", done: false });
  log.add({
    ...line,
    part: 1,
    data: "path ",
    done: false,
    reference: { id: 2, url: "https://osm.example/2" },
  });
  log.add({ ...line, part: 1, data: "paved", done: false });
  const reference = { id: 3, title: "Mist over the lake" };
  log.add({ ...picture, data: "https://img.example/mist.png", done: true, reference });
  log.endResult(onDraw, "a picture").endResult(onMap, "17 km, paved");

  const ask = log.call("call_agent", ['{"agent":"critic"}'], { run: painter });
  const onAsk = log.startResult(ask, "call_agent", { run: painter });
  const critic = log.startRun(ask, "critic", painter);
  const criticText = log.place(critic);
  log.add({ type: "text.start", ...criticText, part: true });
  const guideText = log.place(guide);
  log.add({ type: "text.start", ...guideText, part: true });
  log.add({ type: "text.delta", ...guideText, text: "17 km" });
  log.add({ type: "text.delta", ...criticText, text: "雾很美。" });
  log.add({
    type: "text.delta",
    ...guideText,
    text: "[^1] of path",
    annotations: [{ reference: 1, start: 5, end: 9 }],
  });
  log.add({ type: "text.end", ...criticText, final: false });
  log.endRun(critic).endResult(onAsk, "雾很美。");
  log.add({ type: "text.end", ...guideText, final: false });
  const usage = { input_tokens: 310, output_tokens: 52, total_tokens: 362, calls: 2 };
  log.add({ type: "run.end", turn: log.turn, run: guide, status: "completed", usage });
  log.text(["The critic likes it."], { part: true, run: painter }).endRun(painter);
  log.endResult(onKiem, "The critic likes it.").endResult(onWest, "17 km of path");
  log.closeGroup("Asked a guide and a painter");

  const answer = log.place();
  log.add({ type: "text.start", ...answer, part: false });
  log.add({ type: "text.delta", ...answer, text: "🏃 West Lake is longer" });
  log.add({
    type: "text.delta",
    ...answer,
    text: " [^1][^2], Hoàn Kiếm",
    annotations: [
      { reference: 1, start: 23, end: 27 },
      { reference: 2, start: 27, end: 31 },
    ],
  });
  log.add({
    type: "text.delta",
    ...answer,
    text: " prettier [^3].",
    annotations: [{ reference: 3, start: 52, end: 56 }],
  });
  log.add({ type: "text.end", ...answer, final: true });
  log.end();
  return log;
}

/** A worker dies. Another one supersedes what was not journaled, including a half-written text and a sub-agent. */
export function takeover(): Story {
  const log = new Story().session("ses_flight", 112);
  log.begin("Find me a flight to Đà Lạt on Friday ✈️");
  log.text(["Let me check the airlines."], { part: true }).openGroup();
  const retained = log.call("list_airlines", ["{}"]);
  log.result(retained, "list_airlines", "VN, VJ");
  const call = log.call("call_agent", ['{"agent":"fares"}']);
  const asked = findBlock(log, call);
  const on = log.startResult(call, "call_agent");
  const run = log.startRun(call, "fares");
  const inner = log.call("search_fares", ['{"to":"DLI"}'], { run });
  const found = log.startResult(inner, "search_fares", { run });
  log.add({ type: "tool_result.delta", ...found, part: 0, media: "text", data: "1,2 tri", done: false });
  const half = log.place(run);
  log.add({ type: "text.start", ...half, part: true });
  log.add({ type: "text.delta", ...half, text: "The cheapest is " });
  const blocks = [asked, on.block, findBlock(log, inner), found.block, half.block];
  log.wait(3);
  log.add({ type: "turn.takeover", turn: log.turn, blocks, groups: [], runs: [run] });
  const again = log.call("call_agent", ['{"agent":"fares"}']);
  const onAgain = log.startResult(again, "call_agent");
  const second = log.startRun(again, "fares");
  log.text(["VJ at 07:40."], { part: true, run: second }).endRun(second);
  log.endResult(onAgain, "VJ at 07:40.").closeGroup("Checked fares");
  const answer = log.place();
  log.add({ type: "text.start", ...answer, part: false });
  log.add({ type: "text.delta", ...answer, text: "Take the VJ fli" });
  log.wait(3);
  log.add({ type: "turn.takeover", turn: log.turn, blocks: [answer.block], groups: [], runs: [] });
  log.text(["Take VJ at 07:40, ", "1,2 triệu ₫."], { final: true }).end();
  return log;
}

/** The block of a call. */
function findBlock(log: Story, call: string): string {
  const start = log.events.find((event) => event.type === "tool_call.start" && event.call === call);
  if (start?.type !== "tool_call.start") throw new Error(`there is no call ${call}`);
  return start.block;
}
