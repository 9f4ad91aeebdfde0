/** Runs the contract of sending webhooks on the memory store. */
import { memoryHarness } from "../../store/harness.ts";
import { webhookSenderContract } from "./webhook-sender.contract.ts";

webhookSenderContract("memory", memoryHarness);
