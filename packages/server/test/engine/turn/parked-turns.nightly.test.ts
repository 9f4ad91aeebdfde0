/** Runs the contract of parked turns on PostgreSQL and Redis. */
import { openRealBackend } from "../real-backend.ts";
import { parkedTurnsContract } from "./parked-turns.contract.ts";

parkedTurnsContract("real servers", openRealBackend);
