/** Who gets at what, in memory. */
import { tenantsContract } from "./tenants.contract.ts";

tenantsContract("memory");
