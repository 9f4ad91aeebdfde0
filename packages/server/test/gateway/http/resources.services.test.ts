/** Runs the contracts of history and resources over HTTP on PostgreSQL and Redis. */
import { openRealBackend } from "../../runtime/real-backend.ts";
import { historyContract } from "./history.contract.ts";
import { resourcesContract } from "./resources.contract.ts";

historyContract("real servers", openRealBackend);
resourcesContract("real servers", openRealBackend);
