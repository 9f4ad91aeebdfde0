/**
 * `StandInProvider` is an HTTP server with Anthropic's streaming API that counts the requests of each turn. A turn is
 * named by its message. A poisoned turn calls the tool `crash`, all others stream a text at the rate of a slow model.
 *
 * Invariant: every request counts, also one whose answer the worker doesn't read to its end.
 */
import { startAnthropicServer } from "@turnstream/testkit/model-servers/anthropic-server.ts";
import type { ModelServer, Reply } from "@turnstream/testkit/model-servers/model-server.ts";

const PACE_MS = 250;
const WORD = "word ";
const POISON = "poison";

export class StandInProvider {
  readonly #calls = new Map<string, number>();
  #server: ModelServer | null = null;

  static async start(): Promise<StandInProvider> {
    const provider = new StandInProvider();
    provider.#server = await startAnthropicServer(({ body }) => provider.#reply(body));
    return provider;
  }

  get url(): string {
    return this.#server?.baseUrl ?? "";
  }

  /** How many requests of this turn have arrived. */
  countCalls(name: string): number {
    return this.#calls.get(name) ?? 0;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #reply({ messages }: Readonly<Record<string, unknown>>): Reply {
    const [, name = "", ms = "0"] = /<<(\S+) (\d+)>>/.exec(JSON.stringify(messages)) ?? [];
    this.#calls.set(name, this.countCalls(name) + 1);
    if (name.startsWith(POISON)) {
      return { parts: [{ type: "call", id: `call-${this.countCalls(name)}`, name: "crash", input: "{}" }] };
    }
    return { parts: [{ type: "text", text: expectedText(Number(ms)) }], chunk: WORD.length, paceMs: PACE_MS };
  }
}

/** The message that makes the model answer for this long. */
export function messageText(name: string, answerMs: number): string {
  return `<<${name} ${answerMs}>>`;
}

/** The name of a turn that kills its process. */
export function poisonName(name: string): string {
  return `${POISON}-${name}`;
}

export function expectedText(answerMs: number): string {
  return WORD.repeat(Math.ceil(answerMs / PACE_MS));
}
