/** Runs the contract of the entrances on PostgreSQL and Redis. */
import { openRealBackend } from "../engine/real-backend.ts";
import { entrancesContract } from "./entrances.contract.ts";

entrancesContract("PostgreSQL and Redis", openRealBackend);
