/** `connectProvider` returns the model of a provider that processes/tls-provider.ts runs, through the real AI SDK. */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createAnthropic } from "@ai-sdk/anthropic";
import type { ProviderAddress } from "./processes/tls-provider.ts";

export function connectProvider({ baseURL, certificate }: ProviderAddress) {
  setDefaultCACertificates([...getCACertificates("default"), certificate]);
  return createAnthropic({ baseURL, apiKey: "key of the bench" })("claude-bench");
}
