/** Runs the contract of the gateway's audit in memory. */
import { gatewayAuditContract } from "./gateway-audit.contract.ts";
import { createMemoryBackend } from "./test-server.ts";

gatewayAuditContract("memory", async () => createMemoryBackend());
