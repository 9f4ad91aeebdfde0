/** Runs the contract of blobs of tool results on real servers. */
import { openRealBackend } from "../../engine/real-backend.ts";
import { picturesContract } from "./images.contract.ts";

picturesContract("real", openRealBackend);
