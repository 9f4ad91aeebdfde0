/** Runs the contracts of history and shares over HTTP on PostgreSQL and Redis. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { historyContract } from "./history.contract.ts";
import { sharesContract } from "./shares.contract.ts";

historyContract("real servers", openRealBackend);
sharesContract("real servers", openRealBackend);
