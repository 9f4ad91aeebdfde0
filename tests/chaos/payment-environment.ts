/**
 * `PaymentEnvironment` runs gateways, workers and the payment sandbox as processes on the servers of a
 * `TurnEnvironment`. The sandbox reaches the gateways through a proxy, as through a load balancer.
 *
 * Invariant: each gateway and worker has its own connection to Redis, through a proxy that the test can cut. A process
 * that is killed while its proxy is cut has not written to the log what it committed meanwhile.
 */
import { type Payment, paymentsOf } from "@turnstream/payments";
import type { SessionRef } from "@turnstream/server";
import type { SandboxOrder } from "@turnstream/payments/sandbox";
import { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { HIGH_LIMITS } from "@turnstream/testkit/gateway/high-limits.ts";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { PaymentSandboxProgram } from "@turnstream/testkit/payments/payment-sandbox-program.ts";
import type { PaymentSettings } from "@turnstream/testkit/payments/payment-settings.ts";
import { postCheckoutForm } from "@turnstream/testkit/payments/post-checkout-form.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import { ACTOR, TurnEnvironment } from "./turn-environment.ts";
import type { Plan } from "./turn-plan.ts";
import type { WorkerProcess } from "./worker-process.ts";

const GATEWAYS = 2;
const WORKERS = 2;
/** Longer than any machine needs to notice that a process waits for a lock, and to kill it. */
const LOCK_MS = 60_000;

/** A process that tests kill, and the proxy in front of Redis that only this process uses. */
export interface PaymentProcess<Program extends GatewayProgram | WorkerProcess> {
  readonly program: Program;
  readonly redis: TcpProxy;
}

export class PaymentEnvironment {
  readonly turns: TurnEnvironment;
  readonly sandbox: PaymentSandboxProgram;
  gateways: PaymentProcess<GatewayProgram>[] = [];
  workers: PaymentProcess<WorkerProcess>[] = [];
  readonly #balancer: TcpProxy;
  readonly #settings: PaymentSettings;
  readonly #headers: Readonly<Record<string, string>>;
  #count = 0;

  private constructor(
    turns: TurnEnvironment,
    sandbox: PaymentSandboxProgram,
    balancer: TcpProxy,
    key: string,
    queryAfterMs: number,
  ) {
    this.turns = turns;
    this.sandbox = sandbox;
    this.#balancer = balancer;
    this.#headers = { "x-api-key": key, "x-user-id": ACTOR.user, "content-type": "application/json" };
    const publicUrl = `http://127.0.0.1:${balancer.port}`;
    this.#settings = { provider: sandbox.providerOptions, publicUrl, queryAfterMs };
  }

  /**
   * Runs `use`, then stops every process and server, also after an error.
   * @param queryAfterMs when workers first ask the provider about a payment
   */
  static async use<T>(
    { queryAfterMs }: { readonly queryAfterMs: number },
    use: (environment: PaymentEnvironment) => Promise<T>,
  ): Promise<T> {
    return TurnEnvironment.use(async (turns) => {
      const { secret } = await turns.backend.store.keys.create(ACTOR.tenant, { name: "chaos", scopes: [] });
      const sandbox = turns.own(await PaymentSandboxProgram.launch());
      // Directed to a gateway by `routeTo`.
      const balancer = await startProxy({ to: { host: "127.0.0.1", port: 9 } });
      const environment = new PaymentEnvironment(turns, sandbox, balancer, secret, queryAfterMs);
      try {
        await environment.keepProcesses();
        return await use(environment);
      } finally {
        await balancer.close();
      }
    });
  }

  /** Starts the missing processes, and waits until all are ready. */
  async keepProcesses(): Promise<void> {
    this.gateways = this.gateways.filter(({ program }) => !program.hasExited);
    this.workers = this.workers.filter(({ program }) => !program.isDown);
    const launching: Promise<unknown>[] = [];
    for (let n = this.workers.length; n < WORKERS; n++) launching.push(this.#launchWorker());
    for (let n = this.gateways.length; n < GATEWAYS; n++) launching.push(this.#launchGateway());
    await Promise.all(launching);
    await Promise.all(this.workers.map(({ program }) => program.ready()));
    this.routeTo(this.gateway);
  }

  /** Any gateway that runs. */
  get gateway(): PaymentProcess<GatewayProgram> {
    const found = this.gateways.find(({ program }) => !program.hasExited);
    if (found === undefined) throw new Error("no gateway runs");
    return found;
  }

  /** Sends the requests of the provider to this gateway. */
  routeTo({ program }: PaymentProcess<GatewayProgram>): void {
    this.#balancer.retarget({ host: "127.0.0.1", port: Number(new URL(program.url).port) });
    this.#balancer.cutConnections();
  }

  /** Kills the process, waits until the database has ended its transactions, and routes around it. */
  async kill({ program, redis }: PaymentProcess<GatewayProgram | WorkerProcess>): Promise<void> {
    await program.kill();
    await redis.close();
    const open = `select 1 from pg_stat_activity where application_name = '${program.name}'`;
    const { databaseUrl } = this.turns.backend;
    await until(
      `the connections of ${program.name} to end`,
      async () => (await runSql(databaseUrl, open)).length === 0,
    );
    if (program instanceof GatewayProgram) this.routeTo(this.gateway);
  }

  /** Opens the checkout through a gateway and continues at the provider, as a browser does. */
  async openCheckout({ program: { url } }: PaymentProcess<GatewayProgram>, token: string): Promise<void> {
    const response = await fetch(`${url}/api/v1/payments/checkout/${token}`, { method: "POST" });
    const page = await response.text();
    const posted = await postCheckoutForm(page);
    if (response.status !== 200 || posted !== 200)
      throw new Error(`the checkout was answered with ${response.status} and ${posted}`);
  }

  /** Cancels the payment through a gateway. @returns the HTTP status */
  async cancel(
    { program: { url } }: PaymentProcess<GatewayProgram>,
    { session, id }: Payment,
  ): Promise<number> {
    const path = `${url}/api/v1/sessions/${session}/payments/${id}/cancel`;
    const response = await fetch(path, { method: "POST", headers: this.#headers, body: "{}" });
    await response.body?.cancel();
    return response.status;
  }

  /** Makes the payment due for a question to the provider, as if the time had passed. */
  async makeDue({ orderNo }: Payment): Promise<void> {
    await this.#update(`next_check_at = clock_timestamp()`, orderNo);
  }

  /** Lets the time of the payment expire now. */
  async makeOverdue({ orderNo }: Payment): Promise<void> {
    await this.#update(`expires_at = clock_timestamp(), next_check_at = clock_timestamp()`, orderNo);
  }

  /** Reads the only payment of the session. */
  async readPayment(ref: SessionRef): Promise<Payment> {
    const [payment] = await paymentsOf(this.turns.backend.store).list(ref);
    if (payment === undefined) throw new Error(`${ref.session} has no payment`);
    return payment;
  }

  /** @returns the order at the provider, or undefined if the checkout was never opened */
  async findOrder(orderNo: string): Promise<SandboxOrder | undefined> {
    return (await this.sandbox.orders()).find((order) => order.orderNo === orderNo);
  }

  /** Reads the checkout token from the request that the user sees. */
  async readToken(ref: SessionRef, id: string): Promise<string> {
    const interaction = await this.turns.backend.store.interactions.get(ref, id);
    const { checkout_url: url = "" } = (interaction?.request ?? {}) as { readonly checkout_url?: string };
    return url.slice(url.lastIndexOf("/") + 1);
  }

  async #update(columns: string, orderNo: string): Promise<void> {
    await runSql(
      this.turns.backend.databaseUrl,
      `update payments set ${columns} where order_no = '${orderNo}' and status in ('pending', 'processing')`,
    );
  }

  async #launchGateway(): Promise<void> {
    const { proxy, redisUrl } = await this.turns.startRedisProxy(0);
    const database = { max: 10, timeouts: { lockMs: LOCK_MS, statementMs: LOCK_MS } };
    const program = await GatewayProgram.launch({
      backend: { ...this.turns.settings(`payment-gateway-${++this.#count}`), redisUrl, database },
      secrets: ["a secret that only this scenario knows, for all of its gateways"],
      callerLimits: HIGH_LIMITS,
      payments: this.#settings,
    });
    this.gateways.push({ program: this.turns.own(program), redis: proxy });
  }

  async #launchWorker(): Promise<void> {
    const { proxy, redisUrl } = await this.turns.startRedisProxy(0);
    const program = this.turns.launchWorker({ redisUrl, payments: this.#settings });
    this.workers.push({ program, redis: proxy });
  }
}

/** The plan of a turn that requests a payment. The next turn writes the final text, followed by the status. */
export function createPaymentPlan(name: string, amount: number): Plan {
  const calls = [{ tool: "request_payment", amount }] as const;
  return { name, steps: [{ think: "", text: "", calls }], final: `Done with ${name}`, paceMs: 1 };
}
