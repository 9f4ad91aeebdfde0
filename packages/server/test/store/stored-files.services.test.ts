/** Runs the contract of stored files, and the contracts of blobs and forks, on PostgreSQL and on S3. */
import { forkContract } from "./fork.contract.ts";
import { timedHarness } from "./postgres-harness.ts";
import { s3Harness } from "./s3-harness.ts";
import { sessionPartsContract } from "./session-parts.contract.ts";
import { storedFilesContract } from "./stored-files.contract.ts";

storedFilesContract("postgres", timedHarness);
for (const suite of [storedFilesContract, sessionPartsContract, forkContract]) suite("s3", s3Harness);
