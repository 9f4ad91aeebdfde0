/** Runs the contract of sending webhooks on PostgreSQL. */
import { timedHarness } from "../../store/postgres-harness.ts";
import { webhookSenderContract } from "./webhook-sender.contract.ts";

webhookSenderContract("postgres", timedHarness);
