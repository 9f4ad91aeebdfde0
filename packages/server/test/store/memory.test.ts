/** Runs the contract suites of the chapters that the memory store has. */
import { agentsContract } from "./agents.contract.ts";
import { aliasingContract } from "./aliasing.contract.ts";
import { archiveContract } from "./archive.contract.ts";
import { memoryHarness } from "./harness.ts";
import { filesContract } from "./files.contract.ts";
import { storedFilesContract } from "./stored-files.contract.ts";
import { forkContract } from "./fork.contract.ts";
import { gatewayContract } from "./access.contract.ts";
import { journalContract } from "./journal.contract.ts";
import { outboxContract } from "./outbox.contract.ts";
import { runningContract } from "./running.contract.ts";
import { turnQueueContract } from "./turn-queue.contract.ts";
import { sessionPartsContract } from "./session-parts.contract.ts";
import { sessionsContract } from "./sessions.contract.ts";
import { transactionsContract } from "./transactions.contract.ts";

const suites = [
  sessionsContract,
  archiveContract,
  outboxContract,
  sessionPartsContract,
  forkContract,
  transactionsContract,
  aliasingContract,
  runningContract,
  turnQueueContract,
  journalContract,
  agentsContract,
  filesContract,
  storedFilesContract,
  gatewayContract,
];
for (const suite of suites) suite("memory", memoryHarness);
