/** Runs the contract of tenant isolation on PostgreSQL and Redis. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { tenantsContract } from "./tenants.contract.ts";

tenantsContract("real", openRealBackend);
