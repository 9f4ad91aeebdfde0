/** Scenarios that outlive a turn: a form that a later turn resumes from, a late payment, queued messages. */
import { Story } from "./story.ts";

/** A form ends the turn. It is submitted, and the next message continues from it. */
export function formAndResume(): Story {
  const log = new Story().session("ses_visa", 111);
  log.begin("我想申请签证");
  const call = log.call("request_form", ['{"form":"visa"}']);
  log.result(call, "request_form", "form shown");
  const on = log.place();
  const fields = [
    { name: "full_name", label: "姓名", type: "shortText", required: true },
    { name: "purpose", label: "目的", type: "text", required: false, help: "一句话即可" },
    {
      name: "entry",
      label: "入境次数",
      type: "select",
      required: true,
      options: [
        { value: "1", label: "单次" },
        { value: "n", label: "多次" },
      ],
    },
    { name: "days", label: "天数", type: "number", required: true, min: 1, max: 90 },
  ] as const;
  const schema = { id: "visa", title: "签证申请表", description: "约 2 分钟", fields };
  log.add({ type: "form.request", ...on, form: "form_visa_1", call, schema });
  log.end("requires_interaction").wait(130);
  const values = { full_name: "Nguyễn An", purpose: "", entry: "n", days: 30 };
  log.add({ type: "form.update", ...on, version: 1, by: "usr_an", status: "submitted", values });
  log.next({ resumes: "form_visa_1" }).begin("表格填好了 ✅");
  log.text(["收到，Nguyễn An，", "30 天多次签证。"], { final: true }).end();
  return log;
}

/** A running tool requests a form and continues with the submitted values. A second form is declined. */
export function formInsideTurn(): Story {
  const log = new Story().session("ses_desk", 121);
  log.begin("Check me in").openGroup();
  const call = log.call("check_in", ['{"hut":"Heron"}'], { label: "Checking in" });
  const place = log.place();
  log.add({ type: "tool_result.start", ...place, call, name: "check_in", label: "Checking in" });
  const ask = (form: string, label: string) => {
    const on = log.place();
    const fields = [{ name: "code", label, type: "shortText", required: true, max: 8 }] as const;
    const schema = { id: "code", title: "Your code", fields };
    const due = { timeout_seconds: 120, deadline: log.now + 120_000 };
    log.add({ type: "form.request", ...on, form, call, schema, waits: true, ...due });
    log.wait(7);
    return on;
  };
  const first = ask("form_desk_1", "Code");
  log.add({
    type: "form.update",
    ...first,
    version: 1,
    by: "usr_an",
    status: "submitted",
    values: { code: "7Q" },
  });
  const second = ask("form_desk_2", "Second code");
  log.add({
    type: "form.update",
    ...second,
    version: 1,
    by: "usr_an",
    status: "declined",
    reason: "I have none",
  });
  log.add({ type: "tool_result.end", ...place, status: "success", preview: "checked in", artifact: null });
  log.closeGroup("Checked in").text(["You are in. 🛏"], { final: true }).end();
  return log;
}

/**
 * A payment ends its turn. It changes while no turn is running, and again during another turn. A later payment has
 * another currency, and the user cancels it.
 */
export function paymentSettlesLater(): Story {
  const log = new Story().session("ses_shop", 113);
  log.begin("買兩張演唱會門票");
  log.text(["共 3,200 元，請付款。"]);
  const on = log.place();
  log.add({
    type: "payment.request",
    ...on,
    payment: "pay_1",
    order_no: "TS20270115001",
    amount: 3200,
    currency: "TWD",
    description: "演唱會門票 x2 🎫",
    checkout_url: "https://pay.example/checkout/pay_1",
    deadline: 1_800_003_600_000,
  });
  log.end("requires_interaction").wait(20);
  log.add({ type: "payment.update", ...on, version: 1, status: "processing" });
  log.wait(30).begin("付好了嗎？");
  const text = log.place();
  log.add({ type: "text.start", ...text, part: false });
  log.add({ type: "text.delta", ...text, text: "還在處理，" });
  log.add({
    type: "payment.update",
    ...on,
    version: 2,
    status: "succeeded",
    reason: "notification of the provider",
  });
  log.add({ type: "text.delta", ...text, text: "稍等… 已付款 🎉" });
  log.add({ type: "text.end", ...text, final: true });
  log.end().wait(10).begin("再買一本節目冊");
  const booklet = log.place();
  log.add({
    type: "payment.request",
    ...booklet,
    payment: "pay_2",
    order_no: "TS20270115002",
    amount: 1250,
    currency: "USD",
    description: "節目冊",
    checkout_url: "https://pay.example/checkout/pay_2",
  });
  log.end("requires_interaction").wait(5);
  log.add({ type: "payment.update", ...booklet, version: 1, status: "cancelled", by: "usr_an" });
  return log;
}

/** Two messages are queued: one is withdrawn, the other answered after the turn. The title is set and changed. */
export function severalTurns(): Story {
  const log = new Story().session("ses_book", 114);
  log.begin("Recommend a novel");
  const on = log.place();
  log.add({ type: "text.start", ...on, part: false });
  log.add({ type: "text.delta", ...on, text: "Try “The Sorrow " });
  const waiting = log.queue("và một cuốn thơ?");
  const withdrawn = log.queue("no, wait");
  log.add({ type: "text.delta", ...on, text: "of War”." });
  log.add({ type: "message.remove", message: withdrawn });
  log.add({ type: "session.update", title: "Novels 📚" });
  log.add({ type: "text.end", ...on, final: true });
  log.end().takeUp(waiting);
  log.text(["“Truyện Kiều”."], { final: true }).end();
  log.add({ type: "session.update", title: "Novels and poems 📚" });
  log.wait(3600).begin("谢谢").text(["不客气！"], { final: true }).end();
  return log;
}
