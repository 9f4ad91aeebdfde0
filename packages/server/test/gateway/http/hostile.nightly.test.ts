/**
 * Runs the contract of hostile requests on PostgreSQL and Redis, because a database can refuse values that memory
 * accepts.
 */
import { openRealBackend } from "../../engine/real-backend.ts";
import { isFull } from "@turnstream/conformance/support/cases.ts";
import { hostileContract } from "./hostile.contract.ts";

hostileContract("real servers", openRealBackend, isFull ? 60 : 10);
