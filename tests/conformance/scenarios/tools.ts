/** Scenarios of the main agent's tools: grouped and streamed, parallel, and with files and large results. */
import { Story } from "./story.ts";

/** Arguments stream, one call has its input only at the end, labels use their default, a result is a table. */
export function toolsInGroup(): Story {
  const log = new Story().session("ses_gold", 102);
  log.begin("Giá vàng SJC hôm nay so với tuần trước?");
  log.openGroup().think(["Cần giá hôm nay ", "và giá tuần trước."]);
  const today = log.call("get_price", ['{"symbol":', '"SJC","da', 'y":"2027-01-15"}'], {
    label: "Giá hôm nay",
  });
  const on = log.startResult(today, "get_price", { label: "Giá hôm nay" });
  const part = { type: "tool_result.delta", ...on, part: 0, media: "text" } as const;
  log.add({ ...part, data: "mua 118,2 ", done: false });
  log.add({ ...part, data: "bán 119,7", done: true });
  const usage = { input_tokens: 0, output_tokens: 12, total_tokens: 12, calls: 1 };
  log.add({
    type: "tool_result.end",
    ...on,
    status: "success",
    preview: "mua 118,2 bán 119,7",
    artifact: { type: "table", title: "SJC", data: { columns: ["mua", "bán"], rows: [[118.2, 119.7]] } },
    structured: { symbol: "SJC", prices: { mua: 118.2, bán: 119.7 }, note: null },
    results: 2,
    usage,
  });
  const before = log.id("call");
  const called = log.place();
  log.add({ type: "tool_call.start", ...called, call: before, name: "price_history", label: "" });
  log.add({ type: "tool_call.end", ...called, input: { symbol: "SJC", days: 7, exact: null } });
  log.result(before, "price_history", "bán 117,5").closeGroup("Đã tra 2 mức giá");
  log.text(["Giá bán tăng ", "2,2 triệu 📈 so với tuần trước."], { final: true }).end();
  return log;
}

/** Three calls with interleaved arguments and results. The results arrive in another order, and one is an error. */
export function parallelTools(): Story {
  const log = new Story().session("ses_trip", 103);
  log.begin("Plan a rainy day in Đà Nẵng").openGroup();
  const names = ["weather", "museums", "cafés"];
  const calls = names.map((name) => ({ call: log.id("call"), name, label: `Ask ${name}` }));
  const starts = calls.map((tool) => {
    const on = log.place();
    log.add({ type: "tool_call.start", ...on, ...tool });
    return on;
  });
  for (const piece of ['{"city":', '"Đà Nẵng"}']) {
    for (const on of starts) log.add({ type: "tool_call.delta", ...on, args: piece });
  }
  for (const on of starts.toReversed()) log.add({ type: "tool_call.end", ...on });
  const [weather, museums, coffee] = calls.map(({ call, name, label }) =>
    log.startResult(call, name, { label }),
  );
  if (weather === undefined || museums === undefined || coffee === undefined) throw new Error("three calls");
  log.endResult(coffee, "timed out after 10 s", { status: "error" });
  const data = { type: "tool_result.delta", part: 0, media: "text" } as const;
  log.add({ ...data, ...weather, data: "rain ", done: false });
  log.endResult(museums, "Cham Museum ☔ 07:30-17:00");
  log.add({ ...data, ...weather, data: "until six", done: false });
  log.endResult(weather, "rain until six").closeGroup("Asked 3 sources");
  log.text(["Go to the Cham Museum ", "before five."], { final: true }).end();
  return log;
}

/**
 * Files are read first, and one fails. A message, arguments and a result are too large for the log: it has references.
 */
export function filesAndOversizedResult(): Story {
  const log = new Story().session("ses_report", 109);
  const files = [
    {
      url: "https://files.example/quy-3.pdf",
      name: "Quý 3.pdf",
      media_type: "application/pdf",
      size: 48_213,
    },
    { url: "https://files.example/scan.tiff" },
  ];
  const message = log.id("msg");
  log.add({
    type: "message.add",
    message,
    text: "Tóm tắt hai tệp này, theo mẫu sau: I. Doanh thu",
    files,
    whole: { blob: "blob_21c0", size: 300_112, media_type: "text/plain" },
    by: "usr_an",
  });
  log.takeUp(message);
  const on = log.place();
  log.add({ type: "files.start", ...on, files });
  log.add({ type: "files.delta", ...on, status: "processing", message: "Đang đọc Quý 3.pdf" });
  log.add({ type: "files.delta", ...on, status: "completed", message: "", file: 0 });
  log.add({ type: "files.delta", ...on, status: "failed", message: "Không đọc được scan.tiff", file: 1 });
  log.add({ type: "files.end", ...on, status: "completed", message: "Đã đọc 1 trên 2 tệp" });
  log.openGroup();
  const call = log.id("call");
  const called = log.place();
  log.add({ type: "tool_call.start", ...called, call, name: "lookup_attachments", label: "" });
  log.add({
    type: "tool_call.end",
    ...called,
    input: { file: 0, pages: "all", outline: "I. Doanh thu" },
    whole: { blob: "blob_5e01", size: 299_876, media_type: "application/json" },
  });
  const result = log.startResult(call, "lookup_attachments");
  // Longer than the 500 characters of `blocks`, with a surrogate pair at the cut.
  const preview = `${"Doanh thu tăng. ".repeat(31)}abc📊${" Chi phí giảm.".repeat(4)}`;
  log.add({
    type: "tool_result.end",
    ...result,
    status: "success",
    preview,
    artifact: {
      type: "table",
      title: "Quý 3",
      data: { columns: ["tháng", "doanh thu"], rows: [["7", 118.2]] },
      whole: { blob: "blob_90bd", size: 524_288, media_type: "application/json" },
    },
    whole: { blob: "blob_7f3a", size: 1_048_576, media_type: "text/plain" },
    results: 120,
  });
  log.closeGroup("Đã đọc tệp");
  log.text(["Doanh thu quý 3 tăng 12%."], { final: true }).end();
  return log;
}
