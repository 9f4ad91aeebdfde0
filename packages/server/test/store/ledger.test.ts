/** Runs the ledger's contracts on the memory store. */
import { memoryHarness } from "./harness.ts";
import { ledgerContracts } from "./ledger-contracts.ts";

ledgerContracts("memory", memoryHarness);
