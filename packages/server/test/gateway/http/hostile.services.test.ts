/** Hostile requests to every route, on PostgreSQL and Redis: what memory takes, a database may not. */
import { openRealBackend } from "../../runtime/real-backend.ts";
import { hostileContract } from "./hostile.contract.ts";

hostileContract("real servers", openRealBackend, 10);
