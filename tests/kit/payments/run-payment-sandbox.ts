/** The program of `PaymentSandboxProgram`: a payment sandbox in its own process. */
import { startPaymentSandbox, type PaymentSandboxOptions } from "@turnstream/payments/sandbox";
import { connectParent, readSettings } from "../processes/parent-process.ts";
import type {
  PaymentSandboxCommand,
  PaymentSandboxMessage,
  PaymentSandboxRequest,
} from "./payment-sandbox-program.ts";

const parent = connectParent<PaymentSandboxRequest, PaymentSandboxMessage>();
const sandbox = await startPaymentSandbox(readSettings() as PaymentSandboxOptions);

async function run(command: PaymentSandboxCommand): Promise<unknown> {
  if ("pay" in command) return sandbox.pay(command.pay);
  if ("fail" in command) return sandbox.fail(command.fail);
  if ("refund" in command) return sandbox.refund(command.refund, command.amount);
  if ("orders" in command) return sandbox.orders();
  if ("sendNotification" in command)
    return sandbox.sendNotification(command.sendNotification, command.overrides);
  sandbox.behavior = command.behavior;
  return null;
}

parent.onMessage(({ n, command }) => {
  run(command).then(
    (value) => parent.send({ reply: n, value: value ?? null, error: null }),
    (error: unknown) => parent.send({ reply: n, value: null, error: String(error) }),
  );
});
const { url, providerOptions } = sandbox;
if (process.connected) parent.send({ url, providerOptions });
else console.log(`The payment sandbox listens on ${url}.`);
