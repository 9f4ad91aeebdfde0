/** Both doors, in memory. */
import { doorsContract } from "./doors.contract.ts";

doorsContract("fastify");
doorsContract("fetch");
