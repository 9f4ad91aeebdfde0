/** Runs the contract of fairness on PostgreSQL, Redis and DBOS. */
import { openRealBackend } from "../real-backend.ts";
import { fairnessContract } from "./fairness.contract.ts";

fairnessContract(openRealBackend);
