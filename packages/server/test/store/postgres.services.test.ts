/** Runs every contract suite on a real PostgreSQL, each with its own database. */
import { agentsContract } from "./agents.contract.ts";
import { aliasingContract } from "./aliasing.contract.ts";
import { archiveContract } from "./archive.contract.ts";
import { argumentsContract } from "./arguments.contract.ts";
import { filesContract } from "./files.contract.ts";
import { forkContract } from "./fork.contract.ts";
import { gatewayContract } from "./access.contract.ts";
import { journalContract } from "./journal.contract.ts";
import { memoriesContract } from "./memories.contract.ts";
import { outboxContract } from "./outbox.contract.ts";
import { timedHarness } from "./postgres-harness.ts";
import { runningContract } from "./running.contract.ts";
import { turnQueueContract } from "./turn-queue.contract.ts";
import { sessionPartsContract } from "./session-parts.contract.ts";
import { sessionsContract } from "./sessions.contract.ts";
import { transactionsContract } from "./transactions.contract.ts";
import { twoTenantsContract } from "./two-tenants.contract.ts";
import { webhooksContract } from "./webhooks.contract.ts";

const suites = [
  sessionsContract,
  archiveContract,
  outboxContract,
  sessionPartsContract,
  forkContract,
  transactionsContract,
  argumentsContract,
  aliasingContract,
  runningContract,
  turnQueueContract,
  journalContract,
  memoriesContract,
  agentsContract,
  filesContract,
  gatewayContract,
  webhooksContract,
  twoTenantsContract,
];
for (const suite of suites) suite("postgres", timedHarness);
