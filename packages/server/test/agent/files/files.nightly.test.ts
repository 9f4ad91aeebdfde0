/** Runs the contract of files in a message on PostgreSQL and Redis. */
import { filesContract } from "./files.contract.ts";
import { openRealBackend } from "../../engine/real-backend.ts";

filesContract(openRealBackend);
