/** Runs the contract of two tenants with equal ids on PostgreSQL and Redis. */
import { openRealBackend } from "../engine/real-backend.ts";
import { equalIdsContract } from "./equal-ids.contract.ts";

equalIdsContract("real", openRealBackend);
