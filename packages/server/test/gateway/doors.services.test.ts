/** Both doors, on PostgreSQL and Redis. */
import { realParts } from "../runtime/real-parts.ts";
import { doorsContract } from "./doors.contract.ts";

doorsContract("fastify", realParts);
doorsContract("fetch", realParts);
