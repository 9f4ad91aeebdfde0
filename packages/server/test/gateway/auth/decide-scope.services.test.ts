/** Runs the contract of the scope `decide` on PostgreSQL and Redis. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { decideScopeContract } from "./decide-scope.contract.ts";

decideScopeContract("real servers", openRealBackend);
