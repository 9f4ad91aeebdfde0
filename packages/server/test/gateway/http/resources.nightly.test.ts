/** Runs the contracts of history, payments, resources, shares and webhooks over HTTP on PostgreSQL and Redis. */
import { openRealBackend } from "../../runtime/real-backend.ts";
import { historyContract } from "./history.contract.ts";
import { paymentsContract } from "./payments.contract.ts";
import { resourcesContract } from "./resources.contract.ts";
import { sharesContract } from "./shares.contract.ts";
import { webhookRoutesContract } from "./webhooks.contract.ts";

historyContract("real servers", openRealBackend);
paymentsContract("real servers", "fastify", openRealBackend);
resourcesContract("real servers", openRealBackend);
sharesContract("real servers", openRealBackend);
webhookRoutesContract("real servers", openRealBackend);
