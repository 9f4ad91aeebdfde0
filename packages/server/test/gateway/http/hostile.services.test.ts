/** Hostile requests to every route, on PostgreSQL and Redis: what memory takes, a database may not. */
import { realParts } from "../../runtime/real-backend.ts";
import { hostileContract } from "./hostile.contract.ts";

hostileContract("real servers", realParts, 10);
