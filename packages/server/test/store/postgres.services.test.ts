/** Every contract suite, on a real PostgreSQL; a database of its own for each. */
import { archiveContract } from "./archive.contract.ts";
import { forkContract } from "./fork.contract.ts";
import { outboxContract } from "./outbox.contract.ts";
import { postgresHarness } from "./postgres-harness.ts";
import { sessionPartsContract } from "./session-parts.contract.ts";
import { sessionsContract } from "./sessions.contract.ts";

const suites = [sessionsContract, archiveContract, outboxContract, sessionPartsContract, forkContract];
for (const suite of suites) suite("postgres", postgresHarness);
