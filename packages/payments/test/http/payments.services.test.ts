/** Runs the contract of payments over HTTP on PostgreSQL and Redis. */
import { openRealBackend } from "../../../server/test/engine/real-backend.ts";
import { paymentsContract } from "./payments.contract.ts";

paymentsContract("real servers", "server", openRealBackend);
