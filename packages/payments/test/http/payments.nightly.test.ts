/** Runs the contract of payments over HTTP on PostgreSQL and Redis, in servers of other kinds. */
import { openRealBackend } from "../../../server/test/engine/real-backend.ts";
import { paymentsContract } from "./payments.contract.ts";

paymentsContract("real servers", "node", openRealBackend);
paymentsContract("real servers", "fetch", openRealBackend);
