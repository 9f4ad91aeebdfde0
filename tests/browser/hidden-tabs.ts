/**
 * `setHidden`, `setFrozen` and `freeze` make a tab hidden, or stop its scripts. Playwright itself keeps every page
 * visible.
 */
import type { BrowserContext } from "playwright-core";
import type { Tab } from "./tab.ts";

declare global {
  interface Window {
    setHidden?: (isHidden: boolean) => void;
  }
}

/**
 * Allows tabs of this context to be hidden, and their time to pass. Call it before the tabs are opened. A hidden tab draws
 * no frames, as in a real browser.
 */
export async function allowHiding(context: BrowserContext): Promise<void> {
  await context.clock.install();
  await context.addInitScript(() => {
    let isHidden = false;
    const queued: FrameRequestCallback[] = [];
    const draw = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (run) => (isHidden ? -queued.push(run) : draw(run));
    Object.defineProperty(document, "hidden", { get: () => isHidden });
    Object.defineProperty(document, "visibilityState", { get: () => (isHidden ? "hidden" : "visible") });
    window.setHidden = (value) => {
      isHidden = value;
      document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
      if (!isHidden) for (const run of queued.splice(0)) draw(run);
    };
  });
}

export async function setHidden(tab: Tab, isHidden: boolean): Promise<void> {
  await tab.page.evaluate((value) => window.setHidden?.(value), isHidden);
}

/** Moves the clock of a tab forward. Its timers run at most once. */
export async function passTime({ page }: Tab, ms: number): Promise<void> {
  await page.clock.fastForward(ms);
}

/** Tells a tab that the browser freezes it, as it does with hidden tabs to save memory, or resumes it. */
export async function setFrozen(tab: Tab, isFrozen: boolean): Promise<void> {
  if (isFrozen) await setHidden(tab, true);
  await tab.page.evaluate((type) => document.dispatchEvent(new Event(type)), isFrozen ? "freeze" : "resume");
  if (!isFrozen) await setHidden(tab, false);
}

/** Stops all scripts of a tab at its next statement. @returns a function that resumes them */
export async function freeze({ page }: Tab): Promise<() => Promise<void>> {
  const developer = await page.context().newCDPSession(page);
  await developer.send("Debugger.enable");
  const paused = new Promise((resolve) => developer.once("Debugger.paused", resolve));
  await developer.send("Debugger.pause");
  // The debugger stops only when a statement runs.
  void page.evaluate(() => undefined).catch(() => undefined);
  await paused;
  return async () => {
    await developer.send("Debugger.resume");
    await developer.send("Debugger.disable");
    await developer.detach();
  };
}
