/** Runs the contract of a turn on real Redis and PostgreSQL. */
import { openRealBackend } from "../real-backend.ts";
import { turnContract } from "./turns.contract.ts";
import { usageLimitsContract } from "./usage-limits.contract.ts";

turnContract(openRealBackend);
usageLimitsContract(openRealBackend);
