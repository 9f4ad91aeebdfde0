/** Runs the contract of webhooks of whole turns on PostgreSQL and Redis. */
import { openRealBackend } from "../engine/real-backend.ts";
import { turnWebhooksContract } from "./webhooks.contract.ts";

turnWebhooksContract("real servers", openRealBackend);
