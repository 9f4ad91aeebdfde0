/** Both doors, in memory. */
import { transportsContract } from "./transports.contract.ts";

transportsContract("fastify");
transportsContract("fetch");
