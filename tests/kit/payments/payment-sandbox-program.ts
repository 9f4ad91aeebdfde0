/** `PaymentSandboxProgram` starts the program run-payment-sandbox.ts: a payment sandbox in its own process. */
import { join } from "node:path";
import type { NewebPayOptions } from "@turnstream/payments/newebpay";
import type {
  NotificationOverrides,
  PaymentSandboxOptions,
  SandboxBehavior,
  SandboxOrder,
} from "@turnstream/payments/sandbox";
import { freePort } from "../network/free-port.ts";
import { ChildProgram } from "../processes/child-program.ts";

export type PaymentSandboxCommand =
  | { readonly pay: string }
  | { readonly fail: string }
  | { readonly refund: string; readonly amount?: number }
  | { readonly behavior: SandboxBehavior }
  | { readonly sendNotification: string; readonly overrides: NotificationOverrides }
  | { readonly orders: true };

/** The program answers each request with its number. */
export type PaymentSandboxRequest = { readonly n: number; readonly command: PaymentSandboxCommand };

export type PaymentSandboxMessage =
  | { readonly url: string; readonly providerOptions: NewebPayOptions }
  | { readonly reply: number; readonly value: unknown; readonly error: string | null };

export class PaymentSandboxProgram extends ChildProgram<PaymentSandboxMessage, PaymentSandboxRequest> {
  readonly settings: PaymentSandboxOptions;
  #ready: Extract<PaymentSandboxMessage, { url: string }> | null = null;
  #requests = 0;

  private constructor(settings: PaymentSandboxOptions) {
    super({ file: join(import.meta.dirname, "run-payment-sandbox.ts"), settings, name: "payment sandbox" });
    this.settings = settings;
  }

  /** @returns the sandbox once it listens */
  static async launch(settings: PaymentSandboxOptions = {}): Promise<PaymentSandboxProgram> {
    const sandbox = new PaymentSandboxProgram({ port: await freePort(), ...settings });
    sandbox.#ready = await sandbox.waitFor("url");
    return sandbox;
  }

  get url(): string {
    return this.#started.url;
  }

  /** Options of `newebPay` for this sandbox. */
  get providerOptions(): NewebPayOptions {
    return this.#started.providerOptions;
  }

  async pay(orderNo: string): Promise<void> {
    await this.#run({ pay: orderNo });
  }

  async fail(orderNo: string): Promise<void> {
    await this.#run({ fail: orderNo });
  }

  async refund(orderNo: string, amount?: number): Promise<void> {
    await this.#run({ refund: orderNo, ...(amount !== undefined && { amount }) });
  }

  async setBehavior(behavior: SandboxBehavior): Promise<void> {
    await this.#run({ behavior });
  }

  async sendNotification(orderNo: string, overrides: NotificationOverrides = {}): Promise<number | null> {
    return (await this.#run({ sendNotification: orderNo, overrides })) as number | null;
  }

  async orders(): Promise<SandboxOrder[]> {
    return (await this.#run({ orders: true })) as SandboxOrder[];
  }

  get #started(): Extract<PaymentSandboxMessage, { url: string }> {
    if (this.#ready === null) throw new Error("The payment sandbox has not started yet.");
    return this.#ready;
  }

  async #run(command: PaymentSandboxCommand): Promise<unknown> {
    this.#requests += 1;
    const n = this.#requests;
    const { value, error } = await this.request({ n, command }, "reply", ({ reply }) => reply === n);
    if (error !== null) throw new Error(error);
    return value;
  }
}
