/** Every contract suite, on the store in memory. */
import { archiveContract } from "./archive.contract.ts";
import { memoryHarness } from "./harness.ts";
import { forkContract } from "./fork.contract.ts";
import { outboxContract } from "./outbox.contract.ts";
import { sessionPartsContract } from "./session-parts.contract.ts";
import { sessionsContract } from "./sessions.contract.ts";

const suites = [sessionsContract, archiveContract, outboxContract, sessionPartsContract, forkContract];
for (const suite of suites) suite("memory", memoryHarness);
