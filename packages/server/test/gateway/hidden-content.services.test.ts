/** Runs the contract of hidden content on PostgreSQL and Redis. */
import { openRealBackend } from "../engine/real-backend.ts";
import { hiddenContentContract } from "./hidden-content.contract.ts";

hiddenContentContract("real servers", openRealBackend, 4);
