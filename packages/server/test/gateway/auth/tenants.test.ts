/** Runs the contract of tenant isolation in memory. */
import { tenantsContract } from "./tenants.contract.ts";

tenantsContract("memory");
