/** Runs the contract of payments in turns on PostgreSQL and Redis. */
import { openRealBackend } from "../../../server/test/runtime/real-backend.ts";
import { paymentContract } from "./payments.contract.ts";

paymentContract(openRealBackend);
