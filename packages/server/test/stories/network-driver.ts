/**
 * `StoryDriver` over real connections to a gateway. The message is a POST of the `responses` dialect. Other clients
 * watch over sockets and event streams, in every dialect at once. Decisions alternate between the socket and HTTP.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import {
  EventStreamReader,
  readStream,
  type StreamMessage,
} from "@turnstream/conformance/clients/event-stream.ts";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { Frame, ClientDialect } from "@turnstream/conformance/clients/rendered-state.ts";
import { SseReader } from "@turnstream/conformance/clients/sse-reader.ts";
import { SessionClient, type SessionClientOptions } from "@turnstream/conformance/clients/session-client.ts";
import type { Choice, Moment, Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import { type SessionState, START_CURSOR } from "@turnstream/protocol";
import type { BlocksHistory } from "@turnstream/protocol/blocks";
import type { SessionRef } from "../../src/util/refs.ts";
import type { TurnHarness } from "../engine/turn-harness.ts";
import { TIMEOUT_MS } from "./follow-log.ts";
import type { StoryDriver, Reload } from "./driver.ts";
import { rest, RestRefused } from "./http-client.ts";

const KINDS: readonly Pick<SessionClientOptions, "dialect" | "wire">[] = [
  { dialect: "blocks", wire: "socket" },
  { dialect: "tasks", wire: "socket" },
  { dialect: "native", wire: "socket" },
  { dialect: "blocks", wire: "sse" },
  { dialect: "tasks", wire: "sse" },
  { dialect: "native", wire: "sse" },
  { dialect: "responses", wire: "sse" },
];

/** The stream that was the response to a POST of `responses`. */
export interface StreamedReply {
  readonly by: "fetch" | "python";
  readonly messages: readonly Frame[];
  /** The `responses` reader with its result. */
  readonly reader: SseReader;
}

const PYTHON = new URL("../../../../tests/conformance/clients/python/read_sse.py", import.meta.url).pathname;

export class NetworkDriver implements StoryDriver {
  /** One client for every dialect and wire. */
  readonly clients: SessionClient[] = [];
  /** One response for every posted message. */
  readonly asked: Promise<StreamedReply>[] = [];
  readonly #harness: TurnHarness;
  readonly #endpoint: Endpoint;
  readonly #served: (url: string) => string;
  readonly #asks: StreamedReply["by"];
  #chat = 0;
  #decisions = 0;

  /** @param asks which client posts the message */
  constructor(
    harness: TurnHarness,
    endpoint: Endpoint,
    served: (url: string) => string,
    asks: StreamedReply["by"],
  ) {
    this.#harness = harness;
    this.#endpoint = endpoint;
    this.#served = served;
    this.#asks = asks;
  }

  client(dialect: ClientDialect, wire: SessionClientOptions["wire"]): SessionClient {
    const found = this.clients.find(({ options }) => options.dialect === dialect && options.wire === wire);
    if (found === undefined) throw new Error(`there is no client of ${dialect} over ${wire}`);
    return found;
  }

