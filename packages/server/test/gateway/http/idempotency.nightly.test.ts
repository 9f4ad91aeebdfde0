/** Runs the contract of idempotency keys on PostgreSQL and Redis. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { idempotencyContract } from "./idempotency.contract.ts";

idempotencyContract(openRealBackend);
