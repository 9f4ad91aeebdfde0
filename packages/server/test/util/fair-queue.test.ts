/** Tests the order, the shares and the memory of `FairQueue` with generated programs. */
import { assertCases, type CaseCounts } from "@turnstream/conformance/support/cases.ts";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { FairQueue, type Owner, type QueuedTask, shareOf } from "../../src/util/fair-queue.ts";

const CASES: CaseCounts = { push: 400, full: 20_000 };
const PRESENT_MS = 10 * 60_000;

interface Call {
  readonly owner: Owner;
  readonly n: number;
}

type Step =
  | { readonly type: "add"; readonly owner: Owner }
  | { readonly type: "end"; readonly nth: number }
  | { readonly type: "pass"; readonly ms: number };

const owner: fc.Arbitrary<Owner> = fc.record({
  // One tenant and one user do most of the work.
  tenant: fc.constantFrom("a", "a", "a", "b", "c", "d"),
  user: fc.constantFrom("u", "u", "v", "w"),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("add" as const), owner }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("end" as const), nth: fc.nat(1_000) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("pass" as const), ms: fc.constantFrom(1, PRESENT_MS + 1) }),
  },
);

/** Runs a program and checks every start against the rules, with counts of its own. It throws at a violation. */
class Checker {
  readonly #queue: FairQueue<Call>;
  readonly #width: number;
  readonly #part: number;
  readonly #tasks: QueuedTask<Call>[] = [];
  /** Per waiting tenant: the tenants that started a task since its last start, or since it waits. */
  readonly #passedBy = new Map<string, Set<string>>();
  readonly #usedAt = new Map<string, number>();
  #now = 0;
  #count = 0;

  constructor(width: number, part: number) {
    this.#width = width;
    this.#part = part;
    this.#queue = new FairQueue(width, part);
  }

