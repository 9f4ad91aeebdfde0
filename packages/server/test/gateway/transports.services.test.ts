/** Both doors, on PostgreSQL and Redis. */
import { realParts } from "../runtime/real-backend.ts";
import { transportsContract } from "./transports.contract.ts";

transportsContract("fastify", realParts);
transportsContract("fetch", realParts);
