/** Runs the ledger's contracts on a real PostgreSQL server. */
import { ledgerContracts } from "./ledger-contracts.ts";
import { paymentsContract } from "./payments.contract.ts";
import { timedHarness } from "./postgres-harness.ts";

ledgerContracts("postgres", () => timedHarness());
// The number of random orders of payment notices.
paymentsContract("postgres", () => timedHarness(), 50);
