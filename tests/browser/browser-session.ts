/**
 * `BrowserSession` is the setup of most tests here: a browser, a gateway on real servers, and a worker with the agents
 * of agents.ts.
 */
import type { SessionRef } from "@turnstream/server";
import type { Browser, BrowserContext } from "playwright-core";
import { TurnHarness } from "../../packages/server/test/engine/turn-harness.ts";
import { askingAgent, LONG_ANSWER, longAnswerAgent } from "./agents.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { type GatewayPlace, TestEnvironment } from "./test-environment.ts";
import { PacedGates } from "./story/paced-gates.ts";
import { Tab } from "./tab.ts";

interface BrowserSessionOptions {
  readonly gateway?: GatewayPlace;
  /** If false, the test starts workers itself. @default true */
  readonly hasWorker?: boolean;
  /** @default the Redis that all tests share */
  readonly redisUrl?: string;
}

export class BrowserSession {
  readonly browser: Browser;
  readonly environment: TestEnvironment;
  readonly harness: TurnHarness;
  /** Controls how fast the agent writes its long answer, and when it pauses. */
  readonly pace: PacedGates;

  private constructor(
    browser: Browser,
    environment: TestEnvironment,
    harness: TurnHarness,
    pace: PacedGates,
  ) {
    this.browser = browser;
    this.environment = environment;
    this.harness = harness;
    this.pace = pace;
  }

  static async open({
    gateway = "in-process",
    hasWorker = true,
    redisUrl,
  }: BrowserSessionOptions = {}): Promise<BrowserSession> {
    const environment = await TestEnvironment.open(gateway, redisUrl);
    const harness = await TurnHarness.open(environment.backend);
    const pace = new PacedGates();
    if (hasWorker)
      await harness.worker([longAnswerAgent((ms) => pace.beat(ms)), askingAgent()], { leaseTtlMs: 10_000 });
    return new BrowserSession(await openBrowser(), environment, harness, pace);
  }

  async createSession(): Promise<SessionRef> {
    return await this.harness.session();
  }

  /** Opens a browser context for the user who owns the sessions. */
  async openContext(): Promise<BrowserContext> {
    return await this.environment.openContext(this.browser, this.harness.actor);
  }

  async openTab(
    context: BrowserContext,
    { session }: SessionRef,
    agent = LONG_ANSWER,
    locale = "en",
  ): Promise<Tab> {
    return await Tab.open(context, { url: this.environment.url, session, agent, locale });
  }

  /**
   * Pauses the long answer after this many chunks, so that its turn still runs however long the test takes.
   * @returns a function that lets it continue
   */
  pauseAnswerAfter(count: number): () => void {
    let resume: (() => void) | undefined;
    const promise = new Promise<void>((resolve) => {
      resume = resolve;
    });
    let chunks = 0;
    this.pace.onBeat = () => (++chunks > count ? promise : undefined);
    return () => {
      this.pace.onBeat = () => undefined;
      resume?.();
    };
  }

  /** Returns a function that reads the newest position of a session's log. */
  readHead(ref: SessionRef): () => Promise<string> {
    return async () => (await this.environment.backend.log.head(ref))?.last ?? "";
  }

  /** Returns the texts that users have sent to a session, from the log. */
  async readMessages(ref: SessionRef): Promise<string[]> {
    const { turns, waiting } = await this.harness.state(ref);
    const taken = turns.toArray().flatMap(({ message }) => (message === null ? [] : [message.text]));
    return [...taken, ...waiting.map(({ text }) => text)];
  }

  async close(): Promise<void> {
    await closeBrowser(this.browser);
    await this.environment.close();
    await this.harness.close();
  }
}
