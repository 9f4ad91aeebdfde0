/**
 * Runs the contract of hostile requests on PostgreSQL and Redis, because a database can refuse values that memory
 * accepts.
 */
import { runOneOf } from "@turnstream/conformance/support/run-one-of.ts";
import { openRealBackend } from "../../runtime/real-backend.ts";
import { hostileContract } from "./hostile.contract.ts";

runOneOf(12);

hostileContract("real servers", openRealBackend, 10);
