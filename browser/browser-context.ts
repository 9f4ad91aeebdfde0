/** A browser, a gateway on real servers, and a worker with the agents of agents.ts: what most tests here begin with. */
import type { SessionRef } from "@turnstream/server";
import type { Browser, BrowserContext } from "playwright-core";
import { Stage } from "../packages/server/test/runtime/turn-harness.ts";
import { asker, talker } from "./agents.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { House } from "./test-environment.ts";
import { PacedGates } from "./story/paced-gates.ts";
import { Tab } from "./tab.ts";

interface RoomOptions {
  /** `apart`: as a process, to be killed. */
  readonly gateway?: "here" | "apart";
  /** Without one, somebody else works on the turns. */
  readonly hasWorker?: boolean;
}

export class Room {
  readonly browser: Browser;
  readonly house: House;
  readonly stage: Stage;
  /** How fast the talker speaks, and when it stands still. */
  readonly pace: PacedGates;

  private constructor(browser: Browser, house: House, stage: Stage, pace: PacedGates) {
    this.browser = browser;
    this.house = house;
    this.stage = stage;
    this.pace = pace;
  }

  static async open({ gateway = "here", hasWorker = true }: RoomOptions = {}): Promise<Room> {
    const house = await House.open(gateway);
    const stage = await Stage.open(house.parts);
    const pace = new PacedGates();
    if (hasWorker) await stage.worker([talker((ms) => pace.beat(ms)), asker()], { leaseTtlMs: 10_000 });
    return new Room(await openBrowser(), house, stage, pace);
  }

  async session(): Promise<SessionRef> {
    return await this.stage.session();
  }

  /** A browser of the person whose sessions these are. */
  async person(): Promise<BrowserContext> {
    return await this.house.person(this.browser, this.stage.actor);
  }

  async tab(context: BrowserContext, { session }: SessionRef, agent = "talker"): Promise<Tab> {
    return await Tab.open(context, { url: this.house.url, session, agent });
  }

  /** The newest position of a session's log. */
  head({ session }: SessionRef): () => Promise<string> {
    return async () => (await this.house.parts.log.head(session))?.last ?? "";
  }

  /** What people have said in a session, as the log has it. */
  async said(ref: SessionRef): Promise<string[]> {
    const { turns, waiting } = await this.stage.state(ref);
    const taken = turns.toArray().flatMap(({ message }) => (message === null ? [] : [message.text]));
    return [...taken, ...waiting.map(({ text }) => text)];
  }

  async close(): Promise<void> {
    await closeBrowser(this.browser);
    await this.house.close();
    await this.stage.close();
  }
}
