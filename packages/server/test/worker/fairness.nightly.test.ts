/** Runs the contract of fairness on PostgreSQL and Redis. */
import { openRealBackend } from "../engine/real-backend.ts";
import { fairnessContract } from "./fairness.contract.ts";

fairnessContract(openRealBackend);
