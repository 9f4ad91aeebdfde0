/** Runs the contract of payments in turns on PostgreSQL and Redis. */
import { openRealBackend } from "../../../server/test/engine/real-backend.ts";
import { paymentContract } from "./payments.contract.ts";

paymentContract(openRealBackend);
