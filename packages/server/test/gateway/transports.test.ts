/** Both doors, in memory. */
import { doorsContract } from "./transports.contract.ts";

doorsContract("fastify");
doorsContract("fetch");
