/** Runs the contract of both transports on PostgreSQL and Redis. */
import { openRealBackend } from "../engine/real-backend.ts";
import { transportsContract } from "./transports.contract.ts";

transportsContract("server", openRealBackend);
transportsContract("fetch", openRealBackend);
