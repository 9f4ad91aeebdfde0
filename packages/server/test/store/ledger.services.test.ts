/** The ledger's contracts on a real PostgreSQL server. */
import { ledgerContracts } from "./ledger-contracts.ts";
import { postgresHarness } from "./postgres-harness.ts";

ledgerContracts("postgres", () => postgresHarness(), 50);
