/**
 * Runs the contracts on the MCP reference server over stdio and Streamable HTTP, with memory backends and real servers.
 */
import { openRealBackend } from "../../server/test/engine/real-backend.ts";
import { elicitationContract } from "./elicitation.contract.ts";
import { everythingContract } from "./everything.contract.ts";
import { inMemory, overHttp, overStdio } from "./connect.ts";

everythingContract("stdio", inMemory, overStdio);
everythingContract("Streamable HTTP", inMemory, overHttp);
everythingContract("Streamable HTTP, on real servers", openRealBackend, overHttp);
elicitationContract("stdio", inMemory, overStdio);
elicitationContract("Streamable HTTP", inMemory, overHttp);
elicitationContract("stdio, on real servers", openRealBackend, overStdio);
