/** The contract suites of the ledger that every store passes. */
import { allowancesContract } from "./allowances.contract.ts";
import { auditContract } from "./audit.contract.ts";
import { formDraftsContract } from "./form-drafts.contract.ts";
import type { MakeStore } from "./harness.ts";
import { interactionsContract } from "./interactions.contract.ts";
import { keysContract } from "./keys.contract.ts";
import { limitsContract } from "./limits.contract.ts";
import { userNumbersContract } from "./user-numbers.contract.ts";
import { usageContract } from "./usage.contract.ts";

export function ledgerContracts(name: string, makeStore: MakeStore): void {
  keysContract(name, makeStore);
  interactionsContract(name, makeStore);
  allowancesContract(name, makeStore);
  formDraftsContract(name, makeStore);
  usageContract(name, makeStore);
  limitsContract(name, makeStore);
  userNumbersContract(name, makeStore);
  auditContract(name, makeStore);
}
