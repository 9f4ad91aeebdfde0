/**
 * `PaymentRound` plays one payment from its request to the turn after its outcome, kills a gateway or worker with -9 at
 * a chosen moment, and loses, delays, repeats, reorders and forges notifications.
 *
 * Invariant: a moment is a condition and not a time. A process is killed while it waits for a lock of the test, so it
 * has not committed, or while its link to Redis is cut, so it has committed and not written to the log.
 */
import { type Payment, paymentsOf } from "@turnstream/payments";
import { listBlocks } from "@turnstream/protocol";
import type { SessionRef } from "@turnstream/server";
import type { NotificationOverrides } from "@turnstream/payments/sandbox";
import type { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { holdLock } from "@turnstream/testkit/servers/hold-lock.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { Figures } from "./figures.ts";
import { checkPayment, type Ending, PAYMENT_CHECKS } from "./payment-check.ts";
import { createPaymentPlan, type PaymentEnvironment, type PaymentProcess } from "./payment-environment.ts";
import type { RunOptions } from "./scenario.ts";
import type { TurnFollower } from "./turn-follower.ts";
import type { Plan } from "./turn-plan.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** When a process is killed. "Committed" means: and not yet in the log. */
export const MOMENTS = [
  "notification: committed",
  "request: written, not committed",
  "opening: committed",
  "expiry: committed",
  "notification: not committed",
  "request: committed",
  "opening: not committed",
  "expiry: not committed",
  "cancellation: committed",
  "answer to a query: not committed",
  "cancellation: not committed",
  "next turn: started",
] as const;

export type Moment = (typeof MOMENTS)[number];

const NOTIFICATIONS = ["once", "twice", "late", "reordered", "never"] as const;
const DECLINED = "MPG03009";
const SETTLE_MS = 15_000;
const MOST_TRIES = 8;

export function createFigures(times: number, progress: RunOptions["progress"]) {
  const share = Math.floor((times / MOMENTS.length) * 0.8);
  const committed = MOMENTS.filter((moment) => moment.endsWith(": committed")).length - 1;
  const kills = MOMENTS.map((moment) => [`kills at ${moment}`, { atLeast: share }] as const);
  return new Figures(progress, {
    ...(Object.fromEntries(kills) as Record<`kills at ${Moment}`, { atLeast: number }>),
    "kills between a commit and the log, or between the log and a commit": {
      atLeast: Math.floor(share * committed * 0.8),
    },
    payments: { exactly: times },
    succeeded: {},
    failed: {},
    cancelled: {},
    expired: {},
    "forged notifications": { atLeast: 1 },
    "forged notifications that were accepted": { exactly: 0 },
    "orders at the provider beyond one per payment": { exactly: 0 },
    ...PAYMENT_CHECKS,
    "turns left running": { exactly: 0 },
    "journal rows left": { exactly: 0 },
    "findings of the history check": { exactly: 0 },
  });
}

interface RoundOptions {
  readonly name: string;
  readonly moment: Moment;
  readonly random: () => number;
  readonly figures: ReturnType<typeof createFigures>;
}

type AnyProcess = PaymentProcess<GatewayProgram | WorkerProcess>;

export class PaymentRound {
  readonly #environment: PaymentEnvironment;
  readonly #random: () => number;
  readonly #figures: RoundOptions["figures"];
  readonly #moment: Moment;
  readonly #ending: Ending;
  readonly #plan: Plan;
  readonly #amount: number;
  readonly #ref: SessionRef;
  readonly #follower: TurnFollower;

  private constructor(
    environment: PaymentEnvironment,
    ref: SessionRef,
    { name, moment, random, figures }: RoundOptions,
  ) {
    this.#environment = environment;
    this.#random = random;
    this.#figures = figures;
    this.#moment = moment;
    this.#ending = chooseEnding(moment, random);
    this.#amount = 1 + Math.floor(random() * 100_000);
    this.#ref = ref;
    this.#follower = environment.turns.follow(ref);
    this.#plan = createPaymentPlan(name, this.#amount);
  }

  static async run(environment: PaymentEnvironment, options: RoundOptions): Promise<void> {
    await environment.keepProcesses();
    const ref = await environment.turns.createSession();
    const round = new PaymentRound(environment, ref, options);
    await round.#run();
  }

  async #run(): Promise<void> {
    const { turns } = this.#environment;
    const payment = await this.#request();
    const isOpened = await this.#open(payment);
    if (isOpened) await this.#forge(payment);
    const nextTurn = this.#moment === "next turn: started" ? this.#killNextTurn(payment) : null;
    await this.#end(payment);
    await nextTurn;
    // A killed worker's turn needs another one.
    await this.#environment.keepProcesses();
    await this.#follower.untilEnded(`after.${payment.id}`);
    const isPaidLate = isOpened && (await this.#disturb(payment));
    await turns.untilIdle(this.#ref);
    await this.#untilDelivered();
    await this.#follower.stop();
    this.#figures.report("events that broke a rule", this.#follower.illegal);
    const order = await this.#environment.findOrder(payment.orderNo);
    const expected = { amount: this.#amount, ending: this.#ending, isPaidLate, final: this.#plan.final };
    await checkPayment(turns, this.#ref, order, expected, this.#figures);
    this.#figures.add("payments");
    this.#figures.add(this.#ending);
    if (isOpened) this.#figures.add("orders at the provider beyond one per payment", -1);
  }

  /** Lets a turn request the payment. */
  async #request(): Promise<Payment> {
    const { turns } = this.#environment;
    const { store, databaseUrl } = turns.backend;
    const send = () => turns.send(this.#ref, this.#plan);
    let message: string;
    if (this.#moment === "request: written, not committed") {
      const lock = "lock table payments in share row exclusive mode";
      message = await this.#killWaiting(lock, /^insert into "payments"/, send);
      const isWritten = this.#shownStatus() === "pending";
      const [row] = await runSql(
        databaseUrl,
        `select 1 from payments where session_id = '${this.#ref.session}'`,
      );
      if (isWritten && row === undefined) this.#addBetween();
    } else message = await send();
    if (this.#moment === "request: committed") {
      const isStored = async () => (await paymentsOf(store).list(this.#ref)).length > 0;
      await until("the payment", isStored, { everyMs: 2 });
      await this.#killOwner();
    }
    await this.#environment.keepProcesses();
    await this.#follower.untilEnded(message);
    return this.#environment.readPayment(this.#ref);
  }

  /** Opens the checkout, unless the payment is to end without it. @returns whether the provider has the order */
  async #open(payment: Payment): Promise<boolean> {
    const { sandbox } = this.#environment;
    if (this.#ending === "cancelled" || (this.#ending === "expired" && this.#random() < 0.5)) return false;
    const token = await this.#environment.readToken(this.#ref, payment.id);
    const open = () => this.#environment.openCheckout(this.#environment.gateway, token);
    await this.#killAt("opening", open, "processing");
    // A browser whose request failed opens the page again. Some users do so anyway, or from another device.
    await open();
    if (this.#random() < 0.3) await Promise.all([open(), open()]);
    await sandbox.setBehavior({ notify: "once" });
    return true;
  }

  /** Lets the payment end as planned, and waits until it has. */
  async #end(payment: Payment): Promise<void> {
    if (this.#ending === "cancelled") {
      const cancel = () => this.#environment.cancel(this.#environment.gateway, payment);
      await this.#killAt("cancellation", cancel, "cancelled");
      await this.#settle(payment, async () => void (await cancel()));
    } else if (this.#ending === "expired") {
      const expire = () => this.#environment.makeOverdue(payment);
      await this.#killAt("expiry", expire, "expired");
      await this.#environment.keepProcesses();
      await this.#settle(payment, expire);
    } else await this.#finish(payment);
  }

  /** Pays at the provider, or lets the payment fail there. Its result arrives by a notification or by a query. */
  async #finish(payment: Payment): Promise<void> {
    const moment = this.#moment;
    const { sandbox } = this.#environment;
    const { orderNo } = payment;
    const isQuery = moment === "answer to a query: not committed";
    const isNotified = moment.startsWith("notification");
    const modes = isQuery ? (["never"] as const) : NOTIFICATIONS.slice(0, isNotified ? -1 : undefined);
    const mode = modes[Math.floor(this.#random() * modes.length)] ?? "once";
    await sandbox.setBehavior({
      notify: mode === "reordered" ? "once" : mode,
      delayMs: 50 + this.#random() * 300,
    });
    const pay = () => (this.#ending === "succeeded" ? sandbox.pay(orderNo) : sandbox.fail(orderNo));
    const nudge = async () => {
      // The provider repeats a notification that was not answered, or a worker asks.
      if (mode !== "never" && this.#random() < 0.5) await sandbox.sendNotification(orderNo);
      else await this.#environment.makeDue(payment);
    };
    if (!(await this.#killAt("notification", pay, this.#ending))) await pay();
    await this.#killAt("answer to a query", () => this.#environment.makeDue(payment), this.#ending);
    const isLost = mode === "never" || moment === "notification: not committed";
    await this.#environment.keepProcesses();
    await this.#settle(payment, nudge, isLost);
    // A notification of an earlier state arrives last.
    if (mode === "reordered")
      await sandbox.sendNotification(orderNo, { status: "SUCCESS", result: { PayTime: "" } });
  }

  /** Waits until the payment has ended. @param nudge repeats what was lost */
  async #settle(payment: Payment, nudge: () => Promise<void>, isLost = true): Promise<void> {
    const isEnded = async () => (await this.#environment.readPayment(this.#ref)).status === this.#ending;
    const wait = () =>
      until(`${payment.id} to end`, isEnded, { timeoutMs: SETTLE_MS }).then(
        () => true,
        () => false,
      );
    if (isLost && !(await isEnded())) await nudge();
    for (let tries = 0; !(await wait()); tries++) {
      if (tries === MOST_TRIES) throw new Error(`${payment.id} (${this.#moment}) is not ${this.#ending}`);
      await nudge();
    }
  }

  /** Repeats notifications after the end. @returns true if the user paid an expired payment */
  async #disturb(payment: Payment): Promise<boolean> {
    const { sandbox } = this.#environment;
    const { orderNo } = payment;
    await this.#forge(payment);
    if (this.#ending === "expired") {
      await sandbox.setBehavior({ notify: "once" });
      await sandbox.pay(orderNo);
      await sandbox.sendNotification(orderNo);
      return true;
    }
    await Promise.all([sandbox.sendNotification(orderNo), sandbox.sendNotification(orderNo)]);
    // A failure of an earlier try of the user, which arrives after the success.
    if (this.#ending === "succeeded") await sandbox.sendNotification(orderNo, { status: DECLINED });
    return false;
  }

  /** Sends notifications of the opposite result that the provider did not sign. */
  async #forge({ orderNo }: Payment): Promise<void> {
    const status = this.#ending === "succeeded" ? DECLINED : "SUCCESS";
    const result = { TradeNo: "26111600000001", PayTime: "2026-11-16 12:00:00" };
    const sha = Array.from({ length: 64 }, () => Math.floor(this.#random() * 16).toString(16)).join("");
    const forgeries: NotificationOverrides[] = [
      { status, result, form: { TradeSha: sha.toUpperCase() } },
      { status, result: { ...result, MerchantID: "MS000000002" } },
      { form: { Status: status, TradeInfo: "0".repeat(64) } },
    ];
    for (const forgery of forgeries) {
      const answer = await this.#environment.sandbox.sendNotification(orderNo, forgery);
      this.#figures.add("forged notifications");
      if (answer !== 400) this.#figures.add("forged notifications that were accepted");
    }
  }

  /**
   * Kills the process that takes this step, before or after it has committed the status.
   * @returns false if another step has the moment of this round
   */
  async #killAt(step: string, act: () => Promise<unknown>, status: Payment["status"]): Promise<boolean> {
    const { gateway, workers } = this.#environment;
    // Every change of a payment locks the row of its session first.
    const lock = `select 1 from sessions where id = '${this.#ref.session}' for update`;
    if (this.#moment === `${step}: not committed`) await this.#killWaiting(lock, /payments/, act);
    else if (this.#moment === `${step}: committed`)
      await this.#killCommitted(step === "expiry" ? workers : [gateway], act, status);
    else return false;
    return true;
  }

  /** Kills the process that waits for a lock of this test. */
  async #killWaiting<T>(statement: string, query: RegExp, act: () => Promise<T>): Promise<T> {
    const lock = await holdLock(this.#environment.turns.backend.databaseUrl, statement);
    const isGateway = /^(opening|notification|cancellation)/.test(this.#moment);
    const acting = act();
    // It can fail, because the process that answers is killed.
    const acted = acting.catch(() => undefined);
    let victim: AnyProcess | undefined;
    try {
      const isWaiting = async () => {
        const names = (await lock.waiters()).flatMap((each) => (query.test(each.query) ? [each.name] : []));
        const candidates: AnyProcess[] = isGateway ? this.#environment.gateways : this.#environment.workers;
        victim = candidates.find(({ program }) => names.includes(program.name));
        return victim !== undefined;
      };
      await until(`a process to wait (${this.#moment})`, isWaiting, { everyMs: 5 });
      await victim?.program.kill();
    } finally {
      await lock.release();
    }
    if (victim !== undefined) await this.#kill(victim);
    return (await acted) as T;
  }

  /** Cuts processes off from Redis, and kills them as soon as one has committed the status. */
  async #killCommitted(
    processes: readonly AnyProcess[],
    act: () => Promise<unknown>,
    status: Payment["status"],
  ): Promise<void> {
    for (const { redis } of processes) redis.blackhole();
    const acted = act().catch(() => undefined);
    const isCommitted = async () => (await this.#environment.readPayment(this.#ref)).status === status;
    await until(`the commit (${this.#moment})`, isCommitted, { everyMs: 2 });
    if (this.#shownStatus() !== status) this.#addBetween();
    for (const { program } of processes) program.signal("SIGKILL");
    const [first, ...others] = processes;
    if (first !== undefined) await this.#kill(first);
    for (const other of others) await this.#environment.kill(other);
    await acted;
  }

  /** Kills the worker of the next turn when it starts. */
  async #killNextTurn({ id }: Payment): Promise<void> {
    const hasStarted = () => this.#follower.running?.message?.resumes === id;
    await until("the next turn", hasStarted, { everyMs: 1 });
    await this.#killOwner();
  }

  /** Kills the worker that has the turn. */
  async #killOwner(): Promise<void> {
    const owner = this.#environment.workers.find(({ program }) => program.name === this.#follower.owner);
    if (owner !== undefined) await this.#kill(owner);
  }

  async #kill(victim: AnyProcess): Promise<void> {
    await this.#environment.kill(victim);
    this.#figures.add(`kills at ${this.#moment}`);
  }

  /** Only another process than the killed one can write the committed state to the log. */
  #addBetween(): void {
    this.#figures.add("kills between a commit and the log, or between the log and a commit");
  }

  #shownStatus(): Payment["status"] | null {
    const blocks = this.#follower.state.turns.toArray().flatMap((turn) => listBlocks(turn));
    return blocks.flatMap((block) => (block.kind === "payment" ? [block.status] : []))[0] ?? null;
  }

  async #untilDelivered(): Promise<void> {
    const { databaseUrl } = this.#environment.turns.backend;
    const open = `select 1 from outbox where session_id = '${this.#ref.session}' and delivered_at is null`;
    await until("everything to be in the log", async () => (await runSql(databaseUrl, open)).length === 0);
  }
}

function chooseEnding(moment: Moment, random: () => number): Ending {
  if (moment.startsWith("expiry")) return "expired";
  if (moment.startsWith("cancellation")) return "cancelled";
  const isOpen = !/^(opening|notification|answer)/.test(moment);
  const endings: Ending[] = [
    "succeeded",
    "succeeded",
    "failed",
    ...(isOpen ? (["cancelled", "expired"] as const) : []),
  ];
  return endings[Math.floor(random() * endings.length)] ?? "succeeded";
}
