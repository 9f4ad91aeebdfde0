/** Runs the contract of the built-in tools that use the store on real servers. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { storageContract } from "./storage.contract.ts";

storageContract(openRealBackend);
