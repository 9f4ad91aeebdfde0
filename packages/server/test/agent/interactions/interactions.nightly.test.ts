/** Runs the contracts of interactions on PostgreSQL and Redis. */
import { approvalContract } from "./approvals.contract.ts";
import { atOnceContract } from "../tool-calls/parallel-calls.contract.ts";
import { deadlineContract } from "./deadlines.contract.ts";
import { formContract } from "./forms.contract.ts";
import { formInsideContract } from "./forms-in-tools.contract.ts";
import { questionContract } from "./questions.contract.ts";
import { openRealBackend } from "../../engine/real-backend.ts";

approvalContract(openRealBackend);
questionContract(openRealBackend);
formContract(openRealBackend);
formInsideContract(openRealBackend);
atOnceContract(openRealBackend);
deadlineContract(openRealBackend);
