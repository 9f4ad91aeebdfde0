/**
 * This program is the bare loop beside a worker: it reads answers of the provider through the same SDK and does nothing
 * with them. Its CPU time is the cost of TLS, HTTP and the SDK.
 */
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { connectProvider } from "../provider-model.ts";
import type { ProviderAddress } from "./tls-provider.ts";

export type ReaderRequest = { readonly read: number; readonly overMs: number };
export type ReaderMessage = { readonly ready: true } | { readonly cpuMs: number };

const model = connectProvider(readSettings() as ProviderAddress);
const parent = connectParent<ReaderRequest, ReaderMessage>();

async function readAnswer(): Promise<void> {
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Continue." }] }];
  const { stream } = await model.doStream({ prompt });
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}

async function readAnswers(count: number, overMs: number): Promise<void> {
  const before = process.cpuUsage();
  const answers = Array.from({ length: count }, async (_, n) => {
    await new Promise((resolve) => setTimeout(resolve, (n * overMs) / count));
    await readAnswer();
  });
  await Promise.all(answers);
  const { user, system } = process.cpuUsage(before);
  parent.send({ cpuMs: (user + system) / 1000 });
}

parent.onMessage(({ read, overMs }) => void readAnswers(read, overMs));
parent.send({ ready: true });
