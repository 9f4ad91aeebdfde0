/**
 * The person of a story on pages: asks, decides and stops there, and reloads one tab again and again while another stays.
 * After every reload the two must show the same. Plays nothing itself.
 */
import type { Choice, Moment, Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import { isDeepStrictEqual } from "node:util";
import type { SessionRef } from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Browser } from "playwright-core";
import { makePdf } from "../../packages/server/test/text-extraction/make-pdf.ts";
import type { Stage } from "../../packages/server/test/runtime/turn-harness.ts";
import type { Hands } from "../../packages/server/test/stories/driver.ts";
import type { House } from "../test-environment.ts";
import { Tab } from "../tab.ts";
import {
  answer,
  approve,
  attach,
  declineForm,
  draftIsSaved,
  edit,
  filledIn,
  fillForm,
  problemIsTold,
  reject,
  stop,
  submitForm,
} from "./cards.ts";
import { sameScreens } from "./compare.ts";
import type { PacedGates } from "./paced-gates.ts";

/** apart: two browsers. Otherwise two tabs of one, and who came first has the connection of both. */
export type Layout = "apart" | "stayer first" | "goer first";

export interface Plan {
  readonly layout: Layout;
  /** The beats at which the tab is reloaded. */
  readonly moments: readonly number[];
}

interface Scene {
  readonly browser: Browser;
  readonly house: House;
  readonly stage: Stage;
}

/** After an odd reload the story goes on, slowly, for so many beats; after an even one it stands still. */
const BEATS_ON = 4;
const SLOW_MS = 60;

export class PageHands implements Hands<string> {
  readonly patienceMs = 600_000;
  /** What was not as it has to be. After the first nothing more is looked at. */
  readonly failures: string[] = [];
  /** How often the tab was reloaded, and the two compared. */
  reloads = 0;
  readonly #scene: Scene;
  readonly #gates: PacedGates;
  readonly #plan: Plan;
  #stayer: Tab | undefined;
  #goer: Tab | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(scene: Scene, gates: PacedGates, plan: Plan) {
    this.#scene = scene;
    this.#gates = gates;
    this.#plan = plan;
  }

  /** The tab that is never reloaded. */
  get stayer(): Tab {
    return opened(this.#stayer);
  }

  get goer(): Tab {
    return opened(this.#goer);
  }

  async watch(ref: SessionRef, { agent }: Story): Promise<void> {
    const { browser, house, stage } = this.#scene;
    const options = { url: house.url, session: ref.session, agent: agent.name };
    const { layout } = this.#plan;
    const context = await house.person(browser, stage.actor);
    const other = layout === "apart" ? await house.person(browser, stage.actor) : context;
    const first = await Tab.open(context, options);
    await first.live();
    const second = await Tab.open(other, options);
    await second.live();
    [this.#stayer, this.#goer] = layout === "goer first" ? [second, first] : [first, second];
    const moments = new Map(this.#plan.moments.map((beat, n) => [beat, n]));
    this.#gates.onBeat = (beat) => {
      const n = moments.get(beat);
      if (n === undefined) return undefined;
      return n % 2 === 0 ? this.#reload(ref, `beat ${beat}`) : this.#reloadOnTheWay(ref, beat);
    };
  }

  async ask(ref: SessionRef, { ask, files = [] }: Story): Promise<string> {
    for (const { url, pages } of files)
      await attach(this.goer, { name: new URL(url).pathname.slice(1), bytes: makePdf(pages) });
    await this.goer.send(ask);
    return await this.#scene.stage.until(
      ref,
      this.patienceMs,
      ({ turns }) => turns.get(0)?.message?.id ?? null,
    );
  }

  async stop(): Promise<void> {
    await this.#alone(() => stop(this.goer));
  }

  /** Only in the tab that is reloaded: the other must see it all the same. */
  async choose(ref: SessionRef, _state: unknown, choice: Choice): Promise<void> {
    await this.#reload(ref, "asked");
    await this.#alone(async () => {
      if ("answers" in choice) await answer(this.goer, choice.answers);
      else if (choice.decision === "approve") await approve(this.goer);
      else if (choice.decision === "edit") await edit(this.goer, choice.input ?? {});
      else await reject(this.goer, choice.reason ?? "");
    });
  }

  async fillIn(ref: SessionRef, { draft, bad, finally: then }: StoryForm): Promise<void> {
    await this.#alone(async () => {
      await fillForm(this.goer, draft);
      await draftIsSaved(this.goer);
    });
    await this.#reload(ref, "the form");
    await this.#alone(async () => {
      const names = Object.keys(draft);
      const isBack = async () => isDeepStrictEqual(await filledIn(this.goer, names), draft);
      await until("what was filled in to be back", isBack);
      if ("decline" in then) return await declineForm(this.goer, then.decline);
      await fillForm(this.goer, bad);
      await submitForm(this.goer);
      await problemIsTold(this.goer);
      await fillForm(this.goer, then.submit);
      await submitForm(this.goer);
    });
  }

  async reload(ref: SessionRef, at: Moment): Promise<() => Promise<string>> {
    await this.#reload(ref, at);
    return async () => at;
  }

  /** That both show the same in the end. A reload near the end of the story may still be under way: it is waited for. */
  async compare(ref: SessionRef): Promise<string> {
    return await this.#alone(() => sameScreens(this.stayer, this.goer, this.#head(ref)));
  }

  async #reload(ref: SessionRef, at: string): Promise<void> {
    await this.#alone(async () => {
      await this.goer.reload();
      await this.#compare(ref, at);
    });
  }

  /** The story is told on while the page comes back, and only then stands still. */
  async #reloadOnTheWay(ref: SessionRef, beat: number): Promise<void> {
    const gates = this.#gates;
    const before = gates.onBeat;
    const back = this.#alone(() => this.goer.reload());
    gates.paceMs = SLOW_MS;
    gates.onBeat = (now) => {
      if (now < beat + BEATS_ON) return before(now);
      gates.onBeat = before;
      gates.paceMs = null;
      return back.then(() => this.#alone(() => this.#compare(ref, `beat ${beat}, on the way`)));
    };
  }

  async #compare(ref: SessionRef, at: string): Promise<void> {
    if (this.failures.length > 0) return;
    this.reloads += 1;
    await sameScreens(this.stayer, this.goer, this.#head(ref)).catch((error: unknown) => {
      this.failures.push(`${at}: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  #head({ session }: SessionRef): () => Promise<string> {
    return async () => (await this.#scene.house.parts.log.head(session))?.last ?? "";
  }

  /** One thing at a time is done to the tab. */
  async #alone<T>(run: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const mine = before.then(run);
    this.#turn = mine.catch(() => undefined);
    return await mine;
  }
}

function opened(tab: Tab | undefined): Tab {
  if (tab === undefined) throw new Error("nobody looks yet");
  return tab;
}
