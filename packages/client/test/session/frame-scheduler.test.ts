/** Tests when `createFrameScheduler` notifies subscribers. */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { emptyState, type SessionState } from "@turnstream/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { INITIAL_CONNECTION } from "../../src/transport/status.ts";
import { createEnv } from "../../src/env.ts";
import { createFrameScheduler, type FrameScheduler } from "../../src/session/frame-scheduler.ts";
import type { SessionView } from "../../src/session/session.ts";

const viewOf = (state: SessionState): SessionView => ({
  state,
  connection: INITIAL_CONNECTION,
  outbox: [],
  skewMs: 0,
  hasLostTurns: false,
  history: { hasMore: false, isLoading: false, error: null },
});

class Stage {
  notified = 0;
  isHidden = false;
  private frame: (() => void) | undefined;
  private changed = (): void => {};
  private view = viewOf(emptyState);
  readonly notifier: FrameScheduler = createFrameScheduler(this.view, {
    notify: () => void (this.notified += 1),
    env: {
      ...createEnv(),
      nextFrame: (run) => {
        this.frame = run;
        return () => void (this.frame = undefined);
      },
      page: {
        isHidden: () => this.isHidden,
        onChange: (changed) => {
          this.changed = changed;
          return () => {};
        },
      },
    },
  });

  show(view: Partial<SessionView>): void {
    this.view = { ...this.view, ...view };
    this.notifier.update(this.view);
  }
  draw(): void {
    const { frame } = this;
    this.frame = undefined;
    if (!this.isHidden) frame?.();
  }
  hide(isHidden: boolean): void {
    this.isHidden = isHidden;
    this.changed();
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("U08 notifies once per frame, however many changes there are, and never without a change", () => {
  const stage = new Stage();
  for (let n = 1; n <= 500; n += 1) stage.show({ skewMs: n });
  expect(stage.notified).toBe(0);
  stage.draw();
  expect(stage.notified).toBe(1);
  stage.draw();
  expect(stage.notified).toBe(1);
  stage.show({ skewMs: 0 });
  stage.draw();
  expect(stage.notified).toBe(2);
});

test("U08 while hidden, notifies only about an ended turn, a pending interaction and a closed connection", () => {
  const stage = new Stage();
  const log = new LogWriter().session().begin("Buy");
  stage.hide(true);
  const show = (): number => {
    stage.show({ state: log.state });
    vi.runAllTimers();
    return stage.notified;
  };
  expect(show()).toBe(0);
  log.text(["Let", " me", " see"]);
  expect(show()).toBe(0);
  const call = log.call("buy", ["{}"]);
  const approval = { key: "k1", call, actions: [], editable: false };
  const on = log.place();
  log.add({ type: "approval.request", ...on, ...approval, actions: [{ name: "buy", input: {} }] });
  expect(show()).toBe(1);
  log.add({ type: "approval.update", ...on, version: 1, status: "approved" });
  log.result(call, "buy", "done");
  expect(show()).toBe(1);
  log.text(["Done"], { final: true }).end();
  expect(show()).toBe(2);
  log.begin("More");
  expect(show()).toBe(2);
  stage.show({ connection: { ...INITIAL_CONNECTION, phase: "waiting" } });
  vi.runAllTimers();
  expect(stage.notified).toBe(2);
  stage.show({ connection: { ...INITIAL_CONNECTION, phase: "closed" } });
  vi.runAllTimers();
  expect(stage.notified).toBe(3);
});

test("notifies once when the page is visible again, if it skipped changes", () => {
  const stage = new Stage();
  stage.hide(true);
  stage.show({ skewMs: 1 });
  stage.show({ skewMs: 2 });
  stage.hide(false);
  stage.draw();
  expect(stage.notified).toBe(1);
  stage.hide(true);
  stage.hide(false);
  stage.draw();
  expect(stage.notified).toBe(1);
});

test("a notification that was scheduled before the page was hidden runs once when it is visible", () => {
  const stage = new Stage();
  stage.show({ skewMs: 1 });
  stage.hide(true);
  stage.draw();
  expect(stage.notified).toBe(0);
  stage.hide(false);
  stage.draw();
  stage.draw();
  expect(stage.notified).toBe(1);
});

test("does not notify after close", () => {
  const stage = new Stage();
  stage.show({ skewMs: 1 });
  stage.notifier.close();
  stage.draw();
  expect(stage.notified).toBe(0);
});

test("without animation frames, notifies from a timer", () => {
  const notified = vi.fn<() => void>();
  const notifier = createFrameScheduler(viewOf(emptyState), { notify: notified, env: createEnv() });
  notifier.update(viewOf(emptyState));
  notifier.update(viewOf(emptyState));
  expect(notified).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(notified).toHaveBeenCalledOnce();
});
