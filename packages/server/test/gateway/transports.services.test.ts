/** Both doors, on PostgreSQL and Redis. */
import { realParts } from "../runtime/real-backend.ts";
import { doorsContract } from "./transports.contract.ts";

doorsContract("fastify", realParts);
doorsContract("fetch", realParts);
