/** The ledger's contracts on the store in memory. */
import { memoryHarness } from "./harness.ts";
import { ledgerContracts } from "./ledger-contracts.ts";

ledgerContracts("memory", memoryHarness, 500);
