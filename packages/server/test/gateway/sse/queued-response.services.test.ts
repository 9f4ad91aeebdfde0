/** Runs the contract of responses to queued messages on PostgreSQL and Redis. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { queuedResponseContract } from "./queued-response.contract.ts";

queuedResponseContract("real servers", openRealBackend);
