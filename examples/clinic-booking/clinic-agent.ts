/**
 * `clinicAgent` is the assistant of a dental clinic: it collects contact details with a form, asks for a deposit, and
 * confirms the appointment. A scripted model plays it, so the example needs no API key.
 *
 * Invariant: the conversation alone determines the answer, so another worker continues at the right step.
 */
import { type Agent, defineAgent } from "@turnstream/server";
import { type ScriptCall, script, type ScriptedReply, scriptedModel } from "@turnstream/server/testing";

const AGENT = "clinic";
/** In whole New Taiwan dollars. */
const DEPOSIT = 300;
/** Delay between two pieces of a text. */
const PACE = { chunk: 3, paceMs: 25 };

const DAY = new Intl.DateTimeFormat("zh-TW", {
  month: "long",
  day: "numeric",
  weekday: "short",
  timeZone: "UTC",
});

const FORM = {
  id: "booking",
  title: "預約資料",
  description: "資料只用來安排這次看診。",
  fields: [
    { name: "name", label: "姓名", type: "shortText", required: true, max: 40 },
    { name: "phone", label: "手機", type: "phone", required: true },
    {
      name: "service",
      label: "看診項目",
      type: "select",
      required: true,
      options: ["洗牙", "牙齒檢查", "蛀牙治療"].map((label) => ({ value: label, label })),
    },
    { name: "day", label: "希望日期", type: "date", required: true },
  ],
};

type Outcome = "pending" | "processing" | "succeeded" | "failed" | "cancelled" | "expired";

const AGAIN = "想保留時段的話，請回覆「重新付款」，我會再開一筆訂金。";
const ANSWERS: Readonly<Record<Outcome, (booking: Booking) => string>> = {
  pending: () => "訂金還沒付款。請按卡片上的「付款」，完成後我會馬上幫您確認。",
  processing: () => "付款頁面已經開啟，我還在等金流的結果。收到後會馬上通知您。",
  succeeded: ({ name, day, service }) =>
    `訂金收到了，預約完成！\n\n- 姓名：${name}\n- 項目：${service}\n- 日期：${day}\n\n請提早 10 分鐘報到並攜帶健保卡，訂金會在看診當天折抵。`,
  failed: () => `這次付款沒有成功，時段還沒有保留。${AGAIN}`,
  cancelled: () => `好的，這筆訂金已經取消，時段沒有保留。${AGAIN}`,
  expired: () => `付款時間已經過了，時段沒有保留。${AGAIN}`,
};

interface Booking {
  readonly name: string;
  readonly service: string;
  readonly day: string;
}

export function clinicAgent(): Agent {
  return defineAgent({
    name: AGENT,
    model: scriptedModel(answer, { modelId: "scripted-clinic" }),
    instructions:
      "You are the assistant of a dental clinic in Taiwan. Answer briefly, in Traditional Chinese.",
    requestForms: true,
    featureTools: ["request_payment"],
    title: false,
  });
}

function answer(call: ScriptCall): ScriptedReply {
  const form = readResult(call, "request_form");
  const booking = form === null ? null : readBooking(form);
  const payment = readResult(call, "request_payment");
  const outcome = payment === null ? null : readOutcome(payment);
  const isAsked = call.prompt.at(-1)?.role === "user";

  if (isAsked && booking !== null && outcome !== null && /付款|訂金/.test(call.text))
    return outcome === "succeeded" || outcome === "pending" || outcome === "processing"
      ? [write(ANSWERS[outcome](booking))]
      : [write("沒問題，這是新的訂金。"), askForDeposit(booking)];
  if (isAsked && /預約|看診|洗牙|檢查|牙/.test(call.text))
    return [
      write("好的，我來幫您安排。請先留下聯絡資料與希望的日期。"),
      script.toolCall("request_form", FORM),
    ];
  if (isAsked || form === null)
    return [write("您好，我可以幫您預約看診。請告訴我想看的項目，例如「我想預約洗牙」。")];
  if (booking === null) return [write("沒關係，想預約的時候再告訴我。")];
  if (outcome !== null) return [write(ANSWERS[outcome](booking))];
  return [
    write(`謝謝${booking.name}，${booking.day}還有空位。保留時段需要 ${DEPOSIT} 元訂金，看診當天全額折抵。`),
    askForDeposit(booking),
  ];
}

const write = (text: string) => script.text(text, PACE);

function askForDeposit({ service, day }: Booking) {
  const description = `${service}預約訂金，${day}`;
  return script.toolCall("request_payment", { description, amount: DEPOSIT, currency: "TWD" });
}

/** Returns the newest result of a tool in the conversation, or null. */
function readResult({ prompt }: ScriptCall, tool: string): unknown {
  for (const message of prompt.toReversed()) {
    if (message.role !== "tool") continue;
    const part = message.content.findLast((one) => one.type === "tool-result" && one.toolName === tool);
    if (part?.type !== "tool-result" || !("value" in part.output)) continue;
    const { value } = part.output;
    return typeof value === "string" ? JSON.parse(value) : value;
  }
  return null;
}

/** Returns null if the user declined the form. */
function readBooking(form: unknown): Booking | null {
  const { values } = form as { values?: readonly { readonly name: string; readonly value: string }[] };
  if (values === undefined) return null;
  const find = (wanted: string) => values.find(({ name }) => name === wanted)?.value ?? "";
  return { name: find("name"), service: find("service"), day: DAY.format(new Date(find("day"))) };
}

/** The model reads a status with an explanation, such as "failed: the payment provider could not charge the user". */
function readOutcome(payment: unknown): Outcome {
  const { status } = payment as { status: string };
  return (status.split(":")[0] ?? "pending") as Outcome;
}
