/**
 * Writes one valid log with every type of event: five turns, which are answered, taken over, stopped, failed and paid.
 */
import { LogWriter } from "../support/log-writer.ts";

export function everyEvent(): LogWriter {
  const log = new LogWriter().session("ses_sea", 77);
  answered(log);
  log.add({ type: "session.update", title: "Sailing to Hue" });
  log.add({ type: "message.add", message: "msg_mistaken", text: "Never mind" });
  log.add({ type: "message.remove", message: "msg_mistaken" });
  takenOver(log);
  stopped(log);
  failed(log);
  asked(log);
  return log;
}

function answered(log: LogWriter): void {
  const files = [{ url: "https://files.example/chart.pdf" }];
  log.begin("Can we sail?", { files });
  const on = log.place();
  log.add({ type: "files.start", ...on, files });
  log.add({ type: "files.delta", ...on, status: "processing", message: "Reading", file: 0 });
  log.add({ type: "files.end", ...on, status: "completed", message: "Read 1 file" });
  log.openGroup().think(["First the ", "tide."]);
  const call = log.call("get_tide", ['{"port":', '"Hue"}'], { label: "Reading the tide table" });
  const result = log.startResult(call, "get_tide");
  const reference = { id: 1, title: "Tide table" };
  const part = { type: "tool_result.delta", ...result, part: 0, media: "text" } as const;
  log.add({ ...part, data: "high ", done: false });
  log.add({ ...part, data: "at 05:10", reference, done: true });
  log.endResult(result, "high at 05:10").closeGroup("Read the tides");
  delegated(log);
  const text = log.place();
  log.add({ type: "text.start", ...text, part: false });
  log.add({ type: "text.delta", ...text, text: "Yes ⛵, before five." });
  log.add({ type: "text.delta", ...text, text: "[^1]", annotations: [{ reference: 1, start: 18, end: 22 }] });
  log.add({ type: "text.end", ...text, final: true });
  log.end();
}

/** Two parallel sub-agents, one of which has its own sub-agent. */
function delegated(log: LogWriter): void {
  log.openGroup();
  const calls = ["wind", "waves"].map((agent) => log.call("call_agent", [`{"agent":"${agent}"}`]));
  const results = calls.map((call) => log.startResult(call, "call_agent"));
  const [wind = "", waves = ""] = calls.map((call, n) => log.startRun(call, n === 0 ? "wind" : "waves"));
  const onWind = log.place(wind);
  log.add({ type: "text.start", ...onWind, part: true });
  const inner = log.call("call_agent", [], { run: waves });
  const onInner = log.startResult(inner, "call_agent", { run: waves });
  const deep = log.startRun(inner, "buoys", waves);
  log.add({ type: "text.delta", ...onWind, text: "Light " });
  log.text(["Half a metre."], { part: true, run: deep }).endRun(deep);
  log.add({ type: "text.delta", ...onWind, text: "from the east." });
  log.add({ type: "text.end", ...onWind, final: false });
  log.endResult(onInner, "Half a metre.").endRun(waves).endRun(wind);
  for (const on of results) log.endResult(on, "Calm.");
  log.closeGroup("Asked about wind and waves");
}

function takenOver(log: LogWriter): void {
  log.begin("And tomorrow?").text(["Let me see."], { part: true });
  const on = log.place();
  log.add({ type: "text.start", ...on, part: false });
  log.add({ type: "text.delta", ...on, text: "Tomorr" });
  log.add({ type: "turn.takeover", turn: log.turn, blocks: [on.block], groups: [], runs: [] });
  log.text(["Tomorrow too."], { final: true }).end();
}

function stopped(log: LogWriter): void {
  log.begin("Book a berth").openGroup();
  const call = log.call("book_berth", ['{"length":12}']);
  const on = log.place();
  const actions = [{ name: "book_berth", input: { length: 12 } }];
  log.add({
    type: "approval.request",
    ...on,
    key: "ses_sea_1",
    call,
    actions,
    editable: true,
    timeout_seconds: 300,
  });
  log.add({ type: "approval.update", ...on, version: 1, status: "approved", by: "usr_an" });
  log.result(call, "book_berth", "", { status: "cancelled" }).closeGroup("Stopped");
  log.add({ type: "notice.stopped", ...log.place(), text: "You stopped it.", by: "usr_an" });
  log.end("user_stopped");
}

function failed(log: LogWriter): void {
  log.begin("Try again", { mode: "chat" }).think(["Not shown."]);
  const error = { code: "LLM_ERROR", can_retry: true, error_type: "transient" } as const;
  log.add({ type: "notice.error", ...log.place(), text: "That failed.", ...error });
  log.end("error");
}

function asked(log: LogWriter): void {
  log.begin("Then pay");
  const question = log.place();
  const questions = [{ id: "q", text: "For how long?", options: [], multiple: false, free_text: true }];
  log.add({ type: "question.request", ...question, key: "ses_sea_2", call: "call_q", questions });
  const answers = [{ question: "q", selected: [], text: "one night" }];
  log.add({ type: "question.update", ...question, version: 1, status: "answered", answers });
  const form = log.place();
  const fields = [{ name: "boat", label: "Boat", type: "shortText", required: true }] as const;
  log.add({ type: "form.request", ...form, form: "frm_1", schema: { id: "berth", title: "Berth", fields } });
  const payment = log.place();
  const order = {
    payment: "pay_1",
    order_no: "ORD-1",
    amount: 300,
    currency: "TWD",
    description: "Berth fee",
  };
  log.add({ type: "payment.request", ...payment, ...order, checkout_url: "https://pay.example/1" });
  log.end("requires_interaction");
  log.add({ type: "form.update", ...form, version: 1, status: "submitted", values: { boat: "Lotus" } });
  log.add({ type: "payment.update", ...payment, version: 1, status: "processing" });
}
