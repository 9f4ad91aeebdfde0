/** Runs the contract of blobs of tool results on real servers. */
import { openRealBackend } from "../real-backend.ts";
import { picturesContract } from "./images.contract.ts";

picturesContract("real", openRealBackend);
