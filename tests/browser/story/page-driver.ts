/**
 * `PageDriver` plays the user of a story on pages: it asks, decides and stops there. It reloads one tab repeatedly
 * while another stays open.
 *
 * Invariant: after every reload both tabs must show the same. Does not play the agent.
 */
import type { Choice, Moment, Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import { isDeepStrictEqual } from "node:util";
import type { SessionRef } from "@turnstream/server";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Browser } from "playwright-core";
import type { TurnHarness } from "../../../packages/server/test/engine/turn-harness.ts";
import type { StoryDriver } from "../../../packages/server/test/stories/driver.ts";
import { bytesOf } from "../../../packages/server/test/stories/story-environment.ts";
import type { TestEnvironment } from "../test-environment.ts";
import { Tab } from "../tab.ts";
import {
  answer,
  approve,
  attach,
  declineForm,
  untilDraftSaved,
  edit,
  readForm,
  fillForm,
  untilProblemShown,
  reject,
  stop,
  submitForm,
} from "./cards.ts";
import { compareScreens } from "./compare.ts";
import type { PacedGates } from "./paced-gates.ts";

/** "apart" uses two browsers. Otherwise two tabs of one browser, where the first tab has the shared connection. */
export type Layout = "apart" | "stable first" | "reloaded first";

export interface Plan {
  readonly layout: Layout;
  /** The file of the page. @default the page with React */
  readonly page?: string;
  /** The beats at which the tab is reloaded. */
  readonly moments: readonly number[];
}

interface DriverContext {
  readonly browser: Browser;
  readonly environment: TestEnvironment;
  readonly stage: TurnHarness;
}

/** During every other reload the story continues slowly for this many beats. During the others it pauses. */
const BEATS_ON = 4;
const SLOW_MS = 60;

export class PageDriver implements StoryDriver<string> {
  readonly timeoutMs = 600_000;
  /** Differences that were found. After the first one nothing more is compared. */
  readonly failures: string[] = [];
  /** How often the tab was reloaded and compared. */
  reloads = 0;
  readonly #context: DriverContext;
  readonly #gates: PacedGates;
  readonly #plan: Plan;
  #stableTab: Tab | undefined;
  #reloadedTab: Tab | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(context: DriverContext, gates: PacedGates, plan: Plan) {
    this.#context = context;
    this.#gates = gates;
    this.#plan = plan;
  }

  /** The tab that is never reloaded. */
  get stableTab(): Tab {
    return opened(this.#stableTab);
  }

  get reloadedTab(): Tab {
    return opened(this.#reloadedTab);
  }

  async watch(ref: SessionRef, { agent, mode }: Story): Promise<void> {
    const { browser, environment, stage } = this.#context;
    const { layout, page = "" } = this.#plan;
    const options = {
      url: environment.url,
      session: ref.session,
      agent: agent.name,
      page,
      ...(mode && { mode }),
    };
    const context = await environment.openContext(browser, stage.actor);
    const other = layout === "apart" ? await environment.openContext(browser, stage.actor) : context;
    const first = await Tab.open(context, options);
    await first.live();
    const second = await Tab.open(other, options);
    await second.live();
    [this.#stableTab, this.#reloadedTab] = layout === "reloaded first" ? [second, first] : [first, second];
    const moments = new Map(this.#plan.moments.map((beat, n) => [beat, n]));
    this.#gates.onBeat = (beat) => {
      const n = moments.get(beat);
      if (n === undefined) return undefined;
      return n % 2 === 0 ? this.#reload(ref, `beat ${beat}`) : this.#reloadOnTheWay(ref, beat);
    };
  }

  async ask(ref: SessionRef, { ask, files = [] }: Story): Promise<string> {
    for (const file of files) {
      const name = new URL(file.url).pathname.slice(1);
      await attach(this.reloadedTab, { name, bytes: bytesOf(file) });
    }
    await this.reloadedTab.send(ask);
    return await this.#context.stage.until(
      ref,
      this.timeoutMs,
      ({ turns }) => turns.get(0)?.message?.id ?? null,
    );
  }

  async stop(): Promise<void> {
    await this.#alone(() => stop(this.reloadedTab));
  }

  /** Acts only in the tab that is reloaded. The other tab must show the result too. */
  async choose(ref: SessionRef, _state: unknown, choice: Choice): Promise<void> {
    await this.#reload(ref, "asked");
    await this.#alone(async () => {
      if ("answers" in choice) await answer(this.reloadedTab, choice.answers);
      else if (choice.decision === "approve") await approve(this.reloadedTab);
      else if (choice.decision === "edit") await edit(this.reloadedTab, choice.input ?? {});
      else await reject(this.reloadedTab, choice.reason ?? "");
    });
  }

  async fillIn(ref: SessionRef, { draft, bad, finally: then }: StoryForm): Promise<void> {
    await this.#alone(async () => {
      await fillForm(this.reloadedTab, draft);
      await untilDraftSaved(this.reloadedTab);
    });
    await this.#reload(ref, "the form");
    await this.#alone(async () => {
      const names = Object.keys(draft);
      const isBack = async () => isDeepStrictEqual(await readForm(this.reloadedTab, names), draft);
      await until("the form values to be restored", isBack);
      if ("decline" in then) return await declineForm(this.reloadedTab, then.decline);
      await fillForm(this.reloadedTab, bad);
      await submitForm(this.reloadedTab);
      await untilProblemShown(this.reloadedTab);
      await fillForm(this.reloadedTab, then.submit);
      await submitForm(this.reloadedTab);
    });
  }

  async reload(ref: SessionRef, at: Moment): Promise<() => Promise<string>> {
    await this.#reload(ref, at);
    return async () => at;
  }

  /** Checks that both tabs show the same in the end. It waits for a reload near the end of the story. */
  async compare(ref: SessionRef): Promise<string> {
    return await this.#alone(() => compareScreens(this.stableTab, this.reloadedTab, this.#head(ref)));
  }

  async #reload(ref: SessionRef, at: string): Promise<void> {
    await this.#alone(async () => {
      await this.reloadedTab.reload();
      await this.#compare(ref, at);
    });
  }

  /** The story continues while the page reloads, and pauses only then. */
  async #reloadOnTheWay(ref: SessionRef, beat: number): Promise<void> {
    const gates = this.#gates;
    const before = gates.onBeat;
    const back = this.#alone(() => this.reloadedTab.reload());
    gates.paceMs = SLOW_MS;
    gates.onBeat = (now) => {
      if (now < beat + BEATS_ON) return before(now);
      gates.onBeat = before;
      gates.paceMs = null;
      return back.then(() =>
        this.#alone(() => this.#compare(ref, `beat ${beat}, while the story continues`)),
      );
    };
  }

  async #compare(ref: SessionRef, at: string): Promise<void> {
    if (this.failures.length > 0) return;
    this.reloads += 1;
    await compareScreens(this.stableTab, this.reloadedTab, this.#head(ref)).catch((error: unknown) => {
      this.failures.push(`${at}: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  #head(ref: SessionRef): () => Promise<string> {
    return async () => (await this.#context.environment.backend.log.head(ref))?.last ?? "";
  }

  /** Runs one operation on the tab at a time. */
  async #alone<T>(run: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const mine = before.then(run);
    this.#turn = mine.catch(() => undefined);
    return await mine;
  }
}

function opened(tab: Tab | undefined): Tab {
  if (tab === undefined) throw new Error("call watch() first");
  return tab;
}
