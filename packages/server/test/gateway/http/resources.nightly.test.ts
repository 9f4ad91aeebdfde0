/** Runs the contracts of history, shares and payments in other servers over HTTP on PostgreSQL and Redis. */
import { openRealBackend } from "../../runtime/real-backend.ts";
import { historyContract } from "./history.contract.ts";
import { paymentsContract } from "./payments.contract.ts";
import { sharesContract } from "./shares.contract.ts";

historyContract("real servers", openRealBackend);
sharesContract("real servers", openRealBackend);
paymentsContract("real servers", "node", openRealBackend);
paymentsContract("real servers", "fetch", openRealBackend);
