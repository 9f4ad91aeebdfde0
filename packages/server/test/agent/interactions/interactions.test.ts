/** Runs the contracts of interactions in one process. */
import { createMemoryLog } from "../../../src/log/memory.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { approvalContract } from "./approvals.contract.ts";
import { atOnceContract } from "../tool-calls/parallel-calls.contract.ts";
import { deadlineContract } from "./deadlines.contract.ts";
import { formContract } from "./forms.contract.ts";
import { formInsideContract } from "./forms-in-tools.contract.ts";
import { questionContract } from "./questions.contract.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";

const parts = async (): Promise<HarnessBackend> => ({
  log: createMemoryLog(),
  store: createMemoryStore(),
  signals: createMemorySignals(),
});

approvalContract(parts);
questionContract(parts);
formContract(parts);
formInsideContract(parts);
atOnceContract(parts);
deadlineContract(parts);
