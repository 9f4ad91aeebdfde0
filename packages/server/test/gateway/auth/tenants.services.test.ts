/** Runs the contract of tenant isolation on PostgreSQL and Redis. */
import { runOneOf } from "@turnstream/conformance/support/run-one-of.ts";
import { openRealBackend } from "../../runtime/real-backend.ts";
import { tenantsContract } from "./tenants.contract.ts";

runOneOf(6);
tenantsContract("real", openRealBackend);
