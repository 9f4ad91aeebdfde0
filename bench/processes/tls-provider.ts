/**
 * This program is a model provider over TLS with Anthropic's wire format. Every answer has the same number of deltas at
 * the same rate. It runs in its own process, so that its CPU time does not count for the reader.
 */
import { startAnthropicServer } from "@turnstream/testkit/model-servers/anthropic-server.ts";
import { createTlsIdentity } from "@turnstream/testkit/network/tls-identity.ts";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";

export interface ProviderSettings {
  readonly deltas: number;
  readonly paceMs: number;
}

export interface ProviderAddress {
  readonly baseURL: string;
  /** The certificate that a client must trust, as PEM. */
  readonly certificate: string;
}

export type ProviderMessage = { readonly address: ProviderAddress };

/** The length of one delta, about that of a token. */
const CHUNK = 5;

const { deltas, paceMs } = readSettings() as ProviderSettings;
const parent = connectParent<object, ProviderMessage>();
const tls = await createTlsIdentity();
const reply = { parts: [{ type: "text" as const, text: "abcd ".repeat(deltas) }], chunk: CHUNK, paceMs };
const server = await startAnthropicServer(() => reply, tls);
parent.send({ address: { baseURL: server.baseUrl, certificate: tls.cert } });
