/** Runs the contract of files in a message on PostgreSQL, Redis and DBOS. */
import { filesContract } from "./files.contract.ts";
import { openRealBackend } from "../real-backend.ts";

filesContract(openRealBackend);
