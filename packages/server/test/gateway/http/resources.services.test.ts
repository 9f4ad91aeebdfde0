/** Runs the contracts of payments, resources and webhooks over HTTP on PostgreSQL and Redis. */
import { openRealBackend } from "../../runtime/real-backend.ts";
import { paymentsContract } from "./payments.contract.ts";
import { resourcesContract } from "./resources.contract.ts";
import { webhookRoutesContract } from "./webhooks.contract.ts";

paymentsContract("real servers", "server", openRealBackend);
resourcesContract("real servers", openRealBackend);
webhookRoutesContract("real servers", openRealBackend);
