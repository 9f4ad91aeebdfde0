/** `everywhere` puts one string into every visible field of a log, as a writer without validation would. Data only. */
import type { SessionEvent, Json } from "@turnstream/protocol";

type Draft = { readonly type: string; readonly [field: string]: unknown };

/** Numbers events as a log does, without validation. The fold accepts any event, and so must the page. */
export function numbered(drafts: readonly Draft[], after = 0): SessionEvent[] {
  return drafts.map((draft, n) => ({
    v: 1,
    id: `1-${after + n + 1}`,
    at: 1_800_000_000_000 + after + n,
    ...draft,
  })) as unknown as SessionEvent[];
}

const place = (n: number) => ({ turn: "t", run: "r", block: `b${n}`, index: n });

/** A turn with one text block per string, each cut into deltas. It returns one round of deltas after the other. */
export function texts(strings: readonly string[], cut: (text: string) => readonly string[]): Draft[][] {
  const parts = strings.map(cut);
  const rounds = Math.max(...parts.map(({ length }) => length));
  return [
    [
      { type: "session.start", session: "s", number: 1 },
      ...startTurn("t", "hi", "a"),
      ...strings.map((_, n) => ({ type: "text.start", ...place(n), part: false })),
    ],
    ...Array.from({ length: rounds }, (_, round) =>
      parts.flatMap((cuts, n): Draft[] => {
        const text = cuts[round];
        return text === undefined
          ? []
          : [{ type: "text.delta", ...place(n), text, annotations: cited(text) }];
      }),
    ),
    [
      ...strings.map((_, n) => ({ type: "text.end", ...place(n), final: true })),
      { type: "turn.end", turn: "t", reason: "end_turn", duration_ms: 1 },
    ],
  ];
}

/** Creates citations for all marker-like text, including invalid ones. */
function cited(text: string): Json {
  return [...text.matchAll(/\[\^/g)].map(({ index }) => ({ reference: 1, start: index, end: index + 4 }));
}

function startTurn(turn: string, text: string, agent: string): Draft[] {
  return [
    {
      type: "message.add",
      message: "m",
      text,
      by: "an",
      files: [{ url: text, name: text, media_type: text }, { url: text }],
    },
    { type: "turn.start", turn, number: 1, message: "m", message_number: 1, agent, mode: "agent" },
    { type: "run.start", turn, run: "r", agent, label: text },
  ];
}

/** One turn with the string in every visible field. The turn is running, so that its cards can be answered. */
export function everywhere(s: string): Draft[] {
  let index = 0;
  const turn = "t";
  const on = () => ({ turn, run: "r", block: `b${index}`, index: index++ });
  const tool = (call: string, artifact: Json): Draft[] => {
    const start = on();
    const result = on();
    const of = { call, name: s.slice(0, 200), label: s };
    return [
      { type: "tool_call.start", ...start, ...of },
      { type: "tool_call.end", ...start, input: { [s]: s, nested: { [s]: [s] } } },
      { type: "tool_result.start", ...result, ...of },
      {
        type: "tool_result.delta",
        ...result,
        part: 0,
        media: "text",
        data: s,
        reference: { id: 1, title: s, url: s },
        done: true,
      },
      { type: "tool_result.delta", ...result, part: 1, media: "image", data: s, done: true },
      {
        type: "tool_result.end",
        ...result,
        status: artifact === null ? "error" : "success",
        preview: s,
        artifact,
        results: 1,
      },
    ];
  };
  const artifacts: Json[] = [
    {
      type: "chart",
      title: s,
      data: { kind: "line", labels: [s, s], series: [{ name: s, values: [1, 2] }], unit: s },
    },
    { type: "table", title: s, data: { columns: [s], rows: [[s], [s]], total: 9 } },
    { type: "file", title: s, data: { name: s, url: s, media_type: s } },
    { type: "image", title: s, data: { url: s, alt: s, width: 9, height: 9 } },
    {
      type: "image",
      title: s,
      data: {
        url: `https://evil.example/${encodeURIComponent(s.slice(0, 50).replaceAll(/\p{Surrogate}/gu, ""))}`,
        alt: s,
      },
    },
    { type: "code", title: s, data: { language: s, code: s, name: s } },
    { type: s, title: s, data: { [s]: s } },
    { type: "x-own", title: s, data: s, whole: { blob: "b", size: 1, media_type: s, url: s } },
  ];
  const group = { turn, run: "r", group: "g" };
  const option = { id: "o", label: s, description: s };
  const field = { label: s, help: s, required: true, options: [{ value: s, label: s }] };
  const types = ["text", "longText", "number", "date", "select", "multiSelect", "checkbox", "file"];
  return [
    { type: "session.start", session: "s", number: 1, title: s },
    ...startTurn(turn, s, s || "a"),
    ...[on()].flatMap((b): Draft[] => [
      { type: "files.start", ...b, files: [{ url: s, name: s }, { url: s }] },
      { type: "files.end", ...b, status: "failed", message: s },
    ]),
    ...[on()].flatMap((b): Draft[] => [
      { type: "thinking.start", ...b },
      { type: "thinking.delta", ...b, text: s },
      { type: "thinking.end", ...b },
    ]),
    { type: "group.start", ...group, index: index++ },
    ...artifacts.flatMap((artifact, at) => tool(`c${at}`, artifact)),
    ...tool("bad", null),
    {
      type: "approval.request",
      ...on(),
      key: "k",
      call: "c1",
      actions: [{ name: s, label: s, server: s, title: s, input: { [s]: s } }],
      editable: true,
      always: true,
      deadline: 1,
    },
    { type: "group.end", ...group, index: index++, summary: s },
    {
      type: "question.request",
      ...on(),
      key: "q",
      call: "c2",
      questions: [{ id: "q", text: s, options: [option], multiple: true, free_text: true }],
    },
    {
      type: "form.request",
      ...on(),
      form: "f",
      schema: {
        id: "f",
        title: s,
        description: s,
        fields: types.map((type) => ({ name: type, type, ...field })),
      },
    },
    ...[on()].flatMap((b): Draft[] => [
      {
        type: "form.request",
        ...b,
        form: "g",
        schema: { id: "f", title: s, fields: types.map((type) => ({ name: type, type, ...field })) },
      },
      {
        type: "form.update",
        ...b,
        version: 1,
        status: "submitted",
        by: s,
        reason: s,
        values: { text: s, select: s, file: { upload: s, name: s } },
      },
    ]),
    {
      type: "payment.request",
      ...on(),
      payment: "p",
      order_no: s,
      amount: 5,
      currency: s.slice(0, 3) || "TWD",
      description: s,
      checkout_url: s,
    },
    ...[on()].flatMap((b): Draft[] => [
      { type: "text.start", ...b, part: false },
      { type: "text.delta", ...b, text: "Cited[^1].", annotations: [{ reference: 1, start: 5, end: 9 }] },
      { type: "text.end", ...b, final: true },
    ]),
    {
      type: "notice.error",
      ...on(),
      text: s,
      code: "LLM_ERROR",
      can_retry: true,
      error_type: "transient",
      details: s,
    },
  ];
}
