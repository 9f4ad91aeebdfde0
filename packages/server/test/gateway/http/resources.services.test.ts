/** Runs the contracts of resources and webhooks over HTTP on PostgreSQL and Redis. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { resourcesContract } from "./resources.contract.ts";
import { webhookRoutesContract } from "./webhooks.contract.ts";

resourcesContract("real servers", openRealBackend);
webhookRoutesContract("real servers", openRealBackend);
