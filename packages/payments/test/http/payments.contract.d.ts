import type { HarnessBackend } from "../../../server/test/runtime/turn-harness.ts";
import { type TransportName } from "../../../server/test/gateway/transports.ts";
export declare function paymentsContract(
  name: string,
  transport: TransportName,
  makeParts: () => Promise<HarnessBackend>,
): void;
