/**
 * `startOpenaiServer` starts a local server with OpenAI's streaming Responses and Chat Completions APIs.
 * model-server.ts defines its replies and faults.
 */
import {
  cutText,
  type ModelServer,
  type Reply,
  type ReplyError,
  type CreateReply,
  startModelServer,
  type Wire,
} from "./model-server.ts";

type Data = Readonly<Record<string, unknown>>;

const RESPONSES = "/v1/responses";
const CHAT = "/v1/chat/completions";
const CREATED = 1_700_000_000;

export async function startOpenaiServer(replying: CreateReply): Promise<ModelServer> {
  return startModelServer(wire, replying);
}

const wire: Wire = {
  basePath: "/v1",
  frames({ path, body }, reply) {
    const model = String(body["model"]);
    if (path === RESPONSES) return responseEvents(model, reply).map(namedFrame);
    return path === CHAT ? [...chatChunks(model, reply).map(frameOf), "data: [DONE]\n\n"] : null;
  },
  errorFrame: ({ path }, error) =>
    path === CHAT
      ? frameOf(errorBody(error))
      : namedFrame(
          { type: "error", code: error.code ?? error.type, message: error.message, param: null },
          99,
        ),
  errorBody,
};

function errorBody({ type, message, code = type }: ReplyError): Data {
  return { error: { message, type, param: null, code } };
}

function frameOf(data: Data): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function namedFrame(data: Data, sequence_number: number): string {
  return `event: ${String(data["type"])}\n${frameOf({ ...data, sequence_number })}`;
}

function chatChunks(model: string, { parts = [], stop, usage, chunk }: Reply): Data[] {
  const { input, output } = usage ?? { input: 10, output: 20 };
  const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: CREATED, model };
  const chunks: Data[] = [];
  const push = (delta: Data, finish_reason: string | null = null) =>
    chunks.push({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason }], usage: null });
  push({ role: "assistant", content: "", refusal: null });
  let calls = 0;
  for (const part of parts) {
    if (part.type === "text") {
      for (const content of cutText(part.text, chunk)) push({ content });
    } else if (part.type === "call") {
      const index = calls++;
      const { id, name } = part;
      push({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
      for (const text of cutText(part.input, chunk))
        push({ tool_calls: [{ index, function: { arguments: text } }] });
    }
  }
  const ends = { end: calls > 0 ? "tool_calls" : "stop", length: "length", refusal: "content_filter" };
  push({}, ends[stop ?? "end"]);
  chunks.push({
    ...base,
    choices: [],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  });
  return chunks;
}

function responseEvents(model: string, { parts = [], stop, usage, chunk }: Reply): Data[] {
  const { input, output } = usage ?? { input: 10, output: 20 };
  const response = { id: "resp_1", object: "response", created_at: CREATED, model, output: [] };
  const events: Data[] = [
    { type: "response.created", response: { ...response, status: "in_progress" } },
    { type: "response.in_progress", response: { ...response, status: "in_progress" } },
  ];
  for (const [output_index, part] of parts.entries()) {
    const item_id = `item_${output_index}`;
    const push = (type: string, data: Data) =>
      events.push({ type: `response.${type}`, output_index, item_id, ...data });
    const item = (step: "added" | "done", data: Data) =>
      events.push({ type: `response.output_item.${step}`, output_index, item: { id: item_id, ...data } });
    if (part.type === "text") {
      const message = { type: "message", role: "assistant" };
      item("added", { ...message, status: "in_progress", content: [] });
      const place = { content_index: 0 };
      push("content_part.added", { ...place, part: { type: "output_text", text: "", annotations: [] } });
      for (const delta of cutText(part.text, chunk)) push("output_text.delta", { ...place, delta });
      push("output_text.done", { ...place, text: part.text });
      const content = { type: "output_text", text: part.text, annotations: [] };
      push("content_part.done", { ...place, part: content });
      item("done", { ...message, status: "completed", content: [content] });
    } else if (part.type === "thinking") {
      const encrypted_content = part.signature ?? "signature";
      item("added", { type: "reasoning", summary: [], encrypted_content: null });
      const place = { summary_index: 0 };
      push("reasoning_summary_part.added", { ...place, part: { type: "summary_text", text: "" } });
      for (const delta of cutText(part.text, chunk))
        push("reasoning_summary_text.delta", { ...place, delta });
      const summary = { type: "summary_text", text: part.text };
      push("reasoning_summary_text.done", { ...place, text: part.text });
      push("reasoning_summary_part.done", { ...place, part: summary });
      item("done", { type: "reasoning", summary: [summary], encrypted_content });
    } else {
      const call = { type: "function_call", call_id: part.id, name: part.name };
      item("added", { ...call, arguments: "", status: "in_progress" });
      for (const delta of cutText(part.input, chunk)) push("function_call_arguments.delta", { delta });
      push("function_call_arguments.done", { arguments: part.input });
      item("done", { ...call, arguments: part.input, status: "completed" });
    }
  }
  const reasons = { end: null, length: "max_output_tokens", refusal: "content_filter" };
  const reason = reasons[stop ?? "end"];
  const status = reason === null ? "completed" : "incomplete";
  const tokens = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  const incomplete_details = reason === null ? null : { reason };
  events.push({
    type: `response.${status}`,
    response: { ...response, status, incomplete_details, usage: tokens },
  });
  return events;
}
