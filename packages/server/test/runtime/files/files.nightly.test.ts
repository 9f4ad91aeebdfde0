/** Runs the contract of files in a message on PostgreSQL and Redis. */
import { runOneOf } from "@turnstream/conformance/support/run-one-of.ts";
import { filesContract } from "./files.contract.ts";
import { openRealBackend } from "../real-backend.ts";

runOneOf(6);

filesContract(openRealBackend);