  async watch({ session }: SessionRef): Promise<void> {
    const found = await rest<{ chat_id: number }>(this.#endpoint, "GET", `/sessions/${session}`);
    this.#chat = found.chat_id;
    for (const kind of KINDS) this.clients.push(new SessionClient({ session, ...kind }));
    for (const client of this.clients) {
      if (client.options.dialect === "responses") continue;
      client.connect(this.#endpoint);
      await client.until("subscribed", () => client.rendered.starts.length > 0);
    }
  }

  async ask(ref: SessionRef, { ask: message, agent, mode, files = [] }: Story): Promise<string> {
    const content_urls = files.map(({ url }) => this.#served(url));
    this.#post({
      message,
      agent_id: agent.name,
      ...(mode === undefined ? {} : { display_mode: mode }),
      ...(files.length === 0 ? {} : { content_urls }),
    });
    return this.#harness.until(ref, TIMEOUT_MS, ({ turns }) => turns.get(0)?.message?.id ?? null);
  }

  async stop({ session }: SessionRef): Promise<void> {
    if (this.#decisions++ % 2 === 0) await this.#command({ type: "stop" });
    else await rest(this.#endpoint, "POST", `/sessions/${session}/stop`, {});
  }

  /**
   * Decides by the pending interaction in history. The request event is written before the commit, so wait for the row.
   */
  async choose(ref: SessionRef, _state: SessionState, choice: Choice): Promise<void> {
    const { pending_approval } = await this.#history(ref);
    const approval_key = pending_approval?.["approval_key"] as string;
    const { store } = this.#harness.backend;
    await this.#harness.until(ref, TIMEOUT_MS, () => store.interactions.byKey(ref, approval_key));
    const { input, ...rest_ } = { input: undefined, ...choice };
    const body = { ...rest_, ...(input === undefined ? {} : { args: input }) };
    const type = "answers" in choice ? "answer" : "decide";
    if (this.#decisions++ % 2 === 0) await this.#command({ type, approval_key, ...body });
    else
      await rest(
        this.#endpoint,
        "POST",
        `/sessions/${ref.session}/interactions/${approval_key}/${type}`,
        body,
      );
  }

  /** Submits the form and continues with a message, as in `responses`. A reload shows the draft. */
  async fillIn(ref: SessionRef, { draft, bad, finally: then }: StoryForm): Promise<void> {
    const history = await this.#history(ref);
    const [asked] = history.pending;
    const form = String(asked?.["form_request_id"]);
    const at = `/sessions/${ref.session}/interactions/${form}`;
    await rest(this.#endpoint, "PUT", `${at}/draft`, { values: draft });
    const stored = await rest<{ draft: { values: unknown } | null }>(this.#endpoint, "GET", `${at}/draft`);
    const shown = { status: history.agent_status, asked: asked?.type, draft: stored.draft?.values };
    if (!isDeepStrictEqual(shown, { status: "idle", asked: "form_request", draft }))
      throw new Error(`a reload shows ${JSON.stringify(shown)}`);
    const refused = await rest(this.#endpoint, "POST", `${at}/submit`, { values: bad }).catch(
      (error: unknown) => error,
    );
    if (!(refused instanceof RestRefused)) throw new Error("the invalid values were accepted");
    if ("decline" in then)
      await this.#command({ type: "decline", form_request_id: form, reason: then.decline });
    else {
      await rest(this.#endpoint, "POST", `${at}/submit`, { values: then.submit, go_on: false });
      const { agent } = (await this.#harness.state(ref)).turns.last() ?? {};
      this.#post({ message: then.message, agent_id: agent, resume_form_request_id: form });
    }
  }

  async reload(ref: SessionRef, at: Moment, turns: number): Promise<() => Promise<Reload>> {
    const history = await this.#history(ref);
    // A `responses` stream follows an answer that is under way. If there is none, it has nothing to follow.
    const follower = this.client("responses", "sse");
    if (follower.connects === 0) follower.connect(this.#endpoint, START_CURSOR);
    return async () => {
      const sessionClient = new SessionClient({ session: ref.session, dialect: "blocks", wire: "socket" });
      const client = new BlocksClient();
      client.load(history);
      sessionClient.connect(this.#endpoint, history.last_event_id);
      // A form ends the turn, and the next turn starts later.
      const over = () => sessionClient.rendered.frames.filter(({ type }) => type === "message_stop").length;
      const before = history.messages.length === 0 ? 0 : endedBefore(history);
      await sessionClient.until("over", () => before + over() >= turns, 2 * TIMEOUT_MS);
      sessionClient.cut();
      if (!sessionClient.rendered.starts.every(({ resumed }) => resumed)) client.problems.push("not resumed");
      for (const { session_id: _, ...frame } of sessionClient.rendered.frames) client.handle(frame);
      return { at, history, client };
    };
  }

  /** Waits until every client has received the end of that many turns, then disconnects them. */
  async leave(turns: number): Promise<void> {
    for (const client of this.clients) {
      const { dialect } = client.options;
      const ends = () => client.rendered.frames.filter((frame) => isEnd(dialect, frame)).length;
      while (ends() < turns) {
        await client.until(`over ${turns} times`, () => ends() >= turns || client.end !== null);
        if (client.end !== null && ends() < turns) client.connect(this.#endpoint);
      }
      client.cut();
    }
  }

  async #history({ session }: SessionRef): Promise<BlocksHistory> {
    return rest<BlocksHistory>(this.#endpoint, "GET", `/sessions/${session}/history`);
  }

  async #command(command: Frame): Promise<void> {
    const reply = await this.client("blocks", "socket").command(command);
    if (reply.type !== "ack") throw new Error(`${command.type} was refused: ${JSON.stringify(reply)}`);
  }

  #post(body: object): void {
    const url = `${this.#endpoint.url}/api/v1/chats/${this.#chat}/messages`;
    const payload = { ...body, stream: true };
    const { headers } = this.#endpoint;
    this.asked.push(
      this.#asks === "python" ? askByPython(url, headers, payload) : askByFetch(url, headers, payload),
    );
  }
}

function endedBefore({ messages, running_message_id }: BlocksHistory): number {
  const turns = new Set(messages.map(({ message_id }) => message_id));
  for (const unended of [null, running_message_id]) turns.delete(unended);
  return turns.size;
}

function isEnd(dialect: ClientDialect, { type, task_id, stop_reason }: Frame): boolean {
  if (dialect === "tasks") return type === "task.done" && task_id !== undefined && stop_reason !== undefined;
  return type === { blocks: "message_stop", native: "turn.end", responses: "[DONE]" }[dialect];
}

async function askByFetch(
  url: string,
  headers: Endpoint["headers"],
  payload: object,
): Promise<StreamedReply> {
  const reader = new SseReader();
  const messages = new EventStreamReader();
  const streamed: StreamMessage[] = [];
  await readStream(
    url,
    {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(payload),
      signal: AbortSignal.timeout(2 * TIMEOUT_MS),
    },
    (piece) => {
      reader.push(piece);
      streamed.push(...messages.push(piece));
    },
  );
  return {
    by: "fetch",
    reader,
    messages: streamed.map(({ data }) => (data === "[DONE]" ? { type: data } : (JSON.parse(data) as Frame))),
  };
}

async function askByPython(url: string, headers: Endpoint["headers"], body: object): Promise<StreamedReply> {
  const child = spawn("python3", [PYTHON], { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(JSON.stringify({ url, headers, body }));
  const [stdout, failed] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  if (child.exitCode !== 0) throw new Error(`python3 failed: ${failed}`);
  const lines = stdout.split("\n").filter((line) => line !== "");
  const messages = lines.map((line) => JSON.parse(line) as Frame);
  const reader = new SseReader();
  for (const { event_id: _, ...frame } of messages)
    reader.push(`data: ${frame.type === "[DONE]" ? frame.type : JSON.stringify(frame)}\n\n`);
  return { by: "python", messages, reader };
}