  apply(one: Step): void {
    if (one.type === "pass") this.#now += one.ms;
    else if (one.type === "add") this.#add(one.owner);
    else if (this.#tasks.length > 0) this.#end(one.nth % this.#tasks.length);
    this.#startAll();
    const running = this.#tasks.filter(({ state }) => state === "running").length;
    const { tenants } = this.#queue;
    check(this.#queue.running === running, "the number of running tasks");
    check(this.#queue.waiting === this.#tasks.length - running, "the number of waiting tasks");
    check(running <= this.#width, "the width");
    check(tenants === new Set(this.#tasks.map(({ item }) => item.owner.tenant)).size, "the tenants");
  }

  endAll(): void {
    while (this.#tasks.length > 0) this.apply({ type: "end", nth: 0 });
  }

  #add(by: Owner): void {
    this.#tasks.push(this.#queue.add(by, { owner: by, n: this.#count++ }, this.#now));
    this.#usedAt.set(by.tenant, this.#now);
    if (!this.#passedBy.has(by.tenant)) this.#passedBy.set(by.tenant, new Set());
  }

  #end(nth: number): void {
    const [task] = this.#tasks.splice(nth, 1);
    if (task === undefined) return;
    const { tenant } = task.item.owner;
    if (task.state === "running") this.#usedAt.set(tenant, this.#now);
    this.#queue.end(task, this.#now);
    this.#queue.end(task, this.#now);
    if (!this.#waits(tenant)) this.#passedBy.delete(tenant);
  }

  #startAll(): void {
    for (let task = this.#queue.take(this.#now); task !== null; task = this.#queue.take(this.#now))
      this.#checkStart(task);
  }

  #checkStart({ item }: QueuedTask<Call>): void {
    const { tenant, user } = item.owner;
    // In the order of their calls.
    const earlier = this.#tasks.filter(
      ({ item: other, state }) =>
        state === "waiting" && other.owner.tenant === tenant && other.owner.user === user && other.n < item.n,
    );
    check(earlier.length === 0, "the order of one user's tasks");
    // Within one round: no tenant starts two tasks while another one waits and is far below its share.
    for (const [waiting, passedBy] of this.#passedBy) {
      if (waiting === tenant) continue;
      const isBelow = this.#running(waiting) < this.#shareOf(this.#shareOf(this.#width));
      check(!(isBelow && this.#waits(waiting) && passedBy.has(tenant)), "the turns of the tenants");
      passedBy.add(tenant);
    }
    if (this.#waits(tenant)) this.#passedBy.set(tenant, new Set());
    else this.#passedBy.delete(tenant);
    // More than the share only without others.
    check(
      this.#running(tenant) <= this.#shareOf(this.#width) || this.#others(tenant).length === 0,
      "the shares",
    );
  }

  #shareOf(limit: number): number {
    return shareOf(limit, this.#part);
  }

  #others(tenant: string): string[] {
    const isPresent = (at: number): boolean => this.#now - at < PRESENT_MS;
    const recent = [...this.#usedAt].filter(([other, at]) => other !== tenant && isPresent(at));
    const active = this.#tasks.map(({ item }) => item.owner.tenant).filter((other) => other !== tenant);
    return [...recent.map(([other]) => other), ...active];
  }

  #running(tenant: string): number {
    return this.#tasks.filter(({ item, state }) => item.owner.tenant === tenant && state === "running")
      .length;
  }

  #waits(tenant: string): boolean {
    return this.#tasks.some(({ item, state }) => item.owner.tenant === tenant && state === "waiting");
  }
}

function check(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`violated: ${rule}`);
}

test("tenants take turns within their shares, whatever starts, ends and is cancelled", async () => {
  const program = fc.tuple(
    fc.integer({ min: 1, max: 12 }),
    fc.constantFrom(0.25, 0.75),
    fc.array(step, { maxLength: 120 }),
  );
  const checks = fc.property(program, ([width, part, steps]) => {
    const checker = new Checker(width, part);
    for (const one of steps) checker.apply(one);
    checker.endAll();
  });
  await expect(assertCases(checks, CASES)).resolves.toBeUndefined();
});

const a = { tenant: "a", user: "u" };
const b = { tenant: "b", user: "u" };

/** Adds one task per owner and returns the names of the tasks that start. */
function takeAll(queue: FairQueue<string>, now = 0): string[] {
  const started: string[] = [];
  for (let task = queue.take(now); task !== null; task = queue.take(now)) started.push(task.item);
  return started;
}

describe("share", () => {
  it("is three quarters, rounded down, and at least 1", () => {
    expect([1, 2, 3, 4, 8, 10, 1_000].map((limit) => shareOf(limit))).toEqual([1, 1, 2, 3, 6, 7, 750]);
  });

  it("does not limit a lone tenant", () => {
    const queue = new FairQueue<string>(4);
    for (let n = 0; n < 9; n++) queue.add(a, `a${n}`, 0);
    expect(takeAll(queue)).toEqual(["a0", "a1", "a2", "a3"]);
  });

  it("leaves a slot for a tenant that was there in the last ten minutes", () => {
    const queue = new FairQueue<string>(4);
    const task = queue.add(b, "b0", 0);
    expect(takeAll(queue)).toEqual(["b0"]);
    queue.end(task, 0);
    for (let n = 0; n < 9; n++) queue.add(a, `a${n}`, 1);
    expect(takeAll(queue, 1)).toEqual(["a0", "a1", "a2"]);
    queue.add(b, "b1", 2);
    expect(takeAll(queue, 2)).toEqual(["b1"]);
  });

  it("does not limit a tenant because of work of the process itself", () => {
    const queue = new FairQueue<string>(4);
    queue.add({ tenant: "", user: "" }, "own", 0);
    for (let n = 0; n < 9; n++) queue.add(a, `a${n}`, 0);
    queue.add({ tenant: "", user: "" }, "own", 0);
    expect(takeAll(queue)).toEqual(["own", "a0", "own", "a1"]);
    const full = new FairQueue<string>(4);
    const own = full.add({ tenant: "", user: "" }, "own", 0);
    takeAll(full);
    full.end(own, 0);
    for (let n = 0; n < 9; n++) full.add(a, `a${n}`, 0);
    expect(takeAll(full)).toHaveLength(4);
  });

  it("applies to the users of a tenant too", () => {
    const queue = new FairQueue<string>(8);
    const other = queue.add({ tenant: "a", user: "v" }, "v0", 0);
    expect(takeAll(queue)).toEqual(["v0"]);
    queue.end(other, 0);
    for (let n = 0; n < 9; n++) queue.add(a, `u${n}`, 1);
    expect(takeAll(queue, 1)).toHaveLength(6);
    queue.add({ tenant: "a", user: "v" }, "v1", 2);
    expect(takeAll(queue, 2)).toEqual(["v1"]);
  });
});

it("keeps the order of the others when a task is cancelled", () => {
  const queue = new FairQueue<string>(1);
  const first = queue.add(a, "first", 0);
  queue.take(0);
  const cancelled = queue.add(a, "a1", 0);
  for (const name of ["b1", "b2"]) queue.add(b, name, 0);
  for (const name of ["a2", "a3"]) queue.add(a, name, 0);
  queue.end(cancelled, 0);
  const order: string[] = [];
  for (let last = first; ;) {
    queue.end(last, 0);
    const task = queue.take(0);
    if (task === null) break;
    order.push(task.item);
    last = task;
  }
  expect(order).toEqual(["a2", "b1", "a3", "b2"]);
});

it("keeps few tenants without tasks, and none after ten minutes", () => {
  const queue = new FairQueue<number>(1);
  const useOnce = (tenant: string, now: number): void => {
    const task = queue.add({ tenant, user: "u" }, 0, now);
    queue.take(now);
    queue.end(task, now);
  };
  for (let n = 0; n < 5_000; n++) useOnce(`t${n}`, 0);
  expect([queue.tenants, queue.idleTenants]).toEqual([0, 1_000]);
  for (let n = 0; n < 5_000; n++) useOnce("a", 1);
  expect(queue.idleTenants).toBe(1_000);
  useOnce("a", PRESENT_MS + 1);
  expect(queue.idleTenants).toBe(1);
});
