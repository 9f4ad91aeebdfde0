/**
 * `DocumentDriver` plays a story with clients that know only their document: a client of 002 posts every message, and a
 * client of 003 follows the socket of the `blocks` dialect.
 */
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import { SessionClient } from "@turnstream/conformance/clients/session-client.ts";
import { ToolCallBlocks } from "@turnstream/conformance/clients/tool-call-blocks.ts";
import type { Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import type { TurnHarness } from "../engine/turn-harness.ts";
import type { StoryDriver } from "./driver.ts";
import { TIMEOUT_MS } from "./follow-log.ts";
import { rest } from "./http-client.ts";

/** What the handlers of a client of 002 received in one response. */
export interface ReceivedResponse {
  readonly text: string;
  readonly final_text: string | null;
  /** The labels of the steps. */
  readonly steps: readonly string[];
  readonly forms: readonly { readonly id: string; readonly title: string }[];
  readonly errors: readonly string[];
  readonly done: boolean;
}

export type PostMessage = (
  url: string,
  headers: Endpoint["headers"],
  body: object,
) => Promise<ReceivedResponse>;

export class DocumentDriver implements StoryDriver<null> {
  readonly received: Promise<ReceivedResponse>[] = [];
  readonly tools = new ToolCallBlocks();
  readonly #harness: TurnHarness;
  readonly #endpoint: Endpoint;
  readonly #served: (url: string) => string;
  readonly #post: PostMessage;
  #socket: SessionClient | null = null;
  #chat = 0;
  #ended = 0;

  /** @param served returns the address of a file of the story */
  constructor(harness: TurnHarness, endpoint: Endpoint, served: (url: string) => string, post: PostMessage) {
    this.#harness = harness;
    this.#endpoint = endpoint;
    this.#served = served;
    this.#post = post;
  }

  async watch({ session }: SessionRef): Promise<void> {
    const found = await rest<{ chat_id: number }>(this.#endpoint, "GET", `/sessions/${session}`);
    this.#chat = found.chat_id;
    const socket = new SessionClient({
      session,
      dialect: "blocks",
      wire: "socket",
      onFrame: (frame) => {
        this.tools.handle(frame as unknown as Parameters<ToolCallBlocks["handle"]>[0]);
        if (frame.type === "message_stop") this.#ended++;
      },
    }).connect(this.#endpoint);
    this.#socket = socket;
    await socket.until("subscribed", () => socket.rendered.starts.length > 0);
  }

  async ask(ref: SessionRef, { ask: message, agent, files = [] }: Story): Promise<string> {
    const content_urls = files.map(({ url }) => this.#served(url));
    this.#send({ message, agent_id: agent.name, ...(files.length === 0 ? {} : { content_urls }) });
    return this.#harness.until(ref, TIMEOUT_MS, ({ turns }) => turns.get(0)?.message?.id ?? null);
  }

  async stop({ session }: SessionRef): Promise<void> {
    await rest(this.#endpoint, "POST", `/sessions/${session}/stop`, {});
  }

  choose(): Promise<void> {
    throw new Error("the stories of 000, 002 and 003 ask for no decision");
  }

  /** 002: submit or decline the request, then continue with `resume_form_request_id` where needed. */
  async fillIn(ref: SessionRef, { finally: then }: StoryForm): Promise<void> {
    const asked = await this.received.at(-1);
    const form = asked?.forms[0]?.id ?? "";
    const at = `/sessions/${ref.session}/interactions/${form}`;
    if ("decline" in then) {
      await rest(this.#endpoint, "POST", `${at}/decline`, { reason: then.decline });
      return;
    }
    await rest(this.#endpoint, "POST", `${at}/submit`, { values: then.submit, go_on: false });
    const { agent } = (await this.#harness.state(ref)).turns.last() ?? {};
    this.#send({ message: then.message, agent_id: agent, resume_form_request_id: form });
  }

  reload(): Promise<() => Promise<null>> {
    return Promise.resolve(() => Promise.resolve(null));
  }

  /** Waits until the socket has received the end of that many turns, and closes it. */
  async leave(turns: number): Promise<void> {
    await this.#socket?.until(`over ${turns} times`, () => this.#ended >= turns);
    this.#socket?.cut();
  }

  #send(body: object): void {
    const url = `${this.#endpoint.url}/api/v1/chats/${this.#chat}/messages`;
    this.received.push(this.#post(url, this.#endpoint.headers, body));
  }
}
