/** Runs the ledger's contracts on a real PostgreSQL server. */
import { ledgerContracts } from "./ledger-contracts.ts";
import { timedHarness } from "./postgres-harness.ts";

ledgerContracts("postgres", () => timedHarness());
